"""Who runs the slots: one interface for every backend. What a pool returns does not depend on the backend.

pool.submit(step, snapshot, kind, record)      deal out the slots that are not recorded
pool.result()                                  wait for the trajectories of all of them, and record what arrives
"""

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from actors.job import Job, Kind, Task
from actors.pools.failed_slots import FailedSlots
from actors.snapshots import AnySnapshot
from actors.trajectory import Layout, Merger, Trajectory

WATCH_SECONDS = 0.1
"""How often it is looked for what nothing tells of: threads that are past their time, and that a round is given up."""


class StoppedError(BaseException):
    """A round was given up, since ``Pool.stop`` was called. No Exception, which is a driver's."""


class DriverError(RuntimeError):
    """A driver failed; its ``__cause__`` holds the driver's own traceback.

    Args:
        message: what happened.
        slot: the slot in which it happened, as a task of its own; None where it is not known.
        mistake: what a method of the user's returned in place of what it must, in one line; empty where it is not that.

    Attributes:
        run: number of the run that the slot belongs to, where several share their rounds.
    """

    run = 0

    def __init__(self, message: str, slot: Task | None = None, mistake: str = ""):
        super().__init__(message)
        self.slot, self.mistake = slot, mistake


class NotFiniteSlotError(FloatingPointError):
    """An environment gave a value that is NaN or infinite.

    Args:
        message: what it was.
        number: of the slot.

    Attributes:
        slot: the slot, as a task of its own; None where the kind of its round is not known.
    """

    slot: Task | None = None

    def __init__(self, message: str, number: int = 0):
        super().__init__(message)
        self.number = number


@dataclass(frozen=True)
class RoundResult:
    """What came back for one ``submit``.

    Attributes:
        trajectory: of all slots, in their order; valid until the next round of the same kind.
        shares: how many slots each task had, in the order in which they came back.
        broadcast: seconds until every driver that was given work held the snapshot.
        collect: seconds from then until the last trajectory was here.
    """

    trajectory: Trajectory
    shares: list[int]
    broadcast: float
    collect: float


class Record(Protocol):
    """What is known of a round before it is run, and who keeps what arrives. One thread calls it at a time."""

    @property
    def trajectories(self) -> Sequence[Trajectory]:
        """Trajectories of slots that were run before, and are not run again."""

    @property
    def slot_by_slot(self) -> bool:
        """Whether each slot's trajectory is kept as soon as it is there: tasks then have one slot, unless f waits."""

    def arrived(self, trajectory: Trajectory) -> None:
        """Takes in a trajectory as it arrives, before anything else does."""

    def lost_task(self, task: Task) -> None:
        """Notes that a driver was lost while it ran a task, which will be run again."""


class Pool(ABC):
    """Runs rounds of slots. One round at a time: ``submit``, then ``result``.

    Args:
        job: what drivers run.
        drivers: how many there are; 0 is this process.

    Attributes:
        restarts: drivers that died or hung and were replaced.
        choice: how many drivers were chosen and why, where that was left to the pool.
        failure: why an evaluation of f failed, the first one that the pool knows of; empty for none.
        asks: whether slots are run by nobody, and the points of a round are asked.
        beside: whether slots are run beside the caller of ``result``, which waits for them.
        stopped: whether ``stop`` was called.
    """

    asks = beside = stopped = False
    restarts = 0
    choice = ""
    failure = ""

    def __init__(self, job: Job, drivers: int):
        self.job = job
        self.drivers = drivers
        self._layouts = {kind: job.layout(kind) for kind in Kind}
        self._mergers: dict[Kind, Merger] = {}
        self._failed_slots = FailedSlots(job)

    def layout(self, kind: Kind) -> Layout:
        """Returns the shapes of the trajectories of a round of this kind."""
        return self._layouts[kind]

    @property
    def held(self) -> int:
        """How many slots of a round its drivers may hold at a time that are under way, or not yet recorded."""
        described = self.job.description
        return (described.at_once or self.job.most_slots) if described.waits else max(self.drivers, 1)

    @abstractmethod
    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        """Deals out the slots of training step ``step`` under the policy of ``snapshot``, but for those recorded."""

    @abstractmethod
    def result(self) -> RoundResult:
        """Waits for the round that was submitted.

        Raises:
            DriverError: a slot raised an exception, or cannot be run.
            StoppedError: another thread has called ``stop``.
        """

    def stop(self) -> None:
        """Lets ``result``, in which another thread waits, give up the round within a moment. There is no other then."""
        self.stopped = True

    @abstractmethod
    def close(self) -> None:
        """Ends the drivers."""

    def _merger(self, kind: Kind, version: int, record: Record | None) -> Merger:
        """Returns the merger of a round of this kind, which holds the slots that are recorded.

        Policy version ``version`` acts in it.
        """
        if kind not in self._mergers:
            self._mergers[kind] = Merger(self._layouts[kind], self.job.slots(kind))
        merger = self._mergers[kind]
        merger.begin(version)
        for trajectory in record.trajectories if record else ():
            merger.add(trajectory)
        return merger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def shares(kind: Kind, step: int, slots: np.ndarray, parts: int) -> list[Task]:
    """Splits slots, in ascending order, into so many shares of equal size, give or take one, none empty.

    A share that is not contiguous, since slots are missing in between, makes a task of each of its runs.
    """
    parts = max(parts, 1)  # there is nothing to split where no slot is left
    ends = [len(slots) * i // parts for i in range(parts + 1)]
    runs = [run for a, b in itertools.pairwise(ends) for run in contiguous(slots[a:b])]
    return [Task(kind, step, run.start, run.stop) for run in runs]


def shares_by_run(job: Job, kind: Kind, step: int, slots: np.ndarray, parts: int) -> list[Task]:
    """Splits slots into so many shares or more, none of them of several runs: a task may take no longer for them."""
    runs = np.split(slots, np.searchsorted(slots, job.run_slots(kind) * np.arange(1, len(job.runs))))
    return [task for run in runs if len(run) for task in shares(kind, step, run, -(-parts * len(run) // len(slots)))]


def missing_of(task: Task, merger: Merger) -> np.ndarray:
    """Returns the slots of a task that a merger lacks, ``[k]``."""
    slots = np.arange(task.start, task.stop)
    return slots[merger.lacks(slots)]


def rest_of(task: Task, merger: Merger) -> Task:
    """Returns a task from the first slot that a merger lacks to the last one; all of it if it lacks none."""
    missing = missing_of(task, merger)
    return dataclasses.replace(task, start=int(missing[0]), stop=int(missing[-1]) + 1) if len(missing) else task


def contiguous(slots: np.ndarray) -> list[range]:
    """Returns the contiguous runs of slots in ascending order."""
    if len(slots) and slots[-1] - slots[0] + 1 == len(slots):  # as they mostly are
        return [range(int(slots[0]), int(slots[-1]) + 1)]
    runs = np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1)
    return [range(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
