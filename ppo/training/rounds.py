"""Rounds of slots on the pool: recorded before anything learns from them, and timed."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from actors.job import SAMPLED, TRAINING, Job, Kind, Task
from actors.pools.base import NotFiniteSlotError, Pool, RoundResult
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from ppo.algorithm.outcomes import check_finite
from ppo.data.recorder import Recorder
from ppo.data.rows import LATE, row_type, rows_of
from ppo.training.step import WantedRound
from ppo.training.timing import Timing

R = TypeVar("R")


def phase_of(kind: Kind) -> str:
    """Returns the phase that the time of a round of this kind goes to."""
    return "collect" if kind in TRAINING else "evaluate"


@dataclass(frozen=True)
class Ran:
    """A round that has been run.

    Attributes:
        trajectory: of all slots, in their order; valid until the next round of the same kind.
        broadcast: seconds until every driver that was given work held the snapshot.
        started, ended: when, by ``time.monotonic``.
    """

    trajectory: Trajectory
    broadcast: float
    started: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.started


class Rounds:
    """Runs rounds one after the other.

    Args:
        pool: who runs them.
        job: the job of the run.
        recorder: keeps what arrives; None where nothing is kept.
        timing: takes the times.
        failed: evaluations that failed and were kept in earlier parts of the run.

    Attributes:
        failed: evaluations that failed and were kept so far.
    """

    def __init__(self, pool: Pool, job: Job, recorder: Recorder | None, timing: Timing, failed: int = 0):
        self.pool, self.recorder, self.failed = pool, recorder, failed
        self._job, self._timing, self._row = job, timing, row_type(job)
        self._round: tuple[Kind, int, float] | None = None  # that is open, and when it was opened

    def run(self, kind: Kind, step: int, snapshot: Snapshot) -> Trajectory:
        """Runs one round and returns it merged; its time goes to broadcast and to the phase of its kind.

        Raises:
            DriverError: a driver raised an exception (its cause), or a slot cannot be run.
            NotFiniteSlotError: the environment gave a value that is not finite.
            UsageError: the archive is another run's, or cannot be written to.
        """
        started = time.monotonic()
        ran = self._run(kind, step, snapshot)
        trajectory = self.counted(kind, ran.trajectory)
        self._timing.add("broadcast", ran.broadcast)
        self._timing.add(phase_of(kind), max(0.0, time.monotonic() - started - ran.broadcast))
        return trajectory

    def through(self, coroutine: Generator[WantedRound, Any, R]) -> R:
        """Runs the rounds that a coroutine waits for; returns what it returns."""
        trajectory: Trajectory | None = None
        while True:
            try:
                wanted = coroutine.send(trajectory)
            except StopIteration as end:
                return end.value
            trajectory = self.wanted(wanted)

    def wanted(self, wanted: WantedRound) -> Trajectory:
        """Returns the trajectory of a round that is waited for; raises what ``run`` does."""
        with self._timing.measure("broadcast"):
            snapshot = wanted.snapshot()
        return self.run(wanted.kind, wanted.step, snapshot)

    def _run(self, kind: Kind, step: int, snapshot: Snapshot) -> Ran:
        """Runs one round, and checks it; raises what ``run`` does."""
        self.submit(kind, step, snapshot)
        return self.result()

    def submit(self, kind: Kind, step: int, snapshot: Snapshot) -> None:
        """Opens one round; ``result`` or ``abandon`` closes it. Raises what ``run`` does."""
        self._round = kind, step, time.monotonic()
        try:
            if self.recorder:
                self.recorder.begin(kind, step, snapshot, None if self.pool.asks else self.pool.held)
            with self._timing.marked("broadcast"):
                self.pool.submit(step, snapshot, kind, self.recorder)
        except BaseException:
            self.abandon()
            raise

    def result(self) -> Ran:
        """Waits for the round that was opened, closes it, and checks it; raises what ``run`` does."""
        assert self._round is not None, "it was opened"
        kind, step, started = self._round
        try:
            with self._timing.marked(phase_of(kind)):
                done = self.pool.result()
        except BaseException:
            self.abandon()
            raise
        self._close(completed=True)
        self._check(kind, step, done)
        return Ran(done.trajectory, done.broadcast, started, time.monotonic())

    def abandon(self) -> None:
        """Closes the round that was opened, if there is one; what arrived of it and was paid for is kept."""
        if self._round is not None:
            self._close(completed=False)

    def _close(self, completed: bool) -> None:
        self._round = None
        if self.recorder:
            self.recorder.end(completed)

    def _check(self, kind: Kind, step: int, done: RoundResult) -> None:
        """Raises NotFiniteSlotError if the environment gave a value that is not finite."""
        try:
            check_finite(done.trajectory, step, self._starts_evaluated(kind), self._job.keep_failures)
        except NotFiniteSlotError as error:
            error.slot = Task(kind, step, error.number, error.number + 1)
            if self._job.description.named and (place := self._place(error.slot, done.trajectory)):
                error.add_note(f"f was asked for {place}")
            raise

    def counted(self, kind: Kind, trajectory: Trajectory) -> Trajectory:
        """Counts the evaluations that failed in a round that is learned from or scored, and returns it."""
        if self._job.keep_failures:
            self.failed += int(np.isnan(trajectory.objectives[:, int(not self._starts_evaluated(kind)) :]).sum())
        return trajectory

    def _starts_evaluated(self, kind: Kind) -> bool:
        return kind in SAMPLED and self._job.evaluate_starts

    def _place(self, slot: Task, trajectory: Trajectory) -> str:
        """Returns the knobs and conditions of a slot's first evaluation that is not finite, in words; none for none."""
        rows = rows_of(trajectory, slot.kind, slot.step, self._row, self._job.evaluate_starts)
        rows = rows[(rows["slot"] == slot.start)]
        if not rows["failed"].any():
            return ""
        row, named = rows[int(np.argmax(rows["failed"]))], self._job.description.named
        assert named is not None, "they have names"
        return ", ".join(part.in_words(z) for part, z in zip(named, (row["x"], row["c"]), strict=True))

    def recorded_rows(self) -> np.ndarray:
        """Returns the rows that are recorded and played back, ``[n]``."""
        assert self.recorder is not None, "a tuning problem is recorded"
        return self.recorder.rows

    def late(self, step: int) -> np.ndarray:
        """Returns the rows of points that were told late, and are learned from in this training step, ``[n]``."""
        rows = self.recorder.rows if self.recorder and self.pool.asks else np.empty(0, self._row)
        return rows[(rows["kind"] == LATE) & (rows["step"] == step)] if len(rows) else rows

    def tell(self, rows: np.ndarray) -> None:
        """Keeps rows of points that were asked; see ``Recorder.tell``."""
        assert self.recorder is not None, "a tuning problem is recorded"
        self.recorder.tell(rows)

    @property
    def lost(self) -> int:
        """Evaluations that were in flight when drivers were lost."""
        return self.recorder.lost if self.recorder else 0

    def sync(self) -> int:
        """Makes what was recorded durable, and returns the length of the archive, 0 where there is none."""
        if not self.recorder:
            return 0
        return self.recorder.archive.sync()
