"""The learner's side of its driver processes: starting one, exchanging messages with it, waiting for any of them."""

import contextlib
import multiprocessing
import os
import selectors
import signal
import socket
import struct
import sys
import threading
import time
import types
from collections.abc import Iterable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from actors.job import Job
from actors.pools import driver_process, protocol
from actors.pools.environment import changed, one_thread, packages_first
from actors.pools.keeper import ENDS_SESSIONS, Keeper, end_session

PRELOADED = "actors.pools.preloaded"  # by its name, since to load it is to run it
END_SECONDS = 0.5
"""How long a driver may take to end once it has closed its environments; one with threads of its own may never."""


class ProcessHandle:
    """The learner's end of one driver process.

    Args:
        context: how to start processes.
        job: what the driver runs.
        index: number of the driver.
        timeout: seconds after which the rest of a message that has begun is given up; 0 for no limit.
        selector: waits for it.
        keeper: ends it if the learner is gone; None where there is none.
    """

    clock_ahead = 0.0

    def __init__(
        self,
        context: multiprocessing.context.BaseContext,
        job: Job,
        index: int,
        timeout: float,
        selector: "HandleSelector",
        keeper: Keeper | None,
    ):
        self._selector, self._keeper = selector, keeper
        self.connection, theirs = context.Pipe()
        # Not a daemon, which could not have children; the fleet ends it when the program ends.
        self.process = context.Process(  # type: ignore[attr-defined]
            target=driver_process.main, args=(theirs, job, index), name=f"driver-{index}", daemon=False
        )
        try:
            with clean_start():
                self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self.pid: int = self.process.pid
        if keeper:
            keeper.started(self.pid)
        _set_timeouts(self.connection, timeout)
        selector.add(self)
        with contextlib.suppress(OSError):  # it is gone already, which its sentinel tells
            self.send(protocol.START)  # only now, so that it starts nothing that the keeper would not know of

    def send(self, message: bytes) -> None:
        self.connection.send_bytes(message)

    def receive(self) -> bytes | None:
        """Reads the message that is due; None where the driver is gone, or stopped in the middle of it."""
        try:
            # A driver that died may have sent its trajectory, or its reason, before: read that first.
            return self.connection.recv_bytes() if self.connection.poll() else None
        except (OSError, EOFError):
            return None

    def ask_to_close(self) -> None:
        """Asks the driver to close its environments once its task is done."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(protocol.CLOSE)

    def end(self, patience: float = 0.0) -> None:
        """Ends the process and all that it has started; before, it has so many seconds to close its environments."""
        deadline = time.monotonic() + patience
        self._selector.remove(self)
        with contextlib.suppress(OSError, EOFError):
            while patience and self.connection.poll(max(0.0, deadline - time.monotonic())):  # a last message, the end
                self.connection.recv_bytes()
        self.connection.close()
        if patience:
            self.process.join(max(0.0, min(END_SECONDS, deadline - time.monotonic())))
        end_session(self.pid) if ENDS_SESSIONS else self.process.kill()
        self.process.join()
        self.process.close()
        if self._keeper:
            self._keeper.ended(self.pid)


class HandleSelector:
    """Waits until a driver has sent a message or has died: their pipes and sentinels, registered once.

    (``multiprocessing.connection.wait`` registers them anew in every call, which takes as long as a quick task.)
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector() if sys.platform != "win32" else None
        self._handles: dict[Any, ProcessHandle] = {}

    def add(self, handle: ProcessHandle) -> None:
        """Registers a driver."""
        for source in (handle.connection, handle.process.sentinel):
            self._handles[source] = handle
            if self._selector:
                self._selector.register(source, selectors.EVENT_READ, handle)

    def remove(self, handle: ProcessHandle) -> None:
        """Removes a driver."""
        for source in [source for source, one in self._handles.items() if one is handle]:
            del self._handles[source]
            if self._selector:
                self._selector.unregister(source)

    def ready(self, timeout: float | None) -> list[ProcessHandle]:
        """Waits for at most ``timeout`` seconds, None for no limit; returns the drivers that are due, once each."""
        if self._selector:
            found = [key.data for key, _ in self._selector.select(timeout)]
        else:
            found = [self._handles[source] for source in wait(list(self._handles), timeout)]
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """Closes the selector."""
        if self._selector:
            self._selector.close()


def driver_context(preload: Iterable[str]) -> multiprocessing.context.BaseContext:
    """Returns the start method: forkserver where there is one, with a driver's imports preloaded; else spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([driver_process.__name__, *preload, PRELOADED])
    return context


_starting = threading.RLock()  # what is changed for the time of a start belongs to all threads


@contextlib.contextmanager
def clean_start() -> Iterator[None]:
    """Starts a child that does not re-run this program's main module, and whose BLAS has one thread.

    Both start methods import the parent's main module in the child. It may be the training program or a user's
    script, and torch with it, which no driver needs: 200 MB and a second each.
    """
    with _starting, one_thread(), changed(packages_first()), without_ctrl_c():
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
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
