"""The archive: one append-only file with a row for every evaluation of f, written before anything learns from it.

    header    magic, version, length, JSON (the problem's signature, the fields of a row), CRC-32
    records   ROWS, BEGIN, LOST and DURABLE, see ppo.data.records

What an interrupted write left at its end is cut off, and never believed. A power failure may keep a later write and not
an earlier one; so what follows the first damaged byte is cut off where nothing from there on was durable yet. Damage to
what was durable is refused.
"""

import json
import pathlib
import struct
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from env.errors import UsageError
from ppo.config.file import nested_deeply
from ppo.data import disk as used
from ppo.data.files import unwritable, write_all
from ppo.data.locks import locked
from ppo.data.records import OFFSET, RecordType, Scan, pack_record, scan_records
from ppo.data.rows import KEY

NAME = "archive.bin"
MAGIC = b"tuninglawarchive"
VERSION = 1
MOST_VALUES = 100_000_000  # of a field of a row
SYNC_SECONDS = 1.0  # between calls of fsync, at the least
_PREFIX = struct.Struct("<16sII")
_CHECKSUM = struct.Struct("<I")
_BEGIN = struct.Struct("<qBxxxIII")
_LOST = struct.Struct("<I")

Signature = Mapping[str, Any]
"""What says whether two archives are of the same problem; JSON values by name."""


@dataclass(frozen=True)
class Contents:
    """What an archive holds.

    Attributes:
        signature: signature of its problem.
        rows: all rows, in the order in which they were written.
        lost: evaluations that were in flight when the learner or a driver was lost, at the most.
        end: offset of the first byte that belongs to no sound record.
        cut: number of bytes from there on, which an interrupted write left.
    """

    signature: Signature
    rows: np.ndarray
    lost: int
    end: int
    cut: int


