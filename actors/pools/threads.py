"""Drivers as threads of this process, or none at all."""

import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from actors.job import Job, Kind, Task
from actors.pools.base import (
    WATCH_SECONDS,
    DriverError,
    Pool,
    Record,
    RoundResult,
    StoppedError,
    missing_of,
    rest_of,
    shares,
)
from actors.pools.environment import one_thread
from actors.pools.failed_slots import FailedSlots
from actors.pools.limits import TookTooLongError, time_limit
from actors.rollout import Collector
from actors.snapshots import AnySnapshot
from actors.trajectory import Merger, Trajectory
from env.daemon_threads import DaemonThreads
from env.errors import ContractError, UsageError


class _SlotFailedError(Exception):
    """A slot raised its cause; the argument is the slot, as a task of its own."""


@dataclass(frozen=True)
class _Running:
    """A task that a collector is at, and since when."""

    task: Task
    started: float


@dataclass
class _Round:
    """What was submitted, and what each collector is at.

    Without ``failed_slots``, a task that takes too long ends the round.
    """

    snapshot: AnySnapshot
    tasks: deque[Task]
    merger: Merger
    record: Record | None
    failed_slots: FailedSlots | None
    runs_of: Callable[[Task], int]
    shares: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: dict[int, _Running] = field(default_factory=dict)
    given_up: list[Task] = field(default_factory=list)
    ended: bool = False

    def run(self, collector: Collector, limit: float) -> None:
        """Runs tasks until none is left, each for at most ``limit`` seconds, 0 for no limit."""
        while True:
            try:
                task = self.tasks.popleft()
            except IndexError:
                return
            self.running[collector.driver] = mine = _Running(task, time.monotonic())
            left = task.stop - task.start
            try:
                with contextlib.closing(collector.parts(task)) as parts:
                    longest = limit * self.runs_of(task)
                    while left and not self.ended and (part := _next(collector, task, parts, longest)) is not None:
                        left -= len(part)
                        with self.lock:
                            if self.running.get(collector.driver) is not mine:
                                return  # another collector has its place by now
                            self._add(part)
                            # It has as long again for the next part.
                            self.running[collector.driver] = mine = _Running(task, time.monotonic())
                if self.running.get(collector.driver) is not mine:
                    return  # it was given up, and ended without its last parts
            except TookTooLongError:
                if self.failed_slots is None:
                    self.end()
                    raise TookTooLongError(rest_of(task, self.merger)) from None
                self.give_up(collector.driver, mine)
            except BaseException:
                if self.running.get(collector.driver) is not mine:
                    return
                self.end()  # nothing more is to be paid for in a round that has failed
                raise
            finally:
                if self.running.get(collector.driver) is mine:
                    del self.running[collector.driver]

    def late(self, limit: float) -> dict[int, _Running]:
        """Returns what has been running for more than ``limit`` seconds a run, by the collector's number."""
        now, running = time.monotonic(), self.running.copy().items()
        return {driver: one for driver, one in running if now - one.started > limit * self.runs_of(one.task)}

    def give_up(self, driver: int, late: _Running) -> bool:
        """Ends a task that took too long: it is dealt again in halves, and has failed where it is a single slot.

        Nothing but the slot can be to blame for it where no driver is started anew, so that it is not tried again.

        Returns:
            Whether it had not been finished in the meantime.
        """
        with self.lock:
            if self.running.get(driver) is not late:
                return False
            del self.running[driver]
            rest = rest_of(late.task, self.merger)
            self.given_up.append(rest)
            if rest == rest.alone():
                assert self.failed_slots is not None, "it does not end the round"
                self._add(self.failed_slots.trajectory(rest, self.snapshot))
                return True
            parts = shares(rest.kind, rest.step, missing_of(rest, self.merger), 2)
            if self.record:
                for part in parts:
                    self.record.lost_task(part)
            self.tasks.extendleft([] if self.ended else parts)
            return True

    def _add(self, trajectory: Trajectory) -> None:
        if self.record:
            self.record.arrived(trajectory)
        self.merger.add(trajectory)
        self.shares.append(len(trajectory))

    def end(self) -> None:
        """Lets no task begin any more."""
        self.ended = True
        self.tasks.clear()


def _next(collector: Collector, task: Task, parts: Iterator[Trajectory], limit: float) -> Trajectory | None:
    """Runs a task until a part of it is there, None after the last; tells which of its slots raised an exception."""
    try:
        with time_limit(limit):
            return next(parts, None)
    except (Exception, SystemExit, GeneratorExit) as error:
        if isinstance(error, UsageError) and not isinstance(error, ContractError):
            raise
        raise _SlotFailedError(task.alone(collector.slot)) from error


