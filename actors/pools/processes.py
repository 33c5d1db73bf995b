"""Drivers as processes, over pipes.

      submit: snapshot ---> shared memory, read by all drivers
              slots    ---> queue of tasks
                                |   an idle driver takes the next one
                     task       v
      learner  ======================>  driver 0 .. N-1   (forkserver children: NumPy shared, no torch)
               <======================
                      facts
      result: waits on pipes *and* process sentinels; a driver that died or is past its time is replaced, and its
      task goes back to the head of the queue in two halves, which narrows down a slot that kills its driver.

A driver is written to only while it is reading (it has no task then), and the learner reads whatever driver has
something to say, so neither side ever blocks the other, however large snapshot and facts are. A driver that stops
in the middle of a message is found by the sockets' own time-outs.
"""

import dataclasses
import statistics
import time
from collections import Counter, deque

from actors.pools import driver_process as protocol
from actors.pools.base import DriverError, Pool, Round
from actors.pools.driver import Board, Driver, Watch, driver_context
from actors.rollout import Collector, Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Trajectory

MAX_FAILURES = 5
"""So often a slot may lose its driver, or a start fail in a row, before the run gives up."""
WORTH_A_TASK_SECONDS = 1e-2  # uneven work that takes so long is worth a task of its own
EVEN = 0.1  # standard deviation of the cost of a slot over its mean, below which shares are as good
TASK_SECONDS = 5e-4  # what a task costs: two messages, and waking a process twice
STARTS = -1  # counted beside the slots
CLOSE_SECONDS = 2.0
"""So long all drivers together may take to end by themselves."""


