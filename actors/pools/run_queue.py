"""How long this thread has been ready to run while others had the cores: no part of what a slot costs.

Where there are more drivers than cores, the wall time of a slot has it in it. Dealing by that would take slots for slow
and uneven, deal more tasks, and so lengthen the queue further.
"""

import contextlib
import os

PATH = "/proc/thread-self/schedstat"  # nanoseconds on a core, nanoseconds in the queue, number of turns


class RunQueue:
    """Reads what Linux counts; elsewhere the time is not known, and 0."""

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(PATH, os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        """Returns the seconds so far of the thread that made this."""
        if self._file is None:
            return 0.0
        try:
            return int(os.pread(self._file, 128, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
