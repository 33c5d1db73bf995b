"""Slots are dealt to drivers as tasks; a driver that is lost is replaced, and its task dealt again.

      submit: slots ---> queue of tasks
                             |   an idle driver takes the next one
                      task   v
      learner  ===================>  driver 0 .. N-1
               <===================
                    trajectory
      result: waits for messages, losses and deadlines; a driver that died or is past its time is replaced, and its
      task goes back to the head of the queue, in two halves.

Slots are pure, so running one twice is harmless: the first copy of a slot counts, whoever sends it and whenever. Each
task carries the number of its round, which the answer repeats, so that an answer from before is told apart.
"""

import threading
import weakref
from typing import Any

from actors.job import Job, Kind, Task
from actors.pools import protocol
from actors.pools.base import WATCH_SECONDS, DriverError, Pool, Record, RoundResult, StoppedError, shares_by_run
from actors.pools.fleet import BEGIN_SECONDS, Event, Fleet, Handle
from actors.pools.roster import Driver, Roster
from actors.pools.round import Round, tasks_worth_dealing
from actors.snapshots import AnySnapshot
from actors.trajectory import MergeError, Trajectory
from env.errors import UsageError

MAX_FAILURES = 5
"""How often a slot may lose its driver, or a start may fail in a row, before the run gives up, or the slot has failed
where the job keeps failures."""