class ProcessPool(Pool):
    """``drivers`` processes, started side by side.

    Args:
        job: what they run.
        drivers: how many.
        timeout: seconds that a task, or a start, may take before the driver is replaced; 0 for no limit.
    """

    def __init__(self, job: Job, drivers: int, timeout: float):
        super().__init__(job, drivers)
        self._timeout = timeout
        checker = Collector(job)  # a user's mistake shows here, before any process starts
        self._layouts = {kind: checker.layout(kind) for kind in Kind}
        self._context = driver_context(checker.sampler.preload if checker.sampler else ())
        checker.close()
        self._tasks: deque[Task] = deque()
        self._failures: Counter[int] = Counter()
        self._shares: list[int] = []
        self._drivers: list[Driver] = []
        self._board, self._watch = Board(), Watch()
        self._costs: dict[Kind, tuple[float, float]] = {}  # of a slot: mean and spread of its seconds, last time
        self._seconds: list[float] = []
        try:
            for index in range(drivers):
                self._drivers.append(Driver(self._context, job, index, timeout))
                self._watch.add(self._drivers[index])
            while not all(driver.ready for driver in self._drivers):
                self._handle_events()
        except BaseException:
            self.close()
            raise

    def layout(self, kind: Kind) -> Layout:
        return self._layouts[kind]

    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        self._started = self._held = time.monotonic()
        self._block_told, self._version = self._board.write(snapshot.to_bytes()), snapshot.version
        self._kind, self._merging = kind, self._merger(kind, snapshot.version)
        self._tasks.extend(self.shares(step, kind, self._parts_of(kind)))
        self._failures.clear()
        self._shares, self._seconds = [], []
        self._deal()
        self._first = {driver.task for driver in self._drivers}

    def _parts_of(self, kind: Kind) -> int:
        """Into how many tasks to deal the slots, by what slots have cost so far. Changes no result.

        Quick ones are dealt in shares, to as many drivers as their messages are worth: with m seconds a task and c a
        slot, m k + E c / k is least at k = sqrt(E c / m), and every driver more would make the step slower. Slow ones
        of uneven cost are dealt one at a time, or few, to whoever is free, so that nobody waits for the unlucky one.
        """
        slots = self.job.slots(kind)
        if kind not in self._costs:
            return self.drivers
        cost, spread = self._costs[kind]
        shares = max(1, min(self.drivers, round((slots * cost / TASK_SECONDS) ** 0.5)))
        if self.drivers == 1 or spread < EVEN:
            return shares
        return max(shares, min(slots, round(slots * cost / WORTH_A_TASK_SECONDS)))

    def result(self) -> Round:
        while not self._merging.complete:
            self._handle_events()
            self._deal()
        self._costs[self._kind] = statistics.mean(self._seconds), _spread(self._seconds)
        return Round(self._merging.result(), self._shares, self._held - self._started, time.monotonic() - self._held)

    def broadcast(self, snapshot: Snapshot) -> float:
        """Sends a snapshot alone; seconds until every driver, idle before, holds a usable policy."""
        started = time.monotonic()
        block = self._board.write(snapshot.to_bytes())
        for driver in self._drivers:
            driver.ready, driver.version = False, snapshot.version
            driver.connection.send_bytes(protocol.POLICY + block)
        while not all(driver.ready for driver in self._drivers):
            self._handle_events()
        return time.monotonic() - started

    def close(self) -> None:
        for driver in self._drivers:
            self._watch.remove(driver)
            driver.connection.close()
        deadline = time.monotonic() + CLOSE_SECONDS
        for driver in self._drivers:
            driver.end(max(0.0, deadline - time.monotonic()))
        self._drivers = []
        self._watch.close()
        self._board.close()

    def _deal(self) -> None:
        """Gives the next tasks to idle drivers."""
        for driver in list(self._drivers):
            if self._tasks and driver.idle:
                try:
                    driver.give(self._tasks.popleft(), self._block_told, self._version)
                except OSError:
                    self._replace(driver, "died")

    def _handle_events(self) -> None:
        """Waits for the next message, death or deadline, and deals with all that are due."""
        busy = [driver for driver in self._drivers if not driver.idle]
        deadline = min((driver.deadline for driver in busy), default=float("inf"))
        patience = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        due = self._watch.ready(patience)
        for driver in due:
            try:
                # A driver that died may have sent its facts, or its reason, before: read that first.
                if not driver.connection.poll():
                    raise EOFError
                self._take(driver, driver.receive())
            except (OSError, EOFError):
                self._replace(driver, "died")
        for driver in list(self._drivers):
            if not driver.idle and time.monotonic() > driver.deadline:
                self._replace(driver, f"took longer than --driver-timeout {self._timeout:g} s")

    def _take(self, driver: Driver, message: bytes) -> None:
        if message[:1] == protocol.READY:
            driver.ready = True
            self._failures[STARTS] = 0
            return
        task, driver.task = driver.task, None
        assert task is not None, "facts come only in answer to a task"
        _, held_at, seconds = protocol.FACTS_STRUCT.unpack_from(message)
        share = task.stop - task.start
        self._shares.append(share)
        self._seconds.append(seconds / share)
        facts = memoryview(message)[protocol.FACTS_STRUCT.size :]
        self._merging.add(Trajectory.over(self._layouts[task.kind], share, facts))
        if task in self._first:  # one that was dealt later waited for its driver, which is no broadcast
            self._held = max(self._held, held_at)

    def _replace(self, driver: Driver, reason: str) -> None:
        """Puts a fresh process in the place of ``driver``; its task is redone by whoever is free first."""
        task = driver.task
        if task:
            self._failures.update(range(task.start, task.stop))
            middle = (task.start + task.stop) // 2
            halves = (dataclasses.replace(task, stop=middle), dataclasses.replace(task, start=middle))
            self._tasks.extendleft(half for half in halves if half.start < half.stop)
        elif not driver.ready:
            self._failures[STARTS] += 1
        times = max(self._failures.values(), default=0)
        if times >= MAX_FAILURES:
            what = "as it started"
            if task:
                last = f" to {task.stop - 1}" if task.stop - task.start > 1 else ""
                what = f"in slot {task.start}{last} of step {task.step}"
            raise DriverError(f"driver {driver.index} {reason} {what}, and {times - 1} before it did")
        self._watch.remove(driver)
        driver.end(patience=0)
        self.restarts += 1
        self._drivers[driver.index] = Driver(self._context, self.job, driver.index, self._timeout)
        self._watch.add(self._drivers[driver.index])


def _spread(values: list[float]) -> float:
    """Standard deviation over mean."""
    return statistics.pstdev(values) / statistics.mean(values)
