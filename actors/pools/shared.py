"""One pool for several runs that differ by their seed: what they submit for the same training step is one round.

Each run has a ``Lane``, a pool to all appearances. ``submit`` on a lane only notes what is wanted; ``result`` on the
first one runs the round of all that want the same, and each lane returns its own part.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from actors.job import Job, Kind, Task
from actors.pools.base import DriverError, Pool, Record, RoundResult
from actors.snapshot import Snapshot
from actors.snapshots import AnySnapshot, Snapshots
from actors.trajectory import Layout, Trajectory


@dataclass(frozen=True)
class Wanted:
    """What a run has submitted."""

    kind: Kind
    step: int
    snapshot: Snapshot
    record: Record | None

    @property
    def round(self) -> tuple[Kind, int, int]:
        """What the runs of one round have in common."""
        return self.kind, self.step, self.snapshot.version


class SharedPool:
    """The lanes of a pool.

    Args:
        jobs: of the runs.
        make: makes the pool of a job.

    Attributes:
        pool: runs the rounds.
        lanes: one for each run.
    """

    def __init__(self, jobs: Sequence[Job], make: Callable[[Job], Pool]):
        self._jobs = tuple(jobs)
        self.pool = make(dataclasses.replace(jobs[0], beside=self._jobs[1:]))
        self.lanes = [Lane(self, number, job) for number, job in enumerate(jobs)]
        self.wanted: dict[int, Wanted] = {}
        self._results: dict[int, RoundResult] = {}
        self._own: dict[tuple[int, Kind], Trajectory] = {}

    def result(self, number: int) -> RoundResult:
        """Returns what came back for a run, once the round is over that it shares.

        Raises:
            DriverError: what ``Pool.result`` raises; its slot is that of the run.
        """
        if number not in self._results:
            self._run([one for one in sorted(self.wanted) if self.wanted[one].round == self.wanted[number].round])
        return self._results.pop(number)

    def _run(self, runs: list[int]) -> None:
        """Runs one round of these runs, which want the same."""
        wanted = {number: self.wanted.pop(number) for number in runs}
        first = wanted[runs[0]]
        snapshots = [wanted.get(number, first).snapshot for number in range(len(self._jobs))]
        records = [wanted[number].record if number in wanted else None for number in range(len(self._jobs))]
        absent = [number for number in range(len(self._jobs)) if number not in wanted]
        try:
            record = _Records(self.pool, first, records, absent)
            self.pool.submit(first.step, Snapshots(tuple(snapshots)), first.kind, record)
            done = self.pool.result()
        except DriverError as error:
            self._name_run(error)
            raise
        slots = self._jobs[0].slots(first.kind)
        for number in runs:
            own = self._part(number, first.kind, done.trajectory, slots)
            broadcast, collect = done.broadcast / len(runs), done.collect / len(runs)
            self._results[number] = RoundResult(own, done.shares, broadcast, collect)

    def _part(self, number: int, kind: Kind, whole: Trajectory, slots: int) -> Trajectory:
        """Returns a copy of a run's part, which its next round of the same kind overwrites."""
        if (number, kind) not in self._own:
            self._own[number, kind] = Trajectory.empty(self.pool.layout(kind), slots)
        own = self._own[number, kind]
        for name in self.pool.layout(kind).fields:
            getattr(own, name)[:] = getattr(whole, name)[number * slots : (number + 1) * slots]
        own.slots[:] -= number * slots
        return own

    def _name_run(self, error: DriverError) -> None:
        """Says of an error in which slot of which run it happened."""
        if error.slot is None:
            return
        share = self.pool.job.shares(error.slot.alone())[0]
        slot = share.own.start
        error.run, error.slot = share.number, dataclasses.replace(error.slot, start=slot, stop=slot + 1)
        error.args = (f"{error}: it is slot {slot} of the run with seed {share.job.seed}",)

    def close(self) -> None:
        """Ends the drivers."""
        self.pool.close()


class Lane(Pool):
    """The pool as one of the runs sees it.

    Args:
        shared: whose lane it is.
        number: number of the run.
        job: the job of the run.
    """

    def __init__(self, shared: SharedPool, number: int, job: Job):
        super().__init__(job, shared.pool.drivers)
        self._shared, self._number = shared, number

    def layout(self, kind: Kind) -> Layout:
        return self._shared.pool.layout(kind)

    @property
    def held(self) -> int:
        """See ``Pool``; they may all be of the same run."""
        return self._shared.pool.held

    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        assert isinstance(snapshot, Snapshot), "a run has one policy"
        self._shared.wanted[self._number] = Wanted(kind, step, snapshot, record)

    def result(self) -> RoundResult:
        pool = self._shared.pool
        try:
            return self._shared.result(self._number)
        finally:
            self.drivers, self.restarts = pool.drivers, pool.restarts

    def close(self) -> None:
        """Leaves the pool to the other runs."""


class _Records:
    """A ``Record`` of a round of several runs, each of which keeps what is its own.

    Args:
        pool: runs the round.
        wanted: what the runs have in common.
        records: that of each run; None where nothing is kept, or the run takes no part.
        absent: numbers of the runs that take no part: their slots are there from the start, empty.
    """

    def __init__(self, pool: Pool, wanted: Wanted, records: Sequence[Record | None], absent: Sequence[int]):
        self._job, self._layout, self._records = pool.job, pool.layout(wanted.kind), records
        self._kind, self._slots = wanted.kind, pool.job.run_slots(wanted.kind)
        self.trajectories: list[Trajectory] = []
        for number in absent:
            empty = Trajectory.empty(self._layout, self._slots)
            empty.slots[:] = np.arange(self._slots) + number * self._slots
            empty.versions[:] = wanted.snapshot.version
            self.trajectories.append(empty)
        for number, record in enumerate(records):
            for own in record.trajectories if record else ():
                self.trajectories.append(own.part(slice(None), own.slots + number * self._slots))
        self.slot_by_slot = any(record.slot_by_slot for record in records if record)

    def arrived(self, trajectory: Trajectory) -> None:
        """Hands each run what is its own; slots come in ascending order."""
        slots, first = trajectory.slots, int(trajectory.slots[0]) // self._slots
        for number in range(first, int(slots[-1]) // self._slots + 1):
            before = number * self._slots
            rows = slice(*np.searchsorted(slots, (before, before + self._slots)).tolist())
            if rows.start < rows.stop and (record := self._records[number]) is not None:
                record.arrived(trajectory.part(rows, slots[rows] - before))

    def lost_task(self, task: Task) -> None:
        """Tells each run what of its own was lost."""
        for share in self._job.shares(task):
            if (record := self._records[share.number]) is not None:
                record.lost_task(dataclasses.replace(task, start=share.own.start, stop=share.own.stop))
