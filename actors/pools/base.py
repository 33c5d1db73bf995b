"""Who runs the slots: one interface, three backends. What they return does not depend on which.

pool.submit(step, snapshot, kind)      deal the slots out
pool.result()                          wait for the facts of all of them
"""

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from actors.rollout import Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Merger, Trajectory


class DriverError(RuntimeError):
    """A driver failed; its ``__cause__`` holds the driver's own traceback."""


@dataclass(frozen=True)
class Round:
    """What came back for one ``submit``.

    Attributes:
        facts: of all slots, in their order; good until the next round of the same kind.
        shares: how many slots each task had, in the order in which they came back.
        broadcast: seconds until every driver that was given work held the snapshot.
        collect: seconds from then until the last facts were here.
    """

    facts: Trajectory
    shares: list[int]
    broadcast: float
    collect: float


class Pool(ABC):
    """Runs rounds of slots. One round at a time: ``submit``, then ``result``."""

    restarts = 0
    """Drivers that died or hung and were replaced."""
    choice = ""
    """How many drivers were chosen and why, where that was left to the pool."""

    def __init__(self, job: Job, drivers: int):
        self.job = job
        self.drivers = drivers
        self._mergers: dict[Kind, Merger] = {}

    @abstractmethod
    def layout(self, kind: Kind) -> Layout:
        """Shapes of the facts of a round of this kind."""

    @abstractmethod
    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        """Deals out the slots of training step ``step`` under the policy of ``snapshot``."""

    @abstractmethod
    def result(self) -> Round:
        """Waits for the round that was submitted.

        Raises:
            DriverError: a slot raised an exception, or cannot be run.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the drivers."""

    def _merger(self, kind: Kind, version: int) -> Merger:
        """Takes in the facts of a round of this kind, in which policy version ``version`` acts."""
        if kind not in self._mergers:
            self._mergers[kind] = Merger(self.layout(kind), self.job.slots(kind))
        self._mergers[kind].begin(version)
        return self._mergers[kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def shares(self, step: int, kind: Kind, parts: int) -> list[Task]:
        """The round's slots in so many contiguous shares of equal size, give or take one, none empty."""
        slots = self.job.slots(kind)
        ends = [slots * i // parts for i in range(parts + 1)]
        return [Task(kind, step, a, b) for a, b in itertools.pairwise(ends) if a < b]
