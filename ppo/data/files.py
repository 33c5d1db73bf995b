"""Files that are written whole or not at all."""

import contextlib
import glob
import os
import pathlib
from collections.abc import Callable, Iterable

from env.errors import UsageError
from ppo.data import disk as used
from ppo.startup import command


def how_to_go_on(run_dir: str | pathlib.Path) -> str:
    """Returns, for messages, the command that goes on with a run."""
    return f"go on with {command('train')} --resume {run_dir}"


def unwritable(path: pathlib.Path, error: OSError) -> UsageError:
    """Returns the mistake of a run's file that cannot be written, such as on a full disk."""
    return UsageError(
        f"{path}: cannot be written to ({error.strerror or error}); what was written before is kept, so make room or "
        f"give permission, and {how_to_go_on(path.parent)}"
    )


def write_atomically(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that a crash at any moment leaves the old one or the new one, never a part.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        _write_then(used.disk.rename, path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def write_new(path: pathlib.Path, content: bytes) -> None:
    """Writes a file that is not there yet so that a crash at any moment leaves all of it or none.

    Raises:
        FileExistsError: it is there.
        OSError: it cannot be written.
    """
    _write_then(used.disk.rename_new, path, content)


def _write_then(rename: Callable[[pathlib.Path, pathlib.Path], None], path: pathlib.Path, content: bytes) -> None:
    """Writes a file under another name, and gives it its own once it is whole and durable."""
    disk, temporary = used.disk, path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        file = disk.create(temporary)
        try:
            write_all(file, content)
            disk.sync(file)
        finally:
            disk.close(file)
        rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            disk.remove(temporary)
        raise
    disk.sync_directory(path.parent)


def append_to(path: pathlib.Path, content: bytes) -> None:
    """Appends to a file that is there; raises OSError where not all of it can be written."""
    file = used.disk.open_to_append(path)
    try:
        write_all(file, content)
    finally:
        used.disk.close(file)


def make_durable(path: pathlib.Path) -> None:
    """Makes what was appended to a file durable.

    Raises:
        UsageError: it cannot be.
    """
    try:
        file = used.disk.open_to_append(path)
        try:
            used.disk.sync(file)
        finally:
            used.disk.close(file)
    except OSError as error:
        raise unwritable(path, error) from None


def write_all(file: int, content: bytes) -> None:
    """Writes all of ``content`` to an open file; raises OSError where not all of it can be."""
    left = memoryview(content)
    while left:
        left = left[used.disk.write(file, left) :]


def missing_directories(paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """Returns those directories and those above them that are not there, what lies within others before these."""
    missing = {one for path in paths for one in (path, *path.parents) if not one.exists()}
    return sorted(missing, key=lambda one: len(one.parts), reverse=True)


def remove_empty(directories: Iterable[pathlib.Path]) -> None:
    """Removes directories in which nothing is, in this order."""
    for one in directories:
        with contextlib.suppress(OSError):
            one.rmdir()


def make_directories(path: pathlib.Path) -> None:
    """Makes a directory and those above it that are missing, durably; raises OSError where it cannot."""
    for one in reversed(missing_directories([path])):
        with contextlib.suppress(FileExistsError):
            used.disk.make_directory(one)
        used.disk.sync_directory(one.parent)


def unfinished(directory: pathlib.Path, names: Iterable[str]) -> list[pathlib.Path]:
    """Returns what a process that is killed as it writes files with these names leaves of them."""
    return [path for name in names for path in directory.glob(f".{glob.escape(name)}.????????")]


def remove_unfinished(directory: pathlib.Path, names: Iterable[str]) -> None:
    """Removes what killed processes have left."""
    for path in unfinished(directory, names):
        with contextlib.suppress(OSError):
            used.disk.remove(path)
