"""Bugs that are planted to see that the simulator catches them: in pool, merge, archive and checkpoint.

Each is a function that puts a wrong thing in the place of a right one, with pytest's ``MonkeyPatch``.
"""

import dataclasses
import hashlib
import itertools
from collections import deque
from collections.abc import Callable

import pytest

from actors.pools.dealing import DealingPool
from actors.pools.roster import Driver
from actors.pools.round import Round
from actors.trajectory import Merger, Trajectory
from ppo.algorithm.learner import Learner
from ppo.algorithm.past import Past
from ppo.data import archive, files, recorder, records, replay
from ppo.data.disk import Disk
from ppo.training import checkpoint, rounds, run_dir
from tests.simulation.disk import SimulatedDisk
from tests.simulation.fleet import SimulatedCollector

Bug = Callable[[pytest.MonkeyPatch], None]


def stale_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A driver that holds a snapshot keeps its content for that of others of the same version."""
    real = SimulatedCollector.update

    def update(self, snapshot):
        if self._snapshot is None or self._snapshot.version != snapshot.version - 1:
            real(self, snapshot)
        else:
            self._snapshot = dataclasses.replace(self._snapshot, version=snapshot.version)
            self._key = hashlib.blake2b(self._snapshot.to_bytes(), digest_size=16).digest()

    patch.setattr(SimulatedCollector, "update", update)


def lost_slot(patch: pytest.MonkeyPatch) -> None:
    """Of the task of a lost driver, only the first half is dealt again."""
    real = Round.retry

    def retry(self, task, counted=True):
        times = real(self, task, counted)
        self.tasks.popleft()
        return times

    patch.setattr(Round, "retry", retry)


def no_deadline(patch: pytest.MonkeyPatch) -> None:
    """A driver that does not answer is waited for."""
    patch.setattr(DealingPool, "_deadline", lambda self: float("inf"))


def replacement_without_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A driver in the place of another is taken to hold what that one did."""
    real = Driver.__init__
    editions: dict[int, Driver] = {}

    def init(self, index, handle):
        real(self, index, handle)
        if index in editions:
            self.edition = editions[index].edition
        editions[index] = self

    patch.setattr(Driver, "__init__", init)


def busy_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A driver whose answer is to an earlier round stays busy."""
    real = DealingPool._take

    def take(self, driver, message):
        before = driver.task
        real(self, driver, message)
        if before is not None and driver.round != self._round.number:
            driver.task = before
            self._roster.busy(driver, float("inf"))

    patch.setattr(DealingPool, "_take", take)


def merged_by_arrival(patch: pytest.MonkeyPatch) -> None:
    """Trajectories are merged in the order in which they come."""

    def put(self, trajectory):
        at = len(self._present) - self._missing
        self._present[trajectory.slots] = True
        self._missing -= len(trajectory)
        for name in self.layout.fields:
            getattr(self._merged, name)[at : at + len(trajectory)] = getattr(trajectory, name)

    patch.setattr(Merger, "put", put)


def complete_too_soon(patch: pytest.MonkeyPatch) -> None:
    """A step counts as complete though a slot is missing; its data is that of the step before."""
    patch.setattr(Merger, "complete", property(lambda self: self._missing <= 1))
    patch.setattr(Merger, "result", lambda self: self._merged)


def counted_twice(patch: pytest.MonkeyPatch) -> None:
    """Slots that came before are recorded again."""

    def add(self, task, trajectory, held_at, seconds):
        self._merger.check(trajectory)
        if self._record:
            self._record.arrived(trajectory)
        self._merger._missing += int(self._merger._present[trajectory.slots].sum())
        self._merger._present[trajectory.slots] = False
        self._merger.put(trajectory)
        self._shares.append(len(trajectory))
        self._slot_seconds.append(seconds / len(trajectory))

    patch.setattr(Round, "add", add)


def other_rows(patch: pytest.MonkeyPatch) -> None:
    """Of an answer that others have given in part, the wrong slots are taken, under the numbers of the right ones."""

    def taken(self, layout, which):
        copy = Trajectory.empty(layout, int(which.sum()))
        for name in layout.fields:
            getattr(copy, name)[:] = getattr(self, name)[: len(copy)]
        copy.slots[:] = self.slots[which]
        return copy

    patch.setattr(Trajectory, "rows", taken)


def answer_of_another_round(patch: pytest.MonkeyPatch) -> None:
    """An answer to a task of an earlier round is taken for one of this round."""

    def accept(self, answer, handle):
        task, current = answer.task, self._round
        if len(answer.trajectory) == (task.stop - task.start) * self.layout(current.kind).slot_bytes:
            copy = bytearray(answer.trajectory)
            trajectory = Trajectory.over(self.layout(current.kind), task.stop - task.start, copy)
            trajectory.versions[:] = current._merger._version
            current.add(task, trajectory, answer.held_at, answer.seconds)

    patch.setattr(DealingPool, "_accept", accept)


def torn_record_kept(patch: pytest.MonkeyPatch) -> None:
    """What an interrupted write left at the end of the archive is not cut off."""
    patch.setattr(SimulatedDisk, "truncate", lambda self, path, length: None)


def checksums_not_compared(patch: pytest.MonkeyPatch) -> None:
    """A record of the archive is believed whatever it holds."""
    patch.setattr(records.zlib, "crc32", lambda data, value=0: 0)


def slots_numbered_by_arrival(patch: pytest.MonkeyPatch) -> None:
    """Rows are recorded under numbers that are counted from the first slot of a task on."""
    real = recorder.rows_of

    def rows_of(trajectory, *arguments):
        made = real(trajectory, *arguments)
        made["slot"] -= made["slot"].min()
        return made

    patch.setattr(recorder, "rows_of", rows_of)


def archive_after_checkpoint(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint is written before what it rests on is durable."""
    patch.setattr(rounds.Rounds, "sync", lambda self: None)
    patch.setattr(archive.Archive, "sync_if_due", lambda self: None)


