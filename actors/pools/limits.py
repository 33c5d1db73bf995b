"""A time limit for what runs in this process."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

AGAIN_SECONDS = 1.0


class TookTooLongError(BaseException):
    """The limit has passed. No Exception, which what it interrupts may catch."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupts the block after so many seconds, 0 for never; again and again where it does not end.

    What waits or runs Python code is interrupted, and a call into a library that does neither is not. There is no
    limit outside the main thread, nor where something else uses the system's alarm.

    Raises:
        TookTooLongError: the limit has passed.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not seconds or not usable or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise TookTooLongError
