"""The event loop of this process, on which the coroutines of every objective run.

There is one for as long as the process lives, so that what f keeps open from one evaluation to the next, such as the
connections of a client, stays on the loop that it was made on.
"""

import contextlib
import select
import selectors
import threading
from functools import cache
from typing import Any

SELECT_FILES = 1024
"""File descriptors that the system's ``select`` takes are less than that."""
_making = threading.Lock()


def event_loop() -> Any:
    """Returns the event loop, which runs in a thread of its own and keeps no program from ending."""
    with _making:
        return _made()


@cache
def _made() -> Any:
    import asyncio  # only where f needs it, since a driver does without

    loop = asyncio.SelectorEventLoop(_selector())
    threading.Thread(target=_run, args=(loop,), name="event-loop", daemon=True).start()
    return loop


def _run(loop: Any) -> None:
    """Runs the loop for ever: a ``sys.exit`` in a task that f has made ends it, and that task has the exception too."""
    while True:
        with contextlib.suppress(BaseException):
            loop.run_forever()


def _selector() -> selectors.BaseSelector:
    """Returns what waits for connections and for times, where it can to less than a millisecond."""
    if not hasattr(selectors, "EpollSelector"):
        return selectors.DefaultSelector()

    class FineSelector(selectors.EpollSelector):
        """Waits as ``select`` does: ``epoll`` takes whole milliseconds, so that sleeps would be up to one longer."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and timeout > 0 and self.fileno() < SELECT_FILES:
                select.select([self.fileno()], [], [], timeout)
                timeout = 0
            return super().select(timeout)

    return FineSelector()
