"""Drivers as threads of this process, or none at all."""

import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from actors.job import Job, Kind, Task
from actors.pools.base import DriverError, Pool, Record, RoundResult, shares
from actors.rollout import Collector
from actors.snapshot import Snapshot
from actors.trajectory import Merger
from env.errors import UsageError


@dataclass(frozen=True)
class _Round:
    """What was submitted."""

    snapshot: Snapshot
    tasks: deque[Task]
    merger: Merger
    record: Record | None
    shares: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, collector: Collector) -> None:
        """Runs tasks until none is left."""
        while True:
            try:
                task = self.tasks.popleft()
            except IndexError:
                return
            try:
                trajectory = collector.run(task)
                with self.lock:
                    if self.record:
                        self.record.arrived(trajectory)
                    self.merger.add(trajectory)
                    self.shares.append(len(trajectory))
            except BaseException:
                self.tasks.clear()  # nothing more is to be paid for in a round that has failed
                raise


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
        self._round: _Round | None = None

    def submit(self, step: int, snapshot: Snapshot, kind: Kind, record: Record | None = None) -> None:
        merger = self._merger(kind, snapshot.version, record)
        parts = len(merger.missing) if record and record.slot_by_slot else len(self._collectors)
        self._round = _Round(snapshot, deque(shares(kind, step, merger.missing, parts)), merger, record)

    def result(self) -> RoundResult:
        assert self._round is not None, "submit comes before result"
        current = self._round
        workers = self._collectors[: len(current.tasks)]
        started = time.monotonic()
        for collector in workers:
            collector.update(current.snapshot)
        held = time.monotonic()
        try:
            self._run(current, workers)
        except UsageError:
            raise  # what could not be recorded, which is no fault of a driver's
        except Exception as error:
            raise DriverError(f"a driver failed: {type(error).__name__}: {error}") from error
        return RoundResult(current.merger.result(), current.shares, held - started, time.monotonic() - held)

    def _run(self, current: _Round, workers: list[Collector]) -> None:
        """Lets the collectors run all tasks; it ends when no thread has one left, so that all that arrives is kept."""
        if not self._threads:
            for collector in workers:
                current.run(collector)
            return
        running = [self._threads.submit(current.run, collector) for collector in workers]
        try:
            wait(running)
        except BaseException:  # Ctrl-C
            current.tasks.clear()
            wait(running)
            raise
        for done in running:
            done.result()

    def close(self) -> None:
        if self._threads:
            self._threads.shutdown()
        for collector in self._collectors:
            collector.close()
        self._blas.restore_original_limits()
