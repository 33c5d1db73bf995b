"""Locks on files, where the system and the file system have them, held until the file is closed."""

import contextlib
from types import ModuleType

fcntl: ModuleType | None = None
with contextlib.suppress(ImportError):  # Windows has none
    import fcntl


def locked(file: int) -> bool:
    """Locks an open file for its holder; returns False if another one holds it. Where there are no locks all are free.

    Children that are started by another program image do not inherit the file, and the system lets go of it with the
    process, however that ends.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # such as on a network's file system that has none
        pass
    return True
