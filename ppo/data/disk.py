"""The calls that change files. All that a run keeps goes through them, so that what each may leave can be tried.

A power failure may keep any part of what was written since the last ``sync`` of a file, and of what was renamed, made
or removed since the last ``sync_directory``.
"""

import os
import pathlib


class Disk:
    """The file system. Every method raises OSError where the system does."""

    def create(self, path: pathlib.Path) -> int:
        """Makes a file that is not there yet, and opens it to be written to."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    def open_to_append(self, path: pathlib.Path) -> int:
        """Opens a file that is there, so that what is written is added to it."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def write(self, file: int, content: bytes | memoryview) -> int:
        """Writes a first part of ``content``, at best all of it, and returns its length."""
        return os.write(file, content)

    def sync(self, file: int) -> None:
        """Makes what was written to a file durable."""
        os.fsync(file)

    def close(self, file: int) -> None:
        """Closes a file."""
        os.close(file)

    def rename(self, path: pathlib.Path, to: pathlib.Path) -> None:
        """Gives a file another name, in the place of the one that has it."""
        os.replace(path, to)

    def rename_new(self, path: pathlib.Path, to: pathlib.Path) -> None:
        """Gives a file another name that no file has yet; raises FileExistsError if one has."""
        try:
            os.link(path, to)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if to.exists():
                raise FileExistsError(to) from None
            os.replace(path, to)
        else:
            os.unlink(path)

    def remove(self, path: pathlib.Path) -> None:
        """Removes a file."""
        os.unlink(path)

    def truncate(self, path: pathlib.Path, length: int) -> None:
        """Cuts a file off."""
        os.truncate(path, length)

    def make_directory(self, path: pathlib.Path) -> None:
        """Makes a directory that is not there yet, in one that is."""
        os.mkdir(path)

    def sync_directory(self, path: pathlib.Path) -> None:
        """Makes the names in a directory durable, where a directory can be opened."""
        if hasattr(os, "O_DIRECTORY"):
            directory = os.open(path, os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)


disk = Disk()
"""The one in use."""