class Archive:
    """An archive that is written to, by one thread at a time: a checkpoint makes durable what another one writes.

    Args:
        path: the file, which is there already.

    Attributes:
        length: number of its bytes.

    Raises:
        UsageError: it cannot be written to.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        self._synced_at, self._unsynced, self._broken = time.monotonic(), False, False
        self._lost: OSError | None = None
        self._lock = threading.RLock()
        try:
            self._file = used.disk.open_to_append(path)
        except OSError as error:
            raise unwritable(path, error) from None
        if not locked(self._file):
            used.disk.close(self._file)
            raise UsageError(f"{path}: another process is writing to it; wait for that one, or end it") from None
        self.length, self._to_mark, self._appended = path.stat().st_size, False, False

    def add_rows(self, rows: np.ndarray) -> None:
        """Appends rows as one record."""
        self._append(pack_record(RecordType.ROWS, rows.tobytes()))

    def begin(self, kind: int, step: int, slots: int, in_flight: int, per_slot: int) -> None:
        """Notes that a round is dealt out.

        Args:
            kind, step: key of the round.
            slots: number of slots to run.
            in_flight: number of them that can be under way, or not yet written, at any time.
            per_slot: evaluations of a slot.
        """
        self._append(pack_record(RecordType.BEGIN, _BEGIN.pack(step, kind, slots, in_flight, per_slot)))

    def add_lost(self, evaluations: int) -> None:
        """Notes evaluations that were in flight when a driver was lost."""
        self._append(pack_record(RecordType.LOST, _LOST.pack(evaluations)))

    def sync_if_due(self) -> None:
        """Makes what was written durable, if a second has passed since it last was."""
        if time.monotonic() - self._synced_at >= SYNC_SECONDS:
            self.sync()

    def sync(self) -> int:
        """Makes what was written durable, also after a write that failed: a checkpoint may rest on what came before.

        Returns:
            How many bytes are.

        Raises:
            UsageError: it cannot be; once that was so it stays so, since the system tells of what it lost only once.
        """
        with self._lock:
            if self._lost is not None:
                raise unwritable(self.path, self._lost)
            if self._unsynced:
                try:
                    used.disk.sync(self._file)
                except OSError as error:
                    self._broken, self._lost = True, error
                    raise unwritable(self.path, error) from None
                self._unsynced, self._to_mark = False, True
            self._synced_at = time.monotonic()
            return self.length

    def close(self) -> None:
        """Makes what was written durable, says so at the end of the file, and closes it.

        A file that nothing was added to stays as it is.
        """
        try:
            if self._lost is None:  # else it was told before
                self.sync()
            if self._to_mark and self._appended:
                self._append(b"")
        finally:
            self._broken = True
            used.disk.close(self._file)

    def _append(self, record: bytes) -> None:
        """Writes a record; once that has failed nothing more is written, so that no record follows a torn one.

        Raises:
            UsageError: the file cannot be written to, such as on a full disk.
        """
        with self._lock:
            if self._broken:
                return
            if self._to_mark:
                record = pack_record(RecordType.DURABLE, OFFSET.pack(self.length)) + record
                self._to_mark = False
            try:
                write_all(self._file, record)
                self.length += len(record)
            except OSError as error:
                self._broken = True
                raise unwritable(self.path, error) from None
            self._unsynced = self._appended = True


def header(signature: Signature, row: np.dtype) -> bytes:
    """Returns the header of an archive of a problem, with rows of type ``row``."""
    content = json.dumps({"problem": dict(signature), "fields": _fields(row)}, sort_keys=True).encode()
    start = _PREFIX.pack(MAGIC, VERSION, len(content)) + content
    return start + _CHECKSUM.pack(zlib.crc32(start))


def new_archive(signature: Signature, rows: np.ndarray) -> bytes:
    """Returns the bytes of an archive that holds ``rows``, to be written at once and made durable."""
    start = header(signature, rows.dtype) + (pack_record(RecordType.ROWS, rows.tobytes()) if len(rows) else b"")
    return start + pack_record(RecordType.DURABLE, OFFSET.pack(len(start)))


def read_archive(path: pathlib.Path, name: str) -> Contents:
    """Reads an archive; ``name`` is what a message calls it, such as ``--resume runs/a``.

    Raises:
        UsageError: it cannot be read, is no archive, of another version, or damaged before its end.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: {path.name} cannot be read ({error.strerror})") from None
    start, content = _parse_header(data, f"{name}: {path.name}")
    row = _row_type(content["fields"], f"{name}: {path.name}")
    scan = scan_records(data, start)
    sizes = {RecordType.BEGIN: _BEGIN.size, RecordType.LOST: _LOST.size, RecordType.DURABLE: OFFSET.size}
    if any(len(record) != sizes.get(kind, len(record) // row.itemsize * row.itemsize) for kind, record in scan.records):
        raise UsageError(f"{name}: {path.name} is damaged: a record has another size than what it holds")
    rows = _all_rows(scan, row)
    if scan.damaged and (scan.durable is None or scan.end < scan.durable):
        raise UsageError(
            f"{name}: {path.name} is damaged at byte {scan.end} of {len(data)}: {len(rows)} rows before are sound, and "
            f"others follow; restore it from a copy, or give up what follows with truncate -s {scan.end}"
        )
    return Contents(content["problem"], rows, _lost(scan, row), scan.end, len(data) - scan.end)


def reopen(path: pathlib.Path, contents: Contents) -> Archive:
    """Opens an archive that was read, to append to it; what an interrupted write left is cut off.

    Raises:
        UsageError: it cannot be written to, or another process has written to it since.
    """
    archive = Archive(path)
    try:
        if path.stat().st_size != contents.end + contents.cut:
            raise UsageError(f"{path}: another process has just written to it; try again")
        if contents.cut:
            used.disk.truncate(path, contents.end)
            archive.length = contents.end
    except OSError as error:
        archive.close()
        raise unwritable(path, error) from None
    except UsageError:
        archive.close()
        raise
    archive._unsynced = True  # who wrote it may have been killed before it made it durable
    return archive


def _fields(row: np.dtype) -> list[list[Any]]:
    """Returns name, type and shape of each field of a row."""
    assert row.fields is not None, "rows have fields"
    parts = [(name, row.fields[name][0]) for name in row.names or ()]
    return [[name, part.base.str, list(part.shape)] for name, part in parts]


def _row_type(fields: Any, name: str) -> np.dtype:
    """Returns the type of rows with these fields; only plain numbers are accepted, and rows that have a key."""
    try:
        for field, kind, shape in fields:
            one = isinstance(kind, str) and np.dtype(kind).kind in "buif" and len(shape) <= 1
            if not one or not all(type(size) is int and 0 <= size <= MOST_VALUES for size in shape):
                raise ValueError(f"{field} is no number or row of numbers")
        row = np.dtype([(field, kind, tuple(shape)) for field, kind, shape in fields])
        if all(row[key].kind in "iu" for key in KEY):
            return row
    except (TypeError, ValueError, KeyError, RecursionError):
        pass
    raise UsageError(f"{name} is no archive that this version can read: its fields are {str(fields)[:200]}")


def _parse_header(data: bytes, name: str) -> tuple[int, dict[str, Any]]:
    """Returns where the header ends, and its content."""
    if len(data) < _PREFIX.size or data[: len(MAGIC)] != MAGIC:
        raise UsageError(f"{name} is no archive, or its header was cut short")
    _, version, length = _PREFIX.unpack_from(data)
    if version != VERSION:
        formats = f"format {version}, this one has {VERSION}"
        raise UsageError(f"{name} was written by another version of this program: {formats}")
    end = _PREFIX.size + length
    if len(data) < end + _CHECKSUM.size or zlib.crc32(data[:end]) != _CHECKSUM.unpack_from(data, end)[0]:
        raise UsageError(f"{name} is damaged: its header does not have its checksum")
    try:
        content = json.loads(data[_PREFIX.size : end])
        sound = isinstance(content["problem"], dict) and isinstance(content["fields"], list)
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = False
    if not sound or nested_deeply(content):
        raise UsageError(f"{name} is no archive that this version can read: its header does not describe a problem")
    return end + _CHECKSUM.size, content


def _all_rows(scan: Scan, row: np.dtype) -> np.ndarray:
    """Returns the rows of all records."""
    parts = [np.frombuffer(content, row) for kind, content in scan.records if kind == RecordType.ROWS]
    return np.concatenate([np.empty(0, row), *parts])


def _lost(scan: Scan, row: np.dtype) -> int:
    """Counts the evaluations that were lost: of each round that was not completed, what was in flight at its end."""
    lost, missing, in_flight, per_slot = 0, 0, 0, 1
    for kind, content in scan.records:
        if kind == RecordType.BEGIN:
            lost += min(missing, in_flight) * per_slot
            _, _, missing, in_flight, per_slot = _BEGIN.unpack(content)
        elif kind == RecordType.LOST:
            lost += _LOST.unpack(content)[0]
        elif kind == RecordType.ROWS:
            missing -= min(missing, len(content) // row.itemsize // max(per_slot, 1))
    return lost + min(missing, in_flight) * per_slot
