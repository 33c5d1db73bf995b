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

import contextlib
import dataclasses
import multiprocessing
import os
import socket
import struct
import sys
import time
import types
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.shared_memory import SharedMemory

from actors import driver as protocol
from actors.pool import DriverError, Pool, Round
from actors.rollout import Collector, Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Trajectory

MAX_FAILURES = 5
"""So often a slot may lose its driver, or a start fail in a row, before the run gives up."""
ONE_AT_A_TIME_SECONDS = 2e-3  # a slot that takes longer is worth a task of its own
TASK_SECONDS = 5e-4  # what a task costs: two messages, and waking a process twice
STARTS = -1  # counted beside the slots
CLOSE_SECONDS = 2.0
"""So long all drivers together may take to end by themselves."""
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class RemoteError(Exception):
    """The traceback of an exception in a driver, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Driver:
    """The learner's end of one driver process."""

    def __init__(self, context: multiprocessing.context.BaseContext, job: Job, index: int, timeout: float):
        self.index = index
        self.timeout = timeout
        self.task: Task | None = None
        self.version = -1
        self.ready = False
        self.connection, theirs = context.Pipe()
        self.process = context.Process(  # type: ignore[attr-defined]
            target=protocol.main, args=(theirs, job, index), name=f"driver-{index}", daemon=True
        )
        with _clean_start():
            self.process.start()
        theirs.close()
        _set_timeouts(self.connection, timeout)
        self._restart_clock()

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None

    def _restart_clock(self) -> None:
        self.deadline = time.monotonic() + self.timeout if self.timeout else float("inf")

    def give(self, task: Task, announcement: bytes, version: int) -> None:
        """Sends a task, and before it where the snapshot lies, if the driver does not hold it yet."""
        self.task = task
        self._restart_clock()
        if self.version != version:
            self.connection.send_bytes(announcement)
            self.version = version
        self.connection.send_bytes(protocol.pack_task(task))

    def receive(self) -> bytes:
        """Reads one message: facts or the sign that it is ready.

        Raises:
            DriverError: the driver says that it failed.
            OSError, EOFError: it is gone, or stopped in the middle of a message.
        """
        message = self.connection.recv_bytes()
        if message[:1] == protocol.ERROR:
            text = message[1:].decode()
            raise DriverError(f"driver {self.index} failed: {text.strip().splitlines()[-1]}") from RemoteError(text)
        return message

    def end(self, patience: float) -> None:
        """Ends the process: kindly, by closing its pipe, so that it can close its environments; by force if it must."""
        self.connection.close()
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        self.process.close()


