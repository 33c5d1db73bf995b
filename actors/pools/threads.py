"""Drivers as threads of this process, or none at all."""

import functools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from actors.job import Job, Kind, Task
from actors.pools.base import DriverError, Pool, Record, RoundResult, shares
from actors.pools.limits import TookTooLongError, time_limit
from actors.rollout import Collector
from actors.snapshot import Snapshot
from actors.trajectory import Merger, Trajectory
from env.errors import UsageError

WATCH_SECONDS = 0.1
"""How often it is looked for threads that are past their time."""


class _SlotFailedError(Exception):
    """A slot raised its cause; the argument is the slot, as a task of its own."""


@dataclass(frozen=True)
class _Round:
    """What was submitted, and since when each collector has been at its task."""

    snapshot: Snapshot
    tasks: deque[Task]
    merger: Merger
    record: Record | None
    shares: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: dict[int, tuple[Task, float]] = field(default_factory=dict)

    def run(self, collector: Collector, limit: float) -> None:
        """Runs tasks until none is left, each for at most ``limit`` seconds, 0 for no limit."""
        while True:
            try:
                task = self.tasks.popleft()
            except IndexError:
                return
            self.running[collector.driver] = task, time.monotonic()
            try:
                with time_limit(limit):
                    trajectory = _run_task(collector, task)
                with self.lock:
                    if self.record:
                        self.record.arrived(trajectory)
                    self.merger.add(trajectory)
                    self.shares.append(len(trajectory))
            except TookTooLongError:
                self.tasks.clear()
                raise TookTooLongError(task) from None
            except BaseException:
                self.tasks.clear()  # nothing more is to be paid for in a round that has failed
                raise
            finally:
                del self.running[collector.driver]

    def late(self, limit: float) -> list[Task]:
        """Returns the tasks that run for more than ``limit`` seconds."""
        now = time.monotonic()
        return [task for task, started in self.running.copy().values() if now - started > limit]


def _run_task(collector: Collector, task: Task) -> Trajectory:
    """Runs a task, and tells which of its slots raised an exception."""
    try:
        return collector.run(task)
    except UsageError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise _SlotFailedError(task.alone(collector.slot)) from error


class _Threads:
    """Threads that do not keep the program from ending, since one that is stuck cannot be ended."""

    def __init__(self, count: int):
        self._calls: queue.SimpleQueue[tuple[Future, Callable[[], None]] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"driver-{i}", daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            future, call = given
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)

    def submit(self, call: Callable[[], None]) -> Future:
        """Lets the first thread that is free make a call."""
        future: Future = Future()
        self._calls.put((future, call))
        return future

    def close(self, stuck: int) -> None:
        """Ends all threads but those that are stuck, of which there are so many."""
        for _ in self._threads:
            self._calls.put(None)
        while sum(thread.is_alive() for thread in self._threads) > stuck:
            time.sleep(1e-3)


class ThreadPool(Pool):
    """Drivers as threads of this process: the thesis's pseudo-distributed mode. Without drivers, no threads at all.

    BLAS is held to one thread for as long as the pool is open, as in driver processes: the number of threads may
    change the last bits of a product.

    Args:
        job: what drivers run.
        drivers: how many there are; 0 is the thread of the caller.
        timeout: seconds that a task may take; 0 for no limit. A thread cannot be replaced, so that the round fails.
    """

    def __init__(self, job: Job, drivers: int, timeout: float = 0.0):
        drivers = min(drivers, job.most_slots)
        super().__init__(job, drivers)
        self._timeout = timeout
        self._collectors = [Collector(job, index) for index in range(max(drivers, 1))]
        self._threads = _Threads(drivers) if drivers else None
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
        except TookTooLongError as error:
            task = error.args[0]
            slots = f"slot {task.start}" + (f" to {task.stop - 1}" if task.stop - task.start > 1 else "")
            limit = f"--driver-timeout {self._timeout:g} s"
            raise DriverError(f"{slots} of step {task.step} took longer than {limit}", task.alone()) from None
        except _SlotFailedError as failure:
            cause = failure.__cause__
            raise DriverError(f"a driver failed: {type(cause).__name__}: {cause}", failure.args[0]) from cause
        except Exception as error:
            raise DriverError(f"a driver failed: {type(error).__name__}: {error}") from error
        return RoundResult(current.merger.result(), current.shares, held - started, time.monotonic() - held)

    def _run(self, current: _Round, workers: list[Collector]) -> None:
        """Lets the collectors run all tasks; it ends when no thread has one left, so that all that arrives is kept."""
        if not self._threads:
            for collector in workers:
                current.run(collector, self._timeout)
            return
        running = [self._threads.submit(functools.partial(current.run, collector, 0.0)) for collector in workers]
        try:
            self._wait(current, running)
        except KeyboardInterrupt:
            current.tasks.clear()
            self._wait(current, running)
            raise
        for done in running:
            done.result()

    def _wait(self, current: _Round, running: list[Future]) -> None:
        """Waits for all threads but those that are past their time.

        Raises:
            TookTooLongError: there are such.
        """
        left = set(running)
        while left:
            late = current.late(self._timeout) if self._timeout else []
            if late:
                current.tasks.clear()
            if late and len(late) == len(left):
                raise TookTooLongError(late[0])
            left = wait(left, WATCH_SECONDS if self._timeout else None, FIRST_COMPLETED).not_done

    def close(self) -> None:
        stuck = self._round.running if self._round else {}  # of threads that cannot be ended
        if self._threads:
            self._threads.close(len(stuck))
        for collector in self._collectors:
            if collector.driver not in stuck:
                collector.close()
        self._blas.restore_original_limits()
