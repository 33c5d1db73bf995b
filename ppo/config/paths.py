"""Paths that a user gives, checked before anything is made or read."""

import os

from env.errors import UsageError

MOST_NAME, MOST_PATH = 255, 4096  # bytes, of Linux
LONGEST_FILE = 64  # bytes of the names that a run gives its files, at the most
SHOWN = 40  # characters


def check_path(flag: str, path: str) -> None:
    """Checks that a file or a directory can have this path, whether or not there is one.

    Args:
        flag: flag that gave it, which an error message names.
        path: the path.

    Raises:
        UsageError: it is empty, too long or otherwise no path, or it lies where this user may not look.
    """
    shown = path if len(path) <= SHOWN else f"{path[:SHOWN]}..."
    if not path:
        raise UsageError(f"{flag} '': is empty, and must name a file or a directory")
    try:
        name = max(map(len, os.fsencode(path).split(os.fsencode(os.sep))))
        if name > MOST_NAME or len(os.fsencode(os.path.abspath(path))) + LONGEST_FILE > MOST_PATH:
            raise UsageError(f"{flag} {shown}: is too long for a path (its longest name has {name} bytes)")
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # whoever needs it says so
    except OSError as error:
        raise UsageError(f"{flag} {shown}: cannot be looked at ({error.strerror})") from None
    except ValueError as error:  # a NUL byte, or half of a character
        raise UsageError(f"{flag} {shown!r}: is no path ({error})") from None
