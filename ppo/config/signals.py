"""How a command ends by a signal: by Ctrl-C with exit code 130, by SIGTERM with 143, and its clean-up runs."""

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

OUTPUT_CLOSED = 128 + 13
"""Exit code, that of a program which SIGPIPE ends."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised as Ctrl-C is, so that whatever cleans up after the one does so after the other."""


def raise_for(number: int, text: str = "") -> None:
    """Raises what a signal stands for: Terminated for SIGTERM, KeyboardInterrupt for Ctrl-C."""
    kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    raise kind(*([text] if text else []))


@contextlib.contextmanager
def handling_signals(handle: Callable[[int, Any], None]) -> Iterator[None]:
    """Has ``handle`` called for Ctrl-C and SIGTERM; does nothing outside the main thread, which alone can set it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM end what runs here, at once, by an exception."""
    with handling_signals(lambda number, frame: raise_for(number)):
        yield


@contextlib.contextmanager
def ended_by_closed_output() -> Iterator[None]:
    """Ends the command quietly where whoever read its standard output reads no more, such as ``| head -3``.

    Raises:
        SystemExit: nobody reads; what is left is written nowhere.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        if not _output_is_closed():
            raise  # that of another pipe, such as one of the user's
        with open(os.devnull, "wb") as nowhere, contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(OUTPUT_CLOSED)


def _output_is_closed() -> bool:
    """Returns whether nobody can read what is written to standard output."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # errors are told without being asked for
        return bool(poll.poll(0))
    except (AttributeError, OSError, ValueError):  # there is no poll, or no file behind it
        return False


def words_and_code(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """Returns the line on stderr, and the exit code, of a command that a signal ended."""
    terminated = isinstance(interrupt, Terminated)
    words, text = "ended by SIGTERM" if terminated else "interrupted", str(interrupt)
    return f"{words}{f': {text}' if text else ''}", 128 + (signal.SIGTERM if terminated else signal.SIGINT)
