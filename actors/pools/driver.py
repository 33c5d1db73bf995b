"""The learner's side of its driver processes: starting one, exchanging messages with it, waiting for any of them."""

import contextlib
import multiprocessing
import os
import selectors
import signal
import socket
import struct
import sys
import time
import types
from collections.abc import Iterable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from actors.job import Job, Task
from actors.pools import driver_process, protocol
from actors.pools.base import DriverError

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class RemoteError(Exception):
    """The traceback of an exception in a driver, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Driver:
    """The learner's end of one driver process.

    Args:
        context: how to start processes.
        job: what the driver runs.
        index: number of the driver.
        timeout: seconds that a task, or the start, may take; 0 for no limit.

    Attributes:
        task: what it is running, or None.
        edition: edition of the shared snapshot that it holds; 0 for none.
        ready: whether it has started.
        deadline: when it is to have answered, by ``time.monotonic``.
    """

    def __init__(self, context: multiprocessing.context.BaseContext, job: Job, index: int, timeout: float):
        self.index = index
        self.timeout = timeout
        self.task: Task | None = None
        self.edition = 0
        self.ready = False
        self.connection, theirs = context.Pipe()
        self.process = context.Process(  # type: ignore[attr-defined]
            target=driver_process.main, args=(theirs, job, index), name=f"driver-{index}", daemon=True
        )
        with _clean_start():
            self.process.start()
        theirs.close()
        _set_timeouts(self.connection, timeout)
        self._restart_clock()

    @property
    def idle(self) -> bool:
        """Whether it waits for a task."""
        return self.ready and self.task is None

    def _restart_clock(self) -> None:
        self.deadline = time.monotonic() + self.timeout if self.timeout else float("inf")

    def give(self, task: Task, block: bytes, edition: int) -> None:
        """Sends a task, and with it where the snapshot lies, if the driver does not hold it yet."""
        self.task = task
        self._restart_clock()
        self.connection.send_bytes(protocol.pack_task(task, block if self.edition != edition else b""))
        self.edition = edition

    def receive(self) -> bytes:
        """Reads one message: a trajectory, or the sign that it is ready.

        Raises:
            DriverError: the driver says that it failed.
            OSError, EOFError: it is gone, or stopped in the middle of a message.
        """
        message = self.connection.recv_bytes()
        if message[:1] == protocol.ERROR:
            text = message[1:].decode()
            raise DriverError(f"driver {self.index} failed: {text.strip().splitlines()[-1]}") from RemoteError(text)
        return message

    def end(self, timeout: float) -> None:
        """Closes the pipe, so that the process closes its environments and ends, and kills it after ``timeout`` s."""
        self.connection.close()
        self.process.join(timeout)
        self.process.kill()
        self.process.join()
        self.process.close()


class DriverSelector:
    """Waits until a driver has sent a message or has died: their pipes and sentinels, registered once.

    (``multiprocessing.connection.wait`` registers them anew in every call, which takes as long as a quick task.)
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector() if sys.platform != "win32" else None
        self._drivers: dict[Any, Driver] = {}

    def add(self, driver: Driver) -> None:
        """Registers a driver."""
        for source in (driver.connection, driver.process.sentinel):
            self._drivers[source] = driver
            if self._selector:
                self._selector.register(source, selectors.EVENT_READ, driver)

    def remove(self, driver: Driver) -> None:
        """Removes a driver."""
        for source in (driver.connection, driver.process.sentinel):
            if self._drivers.pop(source, None) and self._selector:
                self._selector.unregister(source)

    def ready(self, timeout: float | None) -> list[Driver]:
        """Waits for at most ``timeout`` seconds, None for no limit; returns the drivers that are due, once each."""
        if self._selector:
            found = [key.data for key, _ in self._selector.select(timeout)]
        else:
            found = [self._drivers[source] for source in wait(list(self._drivers), timeout)]
        return list({driver.index: driver for driver in found}.values())

    def close(self) -> None:
        """Closes the selector."""
        if self._selector:
            self._selector.close()


def driver_context(preload: Iterable[str]) -> multiprocessing.context.BaseContext:
    """Returns the start method: forkserver where there is one, with a driver's imports preloaded; else spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([driver_process.__name__, *preload])
    return context


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Starts children whose BLAS has one thread."""
    environment = {name: os.environ.get(name) for name in THREAD_LIMITS}
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        for name, value in environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _clean_start() -> Iterator[None]:
    """Starts a child that does not re-run this program's main module, and whose BLAS has one thread.

    Both start methods import the parent's main module in the child. It may be the training program or a user's
    script, and torch with it, which no driver needs: 200 MB and a second each.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        with one_thread_each(), without_ctrl_c():
            yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Starts children that never see Ctrl-C: a terminal sends it to all, and it would end them while they load."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it is started within, which lifts the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _set_timeouts(connection: Connection, seconds: float) -> None:
    """Lets reads and writes fail, where pipes are sockets, when the other side stops in the middle of a message."""
    if not seconds or sys.platform == "win32":
        return
    with socket.socket(fileno=os.dup(connection.fileno())) as pipe:
        whole = int(seconds)
        value = struct.pack("ll", whole, int((seconds - whole) * 1e6))
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)
