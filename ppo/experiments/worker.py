"""The process of one call: it runs it, sends what came of it, and does not outlive the process that started it."""

import contextlib
import multiprocessing
import os
import pickle
import threading
import traceback
from multiprocessing.connection import Connection, wait

from actors.pools.keeper import end_with_parent
from ppo.config.signals import ended_by_signals


def main(connection: Connection, call: bytes) -> None:
    """Makes a call, given as a pickled pair of a function and its argument, and sends what it returns or raises."""
    _end_with_parent()
    with ended_by_signals(), contextlib.suppress(KeyboardInterrupt):
        try:
            function, argument = pickle.loads(call)
            message = pickle.dumps((True, function(argument), ""))
        except Exception as error:
            message = _failed(error, traceback.format_exc())
        connection.send_bytes(message)


def _failed(error: Exception, text: str) -> bytes:
    """Returns the message of a call that failed; an exception that cannot be sent is described by another."""
    try:
        message = pickle.dumps((False, error, text))
        pickle.loads(message)
        return message
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), text))


def _end_with_parent() -> None:
    """Ends this process when its parent is gone, however that ended: by the kernel where it can, and by a thread."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    assert parent.pid is not None, "a parent has an id"
    end_with_parent(parent.pid)

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
