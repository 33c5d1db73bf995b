"""What a killed run leaves in shared memory and in the temporary directory, told apart from what lives, and removed.

Whoever makes one of them holds a lock on it for life. So what is not locked belongs to nobody any more, whichever
machine, container or user space its maker lived in.
"""

import contextlib
import functools
import multiprocessing.util
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

try:
    import fcntl
except ImportError:  # Windows, which removes shared memory by itself
    fcntl = None  # type: ignore[assignment]

PREFIX = "tuninglaw-"
SHARED_MEMORY = pathlib.Path("/dev/shm")
LOCK = "lock"
LONGEST = 60
"""Characters of a temporary directory in which a socket's path still fits into the 107 that the system allows."""


def make_shared_memory(size: int) -> tuple[SharedMemory, int | None]:
    """Makes a block of shared memory whose pages are there.

    Returns:
        The block, and a descriptor that holds its lock, to be closed with it; None where the system has none.

    Raises:
        OSError: there is no room for it, which a write would find out by ending the process.
    """
    while True:
        try:
            memory = SharedMemory(f"{PREFIX}{os.urandom(4).hex()}", create=True, size=size)
        except FileExistsError:
            continue
        path = SHARED_MEMORY / memory.name
        if fcntl is None or not SHARED_MEMORY.is_dir():
            return memory, None
        try:
            lock = os.open(path, os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.fstat(lock).st_nlink:  # else it was taken for a leftover before it was locked
                os.posix_fallocate(lock, 0, size)
                return memory, lock
            os.close(lock)
        except FileNotFoundError:  # as above, before it was opened
            pass
        except OSError:
            memory.close()
            memory.unlink()
            raise
        memory.close()
        resource_tracker.unregister(f"/{memory.name}", "shared_memory")  # which would miss it at the end


@functools.cache
def temporary_directory() -> None:
    """Makes the directory in which this process's fork server will have its socket, if there is none yet.

    A temporary directory whose name is too long for a socket is left for ``/tmp``.
    """
    if fcntl is None:
        return
    base = tempfile.gettempdir()
    if len(base) > LONGEST and os.access("/tmp", os.W_OK):
        base = "/tmp"
    ours = _locked_directory(base)
    # After multiprocessing has removed what is in it, which has priority -100 and complains where it is missing.
    removal = multiprocessing.util.Finalize(None, _remove, (ours,), exitpriority=-101)
    before, tempfile.tempdir = tempfile.tempdir, ours
    try:
        used = multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before
    if not used.startswith(ours):  # this program had one before
        removal()


def _locked_directory(base: str) -> str:
    """Makes a directory, which is locked until this process ends."""
    assert fcntl is not None, "there are locks"
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=base)
        try:
            lock = os.open(pathlib.Path(path, LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # it was empty, and taken for a leftover
            continue
        fcntl.flock(lock, fcntl.LOCK_SH)
        if os.fstat(lock).st_nlink:
            return path
        os.close(lock)  # it was taken for a leftover, and removed, before it was locked


def sweep() -> None:
    """Removes what killed runs have left."""
    if fcntl is None:
        return
    for path in _candidates(SHARED_MEMORY):
        with _locked_if_dead(path) as dead:
            if dead:
                path.unlink(missing_ok=True)
    for base in {tempfile.gettempdir(), "/tmp"}:
        for path in _candidates(pathlib.Path(base)):
            with _locked_if_dead(path / LOCK) as dead:
                if dead:
                    _remove(path)
            with contextlib.suppress(OSError):
                path.rmdir()  # empty: who made or removed it was killed when the lock was not there yet, or no more


def _remove(directory: str | pathlib.Path) -> None:
    """Removes a directory, its lock after all else: without it nobody would know whose what is left is."""
    with contextlib.suppress(OSError):
        for path in pathlib.Path(directory).iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink(missing_ok=True)
        pathlib.Path(directory, LOCK).unlink(missing_ok=True)
        pathlib.Path(directory).rmdir()


def _candidates(directory: pathlib.Path) -> list[pathlib.Path]:
    """Returns what has our name in a directory and belongs to this user."""
    found = []
    with contextlib.suppress(OSError):
        for path in directory.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                if path.lstat().st_uid == os.getuid():
                    found.append(path)
    return found


@contextlib.contextmanager
def _locked_if_dead(path: pathlib.Path) -> Iterator[bool]:
    """Yields whether nobody holds the lock of a file, and holds it meanwhile."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(file)
