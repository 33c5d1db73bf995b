"""Who runs the slots: one interface for every backend. What a pool returns does not depend on the backend.

pool.submit(step, snapshot, kind)      deal the slots out
pool.result()                          wait for the trajectories of all of them
"""

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from actors.job import Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Merger, Trajectory


class DriverError(RuntimeError):
    """A driver failed; its ``__cause__`` holds the driver's own traceback."""


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


class Pool(ABC):
    """Runs rounds of slots. One round at a time: ``submit``, then ``result``.

    Args:
        job: what drivers run.
        drivers: how many there are; 0 is this process.

    Attributes:
        restarts: drivers that died or hung and were replaced.
        choice: how many drivers were chosen and why, where that was left to the pool.
    """

    restarts = 0
    choice = ""

    def __init__(self, job: Job, drivers: int):
        self.job = job
        self.drivers = drivers
        self._layouts = {kind: job.layout(kind) for kind in Kind}
        self._mergers: dict[Kind, Merger] = {}

    def layout(self, kind: Kind) -> Layout:
        """Returns the shapes of the trajectories of a round of this kind."""
        return self._layouts[kind]

    @abstractmethod
    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        """Deals out the slots of training step ``step`` under the policy of ``snapshot``."""

    @abstractmethod
    def result(self) -> RoundResult:
        """Waits for the round that was submitted.

        Raises:
            DriverError: a slot raised an exception, or cannot be run.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the drivers."""

    def _merger(self, kind: Kind, version: int) -> Merger:
        """Returns the merger of a round of this kind, in which policy version ``version`` acts."""
        if kind not in self._mergers:
            self._mergers[kind] = Merger(self._layouts[kind], self.job.slots(kind))
        self._mergers[kind].begin(version)
        return self._mergers[kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def shares(self, step: int, kind: Kind, parts: int) -> list[Task]:
        """Splits a round's slots into so many contiguous shares of equal size, give or take one, none empty."""
        slots = self.job.slots(kind)
        ends = [slots * i // parts for i in range(parts + 1)]
        return [Task(kind, step, a, b) for a, b in itertools.pairwise(ends) if a < b]
