"""Calls in processes of their own, side by side, with a progress bar."""

import atexit
import collections
import contextlib
import functools
import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from tqdm import tqdm

from actors.pools.dealing import RemoteError
from actors.pools.driver import without_ctrl_c
from ppo.experiments import worker

A = TypeVar("A")
R = TypeVar("R")
Running = dict[Any, tuple[BaseProcess, Any]]
"""Calls under way, by the connection that the result comes over: their processes and arguments."""
CLEAN_UP_SECONDS = 5.0  # for all calls that are ended, before they are killed


def map_in_processes(
    function: Callable[[A], R], arguments: Sequence[A], workers: int, unit: str, quiet: bool = False
) -> Iterator[tuple[A, R]]:
    """Calls ``function`` with each argument, ``workers`` at a time, each call in a new process.

    Args:
        function: function to call; it and its arguments and results are pickled.
        arguments: arguments, one for each call.
        workers: number of calls at a time.
        unit: name of a call in the progress bar.
        quiet: whether to hide the progress bar.

    Yields:
        Pairs of an argument and its result, in the order in which the calls end. After an exception in a call those
        that have not begun are left out, and it is raised once those under way have ended. Where the iteration itself
        is left, by Ctrl-C or by closing it, those under way are ended at once. If this process is killed, so are they.

    Raises:
        RuntimeError: the process of a call died.
    """
    waiting = collections.deque(arguments)
    running: Running = {}
    failure: Exception | None = None
    end = functools.partial(_end, running)
    atexit.register(end)  # should the caller keep this iteration and leave it unfinished
    try:
        with tqdm(total=len(waiting), unit=unit, disable=quiet) as bar:
            while running or (waiting and failure is None):
                while waiting and len(running) < workers and failure is None:
                    _start(function, waiting.popleft(), running)
                for connection in wait(list(running)):
                    process, argument = running[connection]
                    try:
                        result = _result(process, connection, f"{unit} {argument}")
                    except Exception as error:
                        failure = failure or error
                        continue
                    finally:
                        del running[connection]
                    bar.update()
                    yield argument, result
        if failure is not None:
            raise failure
    finally:
        end()
        atexit.unregister(end)


def _start(function: Callable[[A], R], argument: A, running: Running) -> None:
    """Begins a call, and adds it to those under way."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=worker.main, args=(theirs, pickle.dumps((function, argument))))
    with without_ctrl_c():  # it is this process's to handle
        process.start()
        running[ours] = process, argument
    theirs.close()


def _result(process: BaseProcess, connection: Any, name: str) -> Any:
    """Returns what a call that has ended returned, or raises what it raised."""
    with contextlib.closing(connection):
        try:
            returned, value, text = pickle.loads(connection.recv_bytes())
        except EOFError:
            process.join()
            raise RuntimeError(f"the process of {name} died with exit code {process.exitcode}") from None
    process.join()
    if returned:
        return value
    raise value from RemoteError(text)


def _end(running: Running) -> None:
    """Ends the calls under way: they clean up, and are killed if that takes long."""
    processes = [process for process, _ in running.values()]
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + CLEAN_UP_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.join()
    for connection in running:
        connection.close()
    running.clear()
