"""Who runs the slots: one interface, three backends. What they return does not depend on which.

pool.submit(step, snapshot, kind)      deal the slots out
pool.result()                          wait for the facts of all of them
"""

import itertools
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from threadpoolctl import threadpool_limits

from actors.rollout import Collector, Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Trajectory


class DriverError(RuntimeError):
    """A driver failed; its ``__cause__`` holds the driver's own traceback."""


@dataclass(frozen=True)
class Round:
    """What came back for one ``submit``.

    Attributes:
        parts: facts, in no particular order.
        broadcast: seconds until every driver that was given work held the snapshot.
        collect: seconds from then until the last facts were here.
    """

    parts: list[Trajectory]
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def shares(self, step: int, kind: Kind, parts: int) -> list[Task]:
        """The round's slots in so many contiguous shares of equal size, give or take one, none empty."""
        slots = self.job.slots(kind)
        ends = [slots * i // parts for i in range(parts + 1)]
        return [Task(kind, step, a, b) for a, b in itertools.pairwise(ends) if a < b]


class ThreadPool(Pool):
    """Drivers as threads of this process: the thesis's pseudo-distributed mode. Without drivers, no threads at all.

    BLAS is held to one thread for as long as the pool is open, as in driver processes: the number of threads may
    change the last bits of a product.
    """

    def __init__(self, job: Job, drivers: int):
        super().__init__(job, drivers)
        self._collectors = [Collector(job, index) for index in range(max(drivers, 1))]
        self._threads = ThreadPoolExecutor(drivers, "driver") if drivers else None
        self._blas = threadpool_limits(1, "blas")

    def layout(self, kind: Kind) -> Layout:
        return self._collectors[0].layout(kind)

    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        self._round = (snapshot, self.shares(step, kind, len(self._collectors)))

    def result(self) -> Round:
        snapshot, tasks = self._round
        run = self._threads.map if self._threads else map
        workers = self._collectors[: len(tasks)]
        started = time.monotonic()
        for collector in workers:
            collector.update(snapshot)
        held = time.monotonic()
        try:
            parts = list(run(Collector.run, workers, tasks))
        except Exception as error:
            raise DriverError(_describe(error)) from error
        return Round(parts, held - started, time.monotonic() - held)

    def close(self) -> None:
        if self._threads:
            self._threads.shutdown()
        for collector in self._collectors:
            collector.close()
        self._blas.restore_original_limits()


def _describe(error: Exception) -> str:
    return f"a driver failed: {type(error).__name__}: {error}"


def make_pool(job: Job, drivers: int | Literal["auto"], backend: str, timeout: float) -> Pool:
    """The pool for ``--drivers`` and ``--backend``; ``timeout`` in seconds, 0 for none."""
    if drivers == "auto":
        from actors.auto import AutoPool

        return AutoPool(job, timeout)
    if drivers == 0 or backend == "thread":
        return ThreadPool(job, drivers)
    from actors.processes import ProcessPool

    return ProcessPool(job, drivers, timeout)
