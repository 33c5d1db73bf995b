"""Files that are written whole or not at all."""

import contextlib
import glob
import os
import pathlib
import tempfile
from collections.abc import Iterable

from env.errors import UsageError


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
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise unwritable(path, error) from None
        raise
    if hasattr(os, "O_DIRECTORY"):  # make the rename itself durable, where a directory can be opened
        directory = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def remove_unfinished(directory: pathlib.Path, names: Iterable[str]) -> None:
    """Removes what ``write_atomically`` leaves of files with these names when the process is killed within it."""
    for name in names:
        for path in directory.glob(f".{glob.escape(name)}.????????"):
            with contextlib.suppress(OSError):
                path.unlink()


def _umask() -> int:
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return mask