class RemoteError(Exception):
    """The traceback of an exception in a driver, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class DealingPool(Pool):
    """A pool of drivers that are reached by messages.

    Args:
        job: what they run.
        fleet: where they come from.
        drivers: how many to start; those that there is no room for yet are started once there is.
        timeout: seconds that a task, or a start, may take before the driver is replaced, and that may pass without any
            driver; 0 for no limit.
    """

    beside = True

    def __init__(self, job: Job, fleet: Fleet[Any], drivers: int, timeout: float):
        super().__init__(job, drivers)
        self._fleet, self._timeout = fleet, timeout
        self._roster = Roster(drivers)
        self._replaced: weakref.WeakSet[Handle] = weakref.WeakSet()
        self._round: Round | None = None
        self._snapshot: AnySnapshot | None = None
        self._rounds = 0
        self._slot_costs: dict[Kind, tuple[float, float]] = {}  # of the last round: mean seconds, and their spread
        self._failed_starts, self._closed = 0, False
        self._alone_until = self._deadline(BEGIN_SECONDS if fleet.far else 0.0)
        try:
            self._fill()
            while not self._roster.all_ready:
                self._handle_events()
        except BaseException:
            self.close()
            raise

    @property
    def cores(self) -> int:
        """Number of processor cores that the drivers have."""
        return self._fleet.cores

    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        started = self._fleet.now()
        block, edition = self._fleet.share(snapshot.to_bytes())
        merger = self._merger(kind, snapshot.version, record)
        missing = merger.missing
        tasks = shares_by_run(self.job, kind, step, missing, self._parts_of(kind, len(missing), record))
        self._rounds, self._snapshot = self._rounds + 1, snapshot
        self._round = Round(self._rounds, kind, edition, block, merger, tasks, started, record)
        self._round.began(self._deal(self._round))

    def _parts_of(self, kind: Kind, slots: int, record: Record | None) -> int:
        """Returns into how many tasks to deal the slots, by what the last round's have cost. Changes no result."""
        waits = self.job.description.waits  # then a driver runs all its slots at once, and sends each as it ends
        if record and record.slot_by_slot and not waits:
            return slots
        if waits or kind not in self._slot_costs:
            return self.drivers
        return tasks_worth_dealing(slots, self.drivers, *self._slot_costs[kind])

    def result(self) -> RoundResult:
        current = self._round
        assert current is not None, "submit comes before result"
        while not current.complete:
            if self.stopped:
                raise StoppedError
            self._deal(current)
            self._handle_events()
        self._fleet.rest()
        if (cost := current.slot_cost()) is not None:
            self._slot_costs[current.kind] = cost
        return current.result(self._fleet.now())

    def broadcast(self, snapshot: AnySnapshot) -> float:
        """Sends a snapshot alone; returns the seconds until every driver, idle before, holds a usable policy."""
        started = self._fleet.now()
        block, edition = self._fleet.share(snapshot.to_bytes())
        for driver in self._roster.idle:
            driver.ready, driver.edition = False, edition
            self._roster.busy(driver, self._deadline())
            driver.handle.send(protocol.POLICY + block)
        while not self._roster.all_ready:
            self._handle_events()
        return self._fleet.now() - started

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            drivers = self._roster.drivers
            self._fleet.close([(driver.handle, driver.task is not None) for driver in drivers])
            for driver in drivers:
                self._roster.remove(driver)

    @property
    def held(self) -> int:
        """See ``Pool``; drivers that are far hold the next task as well."""
        return self.job.most_slots if self.job.description.waits else self.drivers * (1 + self._fleet.far)

    def _deadline(self, least: float = 0.0) -> float:
        """Returns when the time-out will have passed, or ``least`` seconds if those are more."""
        return self._fleet.now() + max(self._timeout, least) if self._timeout else float("inf")

    def _fill(self) -> None:
        """Starts drivers in all vacant places that there is room for."""
        for _ in range(len(self._roster.vacant)):
            if (handle := self._fleet.start(self._roster.vacant[0])) is None:
                return
            self._roster.add(Driver(self._roster.vacant.popleft(), handle), self._deadline())

    def _deal(self, current: Round) -> list[Task]:
        """Gives the next tasks to idle drivers, and returns them.

        Drivers that are far get one more to run after that, so that none waits for messages that are under way. The
        last ones, as many as there are drivers, are kept for who is free first.
        """
        dealt = []
        for driver in self._roster.idle if current.tasks else ():
            if (task := current.next_task()) is None:
                break
            self._roster.runs(driver, task, current.number, self._deadline())
            if self._send(driver, task, current):
                dealt.append(task)
        while self._fleet.far and len(current.tasks) > len(self._roster):
            busy = self._roster.without_next(current.number)
            if busy is None or (task := current.next_task()) is None:
                break
            self._roster.runs_next(busy, task)
            self._send(busy, task, current)
        return dealt

    def _send(self, driver: Driver, task: Task, current: Round) -> bool:
        """Sends a driver a task that it has; returns whether the driver is there."""
        block = current.block if driver.edition != current.edition else b""
        try:
            driver.handle.send(protocol.pack_task(task, current.number, current.edition, block))
        except OSError:
            self._replace(driver, "died")
            return False
        driver.edition = current.edition
        return True

    def _handle_events(self) -> None:
        """Waits for the next message, loss, deadline or room for a driver, and handles all that are due.

        Raises:
            DriverError: there has been no driver for too long.
        """
        deadline = self._roster.deadline if len(self._roster) else self._alone_until
        timeout = None if deadline == float("inf") else max(0.0, deadline - self._fleet.now())
        if threading.current_thread() is not threading.main_thread():  # which alone a signal would wake
            timeout = WATCH_SECONDS if timeout is None else min(timeout, WATCH_SECONDS)
        for event in self._fleet.wait(timeout):
            self._handle(event)
        while (late := self._roster.overdue(self._fleet.now())) is not None:
            self._replace(late, f"took longer than --driver-timeout {self._timeout:g} s")
        self._fill()
        if not len(self._roster) and self._fleet.now() >= self._alone_until:
            raise DriverError(f"there has been no driver for longer than --driver-timeout {self._timeout:g} s")

    def _handle(self, event: Event) -> None:
        """Handles what came from one driver."""
        driver = self._roster.of(event.handle)
        if event.message is None:
            if driver is not None:
                self._replace(driver, "died", left=event.left)
            return
        try:
            if driver is not None:
                self._take(driver, event.message)
            elif event.handle in self._replaced:  # since it took too long
                self._take_late(event)
        except (protocol.MessageError, MergeError) as error:
            if driver is not None:
                self._replace(driver, f"sent a damaged message ({error})")

    def _take(self, driver: Driver, message: bytes) -> None:
        """Takes in the message of a driver.

        Raises:
            DriverError: it says that it failed.
            MessageError, MergeError: the message is damaged.
        """
        if message[:1] == protocol.READY:
            if driver.task is None:  # else it came twice
                self._roster.rests(driver)
            self._failed_starts = 0
        elif message[:1] == protocol.NOTE:
            self.failure = self.failure or message[1:].decode(errors="replace")
        elif message[:1] == protocol.ERROR:
            slot, text = protocol.unpack_error(message)
            last = (text.strip().splitlines() or ["no reason"])[-1]
            failed = driver.task.alone(slot) if driver.task else None
            mistake = UsageError.message_in(last)
            raise DriverError(f"driver {driver.index} failed: {last}", failed, mistake) from RemoteError(text)
        else:
            answer = protocol.unpack_finished(message)
            self._accept(answer, driver.handle)
            if (answer.task, answer.round) == (driver.task, driver.round):
                if answer.last:
                    self._roster.done(driver, self._deadline())
                else:  # it has as long again for the next part
                    self._roster.busy(driver, self._deadline())

    def _take_late(self, event: Event) -> None:
        """Takes in what a driver sends that has been replaced; an error is that of a task that others have by now."""
        if event.message and event.message[:1] == protocol.FINISHED:
            self._accept(protocol.unpack_finished(event.message), event.handle)

    def _accept(self, answer: protocol.Answer, handle: Handle) -> None:
        """Takes in the slots of an answer that are still missing."""
        current = self._round
        if current is None or answer.round != current.number:
            return
        task = answer.task
        trajectory = Trajectory.over(self.layout(task.kind), answer.slots, answer.trajectory)
        current.add(task, trajectory, answer.held_at - handle.clock_ahead, answer.seconds)
        if answer.last and len(missing := current.missing(task)):
            raise MergeError(f"slots {missing.tolist()} are missing in answer to slots {task.start} to {task.stop - 1}")

    def _replace(self, driver: Driver, reason: str, left: bool = False) -> None:
        """Puts a fresh one in the place of ``driver``; its task goes to the first idle driver.

        Raises:
            DriverError: this has happened too often, or none can be started.
        """
        task, where, times = driver.task, "as it started", 0
        if task:
            assert self._round is not None, "a task belongs to a round"
            if driver.round == self._round.number:  # of an earlier round, others have sent the slots
                if driver.ahead:
                    self._round.retry(driver.ahead, counted=False)
                task = self._round.rest_of(task)
                times = self._round.retry(task, counted=not left)
            last = f" to {task.stop - 1}" if task.stop - task.start > 1 else ""
            where = f"in slot {task.start}{last} of step {task.step}"
            if times >= MAX_FAILURES and self.job.keep_failures:
                if not left:
                    self._give_up(task, f"driver {driver.index} {reason} {where}, and {times - 1} before it did")
                times = 0
        elif not driver.ready and not left:
            self._failed_starts += 1
            times = self._failed_starts
        self._roster.remove(driver)
        self._alone_until = self._deadline()
        self._replaced.add(driver.handle)
        driver.handle.end()
        if times >= MAX_FAILURES:
            failed = task.alone() if task else None
            raise DriverError(f"driver {driver.index} {reason} {where}, and {times - 1} before it did", failed)
        if not left:
            self.restarts += 1
        try:
            self._fill()
        except Exception as error:
            raise DriverError(f"driver {driver.index} {reason} {where}, and cannot be replaced: {error}") from error

    def _give_up(self, task: Task, why: str) -> None:
        """Completes a slot that has lost too many drivers as one that failed; more of them are narrowed down."""
        if task.stop - task.start == 1:
            assert self._round is not None and self._snapshot is not None, "a task belongs to a round"
            self.failure = self.failure or why
            self._round.add(task, self._failed_slots.trajectory(task, self._snapshot), 0.0, 0.0)
