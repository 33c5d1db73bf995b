"""Files that are written whole or not at all."""

import contextlib
import os
import pathlib

from env.errors import UsageError
from ppo.data import disk as used


def unwritable(path: pathlib.Path, error: OSError) -> UsageError:
    """Returns the mistake of a run's file that cannot be written, such as on a full disk."""
    return UsageError(
        f"{path}: cannot be written to ({error.strerror or error}); what was written before is kept, so make room or "
        f"give permission, and go on with --resume {path.parent}"
    )


def write_atomically(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that a crash at any moment leaves the old one or the new one, never a part.

    Raises:
        UsageError: it cannot be written.
    """
    disk, temporary = used.disk, path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        file = disk.create(temporary)
        try:
            write_all(file, content)
            disk.sync(file)
        finally:
            disk.close(file)
        disk.rename(temporary, path)
        disk.sync_directory(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            disk.remove(temporary)
        if isinstance(error, OSError):
            raise unwritable(path, error) from None
        raise


def write_all(file: int, content: bytes) -> None:
    """Writes all of ``content`` to an open file; raises OSError where not all of it can be."""
    left = memoryview(content)
    while left:
        left = left[used.disk.write(file, left) :]


def make_directories(path: pathlib.Path) -> None:
    """Makes a directory and those above it that are missing, durably; raises OSError where it cannot."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            used.disk.make_directory(one)
        used.disk.sync_directory(one.parent)