def half_a_slot_played_back(patch: pytest.MonkeyPatch) -> None:
    """A slot of which the last time step was not recorded counts as recorded."""
    real = replay.Replay.trajectories

    def trajectories(self, kind, step, snapshot):
        played = real(self, kind, step, snapshot)
        for trajectory in played:
            trajectory.rewards[:, -1] = 0.0
            if trajectory.objectives.shape[1]:
                trajectory.objectives[:, -1] = trajectory.objectives[:, 0]
        return played

    patch.setattr(replay.Replay, "trajectories", trajectories)


def written_in_place(patch: pytest.MonkeyPatch) -> None:
    """A file is written over the one before it."""

    def write(path, content):
        disk = files.used.disk
        if path.exists():
            disk.remove(path)
        file = disk.create(path)
        files.write_all(file, content)
        disk.close(file)

    for module in (checkpoint, run_dir):
        patch.setattr(module, "write_atomically", write)


def renamed_before_written(patch: pytest.MonkeyPatch) -> None:
    """A file takes its name before its content is durable."""
    real = files.write_atomically

    def write(path, content):
        with patch.context() as inner:
            inner.setattr(SimulatedDisk, "sync", Disk.sync)
            real(path, content)

    patch.setattr(checkpoint, "write_atomically", write)


def moments_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Adam's moments are not restored."""
    real = Learner.restore

    def restore(self, state):
        fresh = self.state()
        real(self, {name: fresh[name] if "adam" in name or "moment" in name else state[name] for name in state})

    patch.setattr(Learner, "restore", restore)


def step_ahead(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint says that it is of one step later than it is."""
    real = Learner.state

    def state(self):
        saved = real(self)
        name = next(name for name in saved if name.endswith("step") and saved[name].size == 1)
        return saved | {name: saved[name] + 1}

    patch.setattr(Learner, "state", state)


def metrics_not_rewound(patch: pytest.MonkeyPatch) -> None:
    """Rows after the checkpoint stay in metrics.csv."""
    patch.setattr(run_dir.RunDir, "rewind", lambda self, step: None)


def newest_policy_for_all(patch: pytest.MonkeyPatch) -> None:
    """Of the policies that act in the training steps to come, the newest is restored in the place of each."""
    real = Past.restore

    def restore(self, state, step, spec):
        real(self, state, step, spec)
        kept = list(self._kept)
        self._kept = deque((dataclasses.replace(kept[-1], version=one.version) for one in kept), self._lag)

    patch.setattr(Past, "restore", restore)


POOL: tuple[Bug, ...] = (stale_snapshot, lost_slot, no_deadline, replacement_without_snapshot, busy_for_ever)
MERGE: tuple[Bug, ...] = (merged_by_arrival, complete_too_soon, counted_twice, other_rows, answer_of_another_round)
ARCHIVE: tuple[Bug, ...] = (
    torn_record_kept,
    checksums_not_compared,
    slots_numbered_by_arrival,
    archive_after_checkpoint,
    half_a_slot_played_back,
)
CHECKPOINT: tuple[Bug, ...] = (
    written_in_place,
    renamed_before_written,
    moments_forgotten,
    step_ahead,
    metrics_not_rewound,
    newest_policy_for_all,
)
BUGS = {bug.__name__: bug for bug in itertools.chain(POOL, MERGE, ARCHIVE, CHECKPOINT)}
LEARNERS = frozenset(bug.__name__ for bug in (*ARCHIVE, *CHECKPOINT))
"""Those that show only where the learner ends and goes on."""
