"""A small process that outlives the learner by a moment, to end drivers that it leaves behind.

A driver that is in the middle of an evaluation, or whose environment has started other processes, does not notice that
the learner is gone. The keeper does: it waits for the end of its pipe to the learner, and of the learner itself, and
ends the sessions of all drivers that the learner has not said to have ended.
"""

import contextlib
import ctypes
import multiprocessing
import os
import selectors
import signal
import struct
import sys
from multiprocessing.connection import Connection

ENDS_SESSIONS = hasattr(os, "killpg")
"""Whether this system can end a process with all that it has started."""
PR_SET_PDEATHSIG = 1
_NOTE = struct.Struct("<cq")
_STARTED, _ENDED = b"+", b"-"


class Keeper:
    """The learner's end of a keeper.

    Args:
        context: how to start processes.
    """

    def __init__(self, context: multiprocessing.context.BaseContext):
        self._connection, theirs = context.Pipe()
        self._process = context.Process(  # type: ignore[attr-defined]
            target=keep, args=(theirs, os.getpid()), name="keeper", daemon=False
        )
        self._process.start()
        theirs.close()

    def started(self, pid: int) -> None:
        """Notes that a driver has been started."""
        self._note(_STARTED, pid)

    def ended(self, pid: int) -> None:
        """Notes that a driver and all that it has started have ended."""
        self._note(_ENDED, pid)

    def _note(self, what: bytes, pid: int) -> None:
        with contextlib.suppress(OSError):  # somebody has ended it; drivers still end with the fork server
            self._connection.send_bytes(_NOTE.pack(what, pid))

    def close(self) -> None:
        """Ends the keeper."""
        self._connection.close()
        self._process.join()
        self._process.close()


def keep(connection: Connection, learner: int) -> None:
    """Runs the keeper of the learner with process id ``learner``."""
    os.setsid()  # what is sent to the learner's group or terminal does not reach it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    left = set[int]()
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        if hasattr(os, "pidfd_open"):  # a process that the learner forked may hold the pipe open
            with contextlib.suppress(OSError):
                selector.register(ended := os.pidfd_open(learner), selectors.EVENT_READ)
                stack.callback(os.close, ended)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if connection not in ready:
                break
            try:
                what, pid = _NOTE.unpack(connection.recv_bytes())
            except (EOFError, OSError):
                break
            left.add(pid) if what == _STARTED else left.discard(pid)
    for pid in left:
        end_session(pid)


def end_session(pid: int) -> None:
    """Ends a process and all that it has started, but for what has made itself a session of its own."""
    for kill in (os.kill, os.killpg):  # the second knows nothing yet of one that has only just started
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def end_with_parent(parent: int) -> None:
    """Lets Linux end this process when its parent, of process id ``parent``, ends; ends it if that is gone already."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
