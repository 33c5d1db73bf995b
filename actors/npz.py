"""Reading of ``.npz`` files that this program wrote: sizes are checked before memory is taken, nothing is executed."""

import math
import os
import warnings
import zipfile
from typing import BinaryIO

import numpy as np

NUMBERS = "biuf"  # kinds of types whose values are plain numbers
VERSION = (1, 0)
SUFFIX = ".npy"


class NpzError(ValueError):
    """An ``.npz`` file is damaged, or not one that this program wrote."""


def read_npz(source: str | os.PathLike[str] | BinaryIO, what: str) -> dict[str, np.ndarray]:
    """Reads all arrays of a file that ``np.savez`` wrote, and which together are never larger than the file.

    Compressed entries are refused, since this program writes none and a small one can hold a great deal.

    Args:
        source: the file, or its path.
        what: how the message of an error begins, such as ``--resume runs/a: checkpoint.npz is damaged``.

    Returns:
        The arrays by name, writable.

    Raises:
        OSError: the file cannot be opened.
        NpzError: it is damaged, or not one that this program wrote.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            return read_npz(file, what)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy would go on with a header that it does not write any more
            return _read_entries(source)
    except Exception as error:  # a flipped byte can surface as almost anything, a seek to before the file among them
        raise NpzError(f"{what} ({' '.join(str(error).split()) or type(error).__name__})") from None


def _read_entries(file: BinaryIO) -> dict[str, np.ndarray]:
    """Reads the arrays of an open file."""
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as opened:
        entries = opened.infolist()
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise ValueError(f"its entry {entry.filename!r} is compressed")
        if sum(entry.file_size for entry in entries) > size:
            raise ValueError("its entries are larger than the file")
        names = [entry.filename.removesuffix(SUFFIX) for entry in entries if entry.filename.endswith(SUFFIX)]
        if len(set(names)) < len(entries):
            raise ValueError("its entries are not arrays, or two have the same name")
        return {name: _read_array(opened, entry) for name, entry in zip(names, entries, strict=True)}


def _read_array(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """Reads one array, whose header must be of the size that the entry has."""
    with opened.open(entry) as file:
        if np.lib.format.read_magic(file) != VERSION:
            raise ValueError(f"its entry {entry.filename!r} is of another version")
        shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
        size = math.prod(shape) * kind.itemsize
        if kind.kind not in NUMBERS or min(shape, default=0) < 0 or size != entry.file_size - file.tell():
            raise ValueError(f"its entry {entry.filename!r} is no array of numbers, or of another size than it says")
        content = file.read()  # which compares the checksum
    return np.ndarray(shape, kind, content, order="F" if by_columns else "C").copy(order="K")
