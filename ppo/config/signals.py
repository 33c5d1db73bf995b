"""How a command ends by a signal: by Ctrl-C with exit code 130, by SIGTERM with 143, and its clean-up runs."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


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


def words_and_code(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """Returns the line on stderr, and the exit code, of a command that a signal ended."""
    terminated = isinstance(interrupt, Terminated)
    words, text = "ended by SIGTERM" if terminated else "interrupted", str(interrupt)
    return f"{words}{f': {text}' if text else ''}", 128 + (signal.SIGTERM if terminated else signal.SIGINT)
