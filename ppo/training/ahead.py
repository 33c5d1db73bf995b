"""Training steps to come are collected in a thread while the learner learns, by the policies of ``--lag`` steps before.

    learner   learn 0 | learn 1 | learn 2 | ..             lag 1: step t is collected by the policy before learn t - 1
    thread    round 1 | round 2 | round 3 | ..

The thread runs one round at a time, in the order in which they are begun, which is a rule: the training steps in turn,
each once the policy that acts in it is there, and a score after the rounds that were begun before it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial

from actors.job import TRAINING, Job, Kind
from actors.pools.base import Pool, StoppedError
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.daemon_threads import DaemonThreads
from ppo.algorithm.learner import Learner
from ppo.data.recorder import Recorder
from ppo.training.rounds import Ran, Rounds, phase_of
from ppo.training.step import WantedRound
from ppo.training.timing import OVERLAPPED, Timing


class Ahead(Rounds):
    """Rounds of a training, of which those of training steps to come are run while the learner learns.

    Where no drivers run the slots there is no thread: nothing could overlap, and what limits the time of a slot works
    in the main thread alone. Every round is then run when it is due. The bits are the same, since slots are.

    Args:
        pool, job, recorder, timing, failed: as ``Rounds`` takes them.
        learner: the state of the training.
        snapshot_of: returns what the drivers need for the training round that comes so many rounds after the next one.
    """

    def __init__(
        self,
        pool: Pool,
        job: Job,
        recorder: Recorder | None,
        timing: Timing,
        failed: int,
        learner: Learner,
        snapshot_of: Callable[[int], Snapshot],
    ):
        super().__init__(pool, job, recorder, timing, failed)
        self._learner, self._snapshot_of = learner, snapshot_of
        self._threads: DaemonThreads | None = None
        self._begun = deque[tuple[int, Future[Ran]]]()  # training steps that were not learned from yet
        self._failed = threading.Event()  # of the rounds that were begun since the last one that failed

    @property
    def _overlaps(self) -> bool:
        return self._learner.config.lag > 0 and self.pool.beside

    def begin(self) -> None:
        """Begins to collect all training steps that can be, where that overlaps with something."""
        config = self._learner.config
        while self._overlaps and len(self._begun) <= config.lag:
            step = self._learner.step + (ahead := len(self._begun))
            if step >= config.training_steps:
                return
            call = partial(self._run_step, self._learner.kind, step, self._snapshot(ahead), self._failed)
            self._begun.append((step, self._submit(call)))

    def wanted(self, wanted: WantedRound) -> Trajectory:
        """Returns the trajectory of a round that is waited for, which may have been begun; raises what ``run`` does."""
        return self.collect() if wanted.kind in TRAINING else super().wanted(wanted)

    def collect(self) -> Trajectory:
        """Returns the trajectory of the training step that the learner is at; raises what ``run`` does."""
        kind, step = self._learner.kind, self._learner.step
        if not self._overlaps:
            return super().run(kind, step, self._snapshot(0))
        if self._begun and self._begun[0][0] != step:  # the one before was not learned from, and comes again
            self._drop()
        self.begin()
        future = self._begun[0][1]
        try:
            trajectory = self._waited(kind, future)
        except BaseException:
            if future.done():  # else Ctrl-C has ended the wait, and the round goes on
                self._drop()
            raise
        self._begun.popleft()
        return trajectory

    def run(self, kind: Kind, step: int, snapshot: Snapshot) -> Trajectory:
        """Runs one round after all that were begun; see ``Rounds``."""
        if not self._overlaps:
            return super().run(kind, step, snapshot)
        return self._waited(kind, self._submit(partial(self._run, kind, step, snapshot)))

    def close(self) -> None:
        """Gives up the rounds that were begun."""
        self._drop()
        if self._threads is not None:
            self.pool.stop()
            self._threads.close()

    def _snapshot(self, ahead: int) -> Snapshot:
        """Returns what the drivers need for a training round; to make it is part of the broadcast."""
        with self._timing.measure("broadcast"):
            return self._snapshot_of(ahead)

    def _submit(self, call: Callable[[], Ran]) -> Future[Ran]:
        if self._threads is None:
            self._threads = DaemonThreads(1, "rounds")
        return self._threads.submit(call)

    def _run_step(self, kind: Kind, step: int, snapshot: Snapshot, failed: threading.Event) -> Ran:
        """Runs the round of a training step, unless one before it has failed: nothing more is paid for then."""
        if failed.is_set():
            raise StoppedError
        try:
            ran = self._run(kind, step, snapshot)
        except BaseException:
            failed.set()
            raise
        merged = ran.trajectory  # which the next round overwrites
        return replace(ran, trajectory=Trajectory.over(self.pool.layout(kind), len(merged), bytearray(merged.buffer)))

    def _waited(self, kind: Kind, future: Future[Ran]) -> Trajectory:
        """Waits for a round, and returns its trajectory; the time goes to what it was waited for."""
        began = time.monotonic()
        wait([future])
        ended = time.monotonic()
        ran = future.result()
        others = min(max(ran.started, began), ended) - began  # rounds that were begun before, which collected
        broadcast = max(0.0, min(ran.started + ran.broadcast, ended) - max(ran.started, began))
        own = ended - began - others - broadcast
        for phase, seconds in (("collect", others), ("broadcast", broadcast), (phase_of(kind), own)):
            self._timing.add(phase, seconds)
        collecting = ran.seconds - broadcast - own if kind in TRAINING else 0.0
        self._timing.add(OVERLAPPED, collecting - others)
        return self.counted(kind, ran.trajectory)

    def _drop(self) -> None:
        """Gives up the training steps that were begun, so that they are begun again if they are asked for."""
        self._failed.set()
        self._failed = threading.Event()
        self._begun.clear()
