"""Drivers as processes, over pipes.

      submit: snapshot ---> shared memory, read by all drivers
              slots    ---> queue of tasks
                                |   an idle driver takes the next one
                     task       v
      learner  ======================>  driver 0 .. N-1   (forkserver children: NumPy shared, no torch)
               <======================
                   trajectory
      result: waits on pipes *and* process sentinels; a driver that died or is past its time is replaced, and its
      task goes back to the head of the queue.

A driver is written to only while it is reading (it has no task then), and the learner reads from any driver that
has sent a message, so neither side ever blocks the other, however large snapshot and trajectories are. A driver that
stops in the middle of a message is found by the sockets' own time-outs.
"""

import time

from actors.job import Job, Kind
from actors.pools import protocol
from actors.pools.base import DriverError, Pool, Record, RoundResult, shares
from actors.pools.driver import Driver, DriverSelector, driver_context
from actors.pools.round import Round, tasks_worth_dealing
from actors.pools.shared_snapshot import SharedSnapshot
from actors.rollout import job_sampler
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory

MAX_FAILURES = 5
"""How often a slot may lose its driver, or a start may fail in a row, before the run gives up."""
CLOSE_SECONDS = 2.0
"""How long all drivers together may take to end by themselves."""


class ProcessPool(Pool):
    """``drivers`` processes, started side by side.

    Args:
        job: what they run.
        drivers: how many.
        timeout: seconds that a task, or a start, may take before the driver is replaced; 0 for no limit.

    Raises:
        UsageError: the job cannot work; no process has been started then.
    """

    def __init__(self, job: Job, drivers: int, timeout: float):
        super().__init__(job, drivers)
        self._timeout = timeout
        sampler = job_sampler(job)
        self._context = driver_context(sampler.preload if sampler else ())
        self._shared, self._selector = SharedSnapshot(), DriverSelector()
        self._drivers: list[Driver] = []
        self._round: Round | None = None
        self._slot_costs: dict[Kind, tuple[float, float]] = {}  # of the last round: mean seconds, and their spread
        self._failed_starts = 0
        try:
            for index in range(drivers):
                self._drivers.append(Driver(self._context, job, index, timeout))
                self._selector.add(self._drivers[index])
            while not all(driver.ready for driver in self._drivers):
                self._handle_events()
        except BaseException:
            self.close()
            raise

    def submit(self, step: int, snapshot: Snapshot, kind: Kind, record: Record | None = None) -> None:
        started = time.monotonic()
        block = self._shared.write(snapshot.to_bytes())
        merger = self._merger(kind, snapshot.version, record)
        missing = merger.missing
        parts = len(missing) if record and record.slot_by_slot else self._parts_of(kind, len(missing))
        tasks = shares(kind, step, missing, parts)
        self._round = Round(kind, self._shared.edition, block, merger, tasks, started, record)
        self._deal(self._round)
        self._round.began(driver.task for driver in self._drivers if driver.task)

    def _parts_of(self, kind: Kind, slots: int) -> int:
        """Returns into how many tasks to deal the slots, by what the last round's have cost. Changes no result."""
        if kind not in self._slot_costs:
            return self.drivers
        return tasks_worth_dealing(slots, self.drivers, *self._slot_costs[kind])

    def result(self) -> RoundResult:
        current = self._round
        assert current is not None, "submit comes before result"
        while not current.complete:
            self._handle_events()
            self._deal(current)
        if (cost := current.slot_cost()) is not None:
            self._slot_costs[current.kind] = cost
        return current.result()

    def broadcast(self, snapshot: Snapshot) -> float:
        """Sends a snapshot alone; returns the seconds until every driver, idle before, holds a usable policy."""
        started = time.monotonic()
        block = self._shared.write(snapshot.to_bytes())
        for driver in self._drivers:
            driver.ready, driver.edition = False, self._shared.edition
            driver.connection.send_bytes(protocol.POLICY + block)
        while not all(driver.ready for driver in self._drivers):
            self._handle_events()
        return time.monotonic() - started

    def close(self) -> None:
        for driver in self._drivers:
            self._selector.remove(driver)
            driver.connection.close()
        deadline = time.monotonic() + CLOSE_SECONDS
        for driver in self._drivers:
            driver.end(max(0.0, deadline - time.monotonic()))
        self._drivers = []
        self._selector.close()
        self._shared.close()

    def _deal(self, current: Round) -> None:
        """Gives the next tasks to idle drivers."""
        for driver in list(self._drivers):
            if current.tasks and driver.idle:
                try:
                    driver.give(current.tasks.popleft(), current.block, current.edition)
                except OSError:
                    self._replace(driver, "died")

    def _handle_events(self) -> None:
        """Waits for the next message, death or deadline, and handles all that are due."""
        busy = [driver for driver in self._drivers if not driver.idle]
        deadline = min((driver.deadline for driver in busy), default=float("inf"))
        timeout = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        for driver in self._selector.ready(timeout):
            try:
                # A driver that died may have sent its trajectory, or its reason, before: read that first.
                if not driver.connection.poll():
                    raise EOFError
                self._take(driver, driver.receive())
            except (OSError, EOFError):
                self._replace(driver, "died")
        for driver in list(self._drivers):
            if not driver.idle and time.monotonic() > driver.deadline:
                self._replace(driver, f"took longer than --driver-timeout {self._timeout:g} s")

    def _take(self, driver: Driver, message: bytes) -> None:
        """Takes in the message of a driver."""
        if message[:1] == protocol.READY:
            driver.ready = True
            self._failed_starts = 0
            return
        task, driver.task = driver.task, None
        assert task is not None and self._round is not None, "a trajectory comes only in answer to a task"
        held_at, seconds, buffer = protocol.unpack_finished(message)
        trajectory = Trajectory.over(self.layout(task.kind), task.stop - task.start, buffer)
        self._round.add(task, trajectory, held_at, seconds)

    def _replace(self, driver: Driver, reason: str) -> None:
        """Puts a fresh process in the place of ``driver``; its task goes to the first idle driver."""
        task, where, times = driver.task, "as it started", 0
        if task:
            assert self._round is not None, "a task belongs to a round"
            times = self._round.retry(task)
            last = f" to {task.stop - 1}" if task.stop - task.start > 1 else ""
            where = f"in slot {task.start}{last} of step {task.step}"
        elif not driver.ready:
            self._failed_starts += 1
            times = self._failed_starts
        if times >= MAX_FAILURES:
            raise DriverError(f"driver {driver.index} {reason} {where}, and {times - 1} before it did")
        self._selector.remove(driver)
        driver.end(timeout=0)
        self.restarts += 1
        self._drivers[driver.index] = Driver(self._context, self.job, driver.index, self._timeout)
        self._selector.add(self._drivers[driver.index])