class ThreadPool(Pool):
    """Drivers as threads of this process: the thesis's pseudo-distributed mode. Without drivers, no threads at all.

    BLAS is held to one thread for as long as the pool is open, as in driver processes, and so is that of programs that
    f starts and of libraries that it loads: the number of threads may change the last bits of a product.

    Args:
        job: what drivers run.
        drivers: how many there are; 0 is the thread of the caller.
        timeout: seconds that a task may take; 0 for no limit. A thread cannot be ended, so that the round fails, unless
            the job keeps failures: the thread is left alone then, and another one takes its place.
    """

    def __init__(self, job: Job, drivers: int, timeout: float = 0.0):
        drivers = min(drivers, job.most_slots)
        super().__init__(job, drivers)
        self._timeout = timeout
        self._collectors = [Collector(job, index) for index in range(max(drivers, 1))]
        self._threads = DaemonThreads(drivers, "driver") if drivers else None
        self.beside = drivers > 0
        self._abandoned = 0
        self._limits = contextlib.ExitStack()
        self._limits.enter_context(threadpool_limits(1, "blas"))
        self._limits.enter_context(one_thread())
        self._round: _Round | None = None

    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        merger = self._merger(kind, snapshot.version, record)
        one_by_one = record and record.slot_by_slot and not self.job.description.waits
        parts = len(merger.missing) if one_by_one else len(self._collectors)
        tasks = deque(shares(kind, step, merger.missing, parts))
        failed_slots = self._failed_slots if self.job.keep_failures else None
        self._round = _Round(snapshot, tasks, merger, record, failed_slots, self._runs_of)

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
            raise DriverError(self._too_long(task), task.alone()) from None
        except _SlotFailedError as failure:
            cause = failure.__cause__
            slot: Task = failure.args[0]
            where = f"slot {slot.start} of training step {slot.step}"
            mistake = str(cause) if isinstance(cause, ContractError) else ""
            raise DriverError(f"{where} failed: {type(cause).__name__}: {cause}", slot, mistake) from cause
        except Exception as error:
            raise DriverError(f"the round failed: {type(error).__name__}: {error}") from error
        told = [collector.failures.first for collector in self._collectors if collector.failures]
        told += [self._too_long(task) for task in current.given_up]
        self.failure = next(filter(None, [self.failure, *told]), "")
        return RoundResult(current.merger.result(), current.shares, held - started, time.monotonic() - held)

    def _run(self, current: _Round, workers: list[Collector]) -> None:
        """Lets the collectors run all tasks; it ends when no thread has one left, so that all that arrives is kept."""
        if not self._threads:
            for collector in workers:
                current.run(collector, self._timeout)
            return
        running = {collector.driver: self._start(current, collector) for collector in workers}
        try:
            self._wait(current, running)
        except (KeyboardInterrupt, StoppedError):
            current.end()
            self._wait(current, running, give_up=True)
            raise
        for done in running.values():
            done.result()

    def _start(self, current: _Round, collector: Collector) -> Future:
        assert self._threads is not None, "there are threads"
        return self._threads.submit(functools.partial(current.run, collector, 0.0))

    def _wait(self, current: _Round, running: dict[int, Future], give_up: bool = False) -> None:
        """Waits for all threads but those that are past their time, which are replaced where the job keeps failures.

        Raises:
            TookTooLongError: there are such, and it does not; the others have ended.
            StoppedError: the round is to be given up, and has not ended yet.
        """
        overdue: Task | None = None
        while left := [one for one in running.values() if not one.done()]:
            for collector in self._collectors if give_up else ():
                collector.give_up()  # again and again, since one may have been about to begin
            if self.stopped and not current.ended:
                raise StoppedError
            late = current.late(self._timeout) if self._timeout else {}
            if self.job.keep_failures:
                for driver, one in late.items():
                    self._replace(current, driver, one, running)
            elif late:
                current.end()
                for driver, one in late.items():
                    overdue = overdue or rest_of(one.task, current.merger)
                    self._collectors[driver].give_up()
                if len(late) == len(left):
                    break
            wait(left, WATCH_SECONDS, FIRST_COMPLETED)
        if overdue:
            raise TookTooLongError(overdue)

    def _replace(self, current: _Round, driver: int, late: _Running, running: dict[int, Future]) -> None:
        """Gives up a thread that is past its time, with its collector, and starts others in their places."""
        if not current.give_up(driver, late):
            return
        assert self._threads is not None, "it runs in a thread"
        self._abandoned += 1
        self._threads.add()
        self._collectors[driver].give_up()
        self._collectors[driver] = Collector(self.job, driver)
        self._collectors[driver].update(current.snapshot)
        running[driver] = self._start(current, self._collectors[driver])

    def _runs_of(self, task: Task) -> int:
        """Returns of how many runs a task has slots, each of which may take its time."""
        return len(self.job.shares(task))

    def _too_long(self, task: Task) -> str:
        slots = f"slot {task.start}" + (f" to {task.stop - 1}" if task.stop - task.start > 1 else "")
        return f"{slots} of step {task.step} took longer than --driver-timeout {self._timeout:g} s"

    def close(self) -> None:
        stuck = self._round.running if self._round else {}  # of threads that cannot be ended
        with self._limits:
            if self._threads:
                self._threads.close(len(stuck) + self._abandoned)
            for collector in self._collectors:
                if collector.driver not in stuck:
                    collector.close()
