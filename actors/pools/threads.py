"""Drivers as threads of this process, or none at all."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from actors.job import Job, Kind, Task
from actors.pools.base import DriverError, Pool, RoundResult
from actors.rollout import Collector
from actors.snapshot import Snapshot


@dataclass(frozen=True)
class _Round:
    """What was submitted: the tasks, one for each collector that has work."""

    kind: Kind
    snapshot: Snapshot
    tasks: list[Task]


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

    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        self._round = _Round(kind, snapshot, self.shares(step, kind, len(self._collectors)))

    def result(self) -> RoundResult:
        assert self._round is not None, "submit comes before result"
        kind, snapshot, tasks = self._round.kind, self._round.snapshot, self._round.tasks
        run = self._threads.map if self._threads else map
        workers = self._collectors[: len(tasks)]
        started = time.monotonic()
        for collector in workers:
            collector.update(snapshot)
        held = time.monotonic()
        try:
            merger = self._merger(kind, snapshot.version)
            for part in run(Collector.run, workers, tasks):
                merger.add(part)
        except Exception as error:
            raise DriverError(f"a driver failed: {type(error).__name__}: {error}") from error
        shares = [task.stop - task.start for task in tasks]
        return RoundResult(merger.result(), shares, held - started, time.monotonic() - held)

    def close(self) -> None:
        if self._threads:
            self._threads.shutdown()
        for collector in self._collectors:
            collector.close()
        self._blas.restore_original_limits()