class Board:
    """A block of shared memory with the current snapshot: written once, however many drivers read it."""

    def __init__(self) -> None:
        self._block: SharedMemory | None = None

    def write(self, snapshot: bytes) -> bytes:
        """Puts a snapshot up, and returns the message that tells a driver of it."""
        if self._block is None or self._block.size < len(snapshot):
            self.close()
            self._block = SharedMemory(create=True, size=len(snapshot))
        assert self._block.buf is not None, "it is open"
        self._block.buf[: len(snapshot)] = snapshot
        return protocol.SNAPSHOT_STRUCT.pack(protocol.SNAPSHOT, len(snapshot)) + self._block.name.encode()

    def close(self) -> None:
        """Frees the block."""
        if self._block is not None:
            self._block.close()
            self._block.unlink()
            self._block = None


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
        self._context = _context(checker.sampler.preload if checker.sampler else ())
        checker.close()
        self._tasks: deque[Task] = deque()
        self._failures: Counter[int] = Counter()
        self._parts: list[Trajectory] = []
        self._drivers: list[Driver] = []
        self._board = Board()
        self._slot_seconds: dict[Kind, float] = {}
        try:
            for index in range(drivers):
                self._drivers.append(Driver(self._context, job, index, timeout))
            while not all(driver.ready for driver in self._drivers):
                self._handle_events()
        except BaseException:
            self.close()
            raise

    def layout(self, kind: Kind) -> Layout:
        return self._layouts[kind]

    def submit(self, step: int, snapshot: Snapshot, kind: Kind) -> None:
        self._started = self._held = time.monotonic()
        self._announcement, self._version = self._board.write(snapshot.to_bytes()), snapshot.version
        self._kind, self._slots = kind, self.job.slots(kind)
        self._tasks.extend(self.shares(step, kind, self._parts_of(kind)))
        self._failures.clear()
        self._parts, self._seconds = [], 0.0
        self._deal()
        self._first = {driver.task for driver in self._drivers}

    def _parts_of(self, kind: Kind) -> int:
        """Into how many tasks to deal the slots, by what slots have cost so far. Changes no result.

        Slow slots are dealt one at a time to whoever is free, so that nobody waits for the unlucky one. Quick ones
        are dealt in shares, to as many drivers as their messages are worth: with m seconds a task and c a slot, the
        time m k + E c / k is least at k = sqrt(E c / m), and every driver more would make the step slower.
        """
        cost = self._slot_seconds.get(kind)
        if cost is None:
            return self.drivers
        if cost > ONE_AT_A_TIME_SECONDS:
            return self.job.slots(kind)
        return max(1, min(self.drivers, round((self.job.slots(kind) * cost / TASK_SECONDS) ** 0.5)))

    def result(self) -> Round:
        while sum(map(len, self._parts)) < self._slots:
            self._handle_events()
            self._deal()
        cost = self._seconds / self._slots
        self._slot_seconds[self._kind] = 0.5 * (self._slot_seconds.get(self._kind, cost) + cost)
        return Round(self._parts, self._held - self._started, time.monotonic() - self._held)

    def ping(self) -> float:
        """Seconds that a message to an idle driver and its answer take."""
        started, driver = time.monotonic(), self._drivers[0]
        driver.ready = False
        driver.connection.send_bytes(protocol.PING)
        while not self._drivers[0].ready:
            self._handle_events()
        return time.monotonic() - started

    def close(self) -> None:
        for driver in self._drivers:
            driver.connection.close()
        deadline = time.monotonic() + CLOSE_SECONDS
        for driver in self._drivers:
            driver.end(max(0.0, deadline - time.monotonic()))
        self._drivers = []
        self._board.close()

    def _deal(self) -> None:
        """Gives the next tasks to idle drivers."""
        for driver in list(self._drivers):
            if self._tasks and driver.idle:
                try:
                    driver.give(self._tasks.popleft(), self._announcement, self._version)
                except OSError:
                    self._replace(driver, "died")

    def _handle_events(self) -> None:
        """Waits for the next message, death or deadline, and deals with all that are due."""
        busy = [driver for driver in self._drivers if not driver.idle]
        deadline = min((driver.deadline for driver in busy), default=float("inf"))
        patience = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        watched = {d.connection: d for d in self._drivers} | {d.process.sentinel: d for d in self._drivers}
        due = {id(watched[ready]): watched[ready] for ready in wait(list(watched), patience)}
        for driver in due.values():
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
        self._seconds += seconds
        facts = memoryview(message)[protocol.FACTS_STRUCT.size :]
        self._parts.append(Trajectory.over(self._layouts[task.kind], task.stop - task.start, facts))
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
        driver.end(patience=0)
        self.restarts += 1
        self._drivers[driver.index] = Driver(self._context, self.job, driver.index, self._timeout)


def _context(preload: Iterable[str]) -> multiprocessing.context.BaseContext:
    """Forkserver where there is one, with what a driver imports preloaded and shared by all; else spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["actors.driver", *preload])
    return context


@contextlib.contextmanager
def _clean_start() -> Iterator[None]:
    """Starts a child that does not re-run this program's main module, and whose BLAS has one thread.

    Both start methods import the parent's main module in the child. It may be the training program or a user's
    script, and torch with it, which no driver needs: 200 MB and a second each.
    """
    main, environment = sys.modules["__main__"], {name: os.environ.get(name) for name in THREAD_LIMITS}
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _set_timeouts(connection: Connection, seconds: float) -> None:
    """Lets reads and writes fail, where pipes are sockets, when the other side stops in the middle of a message."""
    if not seconds or sys.platform == "win32":
        return
    with socket.socket(fileno=os.dup(connection.fileno())) as pipe:
        whole = int(seconds)
        value = struct.pack("ll", whole, int((seconds - whole) * 1e6))
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)
