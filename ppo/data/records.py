"""The records of an archive: framed and checksummed, so that a torn or a damaged one is told from a sound one.

A frame is a mark, the record's type, the length and the CRC-32 of its content, and the CRC-32 of these 16 bytes.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

MARK = b"\xf1rec"
_FRAME = struct.Struct("<4sB3xII")
_CHECKSUM = struct.Struct("<I")
OFFSET = struct.Struct("<Q")
"""Content of a record that says how much was durable."""
FRAME_BYTES = _FRAME.size + _CHECKSUM.size


class RecordType(IntEnum):
    """What a record holds."""

    ROWS = 1  # evaluations
    BEGIN = 2  # a round that is dealt out from here on
    LOST = 3  # evaluations that were in flight when a driver was lost
    DURABLE = 4  # an offset before which all was durable


_TYPES = frozenset(RecordType)


@dataclass(frozen=True)
class Scan:
    """What a reader found.

    Attributes:
        records: type and content of each sound record, in order.
        end: offset of the first byte that belongs to none of them.
        damaged: whether a sound record comes after that byte.
        durable: offset before which all was durable, by the records of the whole file; None where none says so.
    """

    records: list[tuple[RecordType, memoryview]]
    end: int
    damaged: bool
    durable: int | None


def pack_record(kind: RecordType, content: bytes) -> bytes:
    """Returns a record as it stands in the file."""
    frame = _FRAME.pack(MARK, kind, len(content), zlib.crc32(content))
    return frame + _CHECKSUM.pack(zlib.crc32(frame)) + content


def scan_records(data: bytes, start: int) -> Scan:
    """Reads records from ``start`` on, up to the first byte that is not sound."""
    records: list[tuple[RecordType, memoryview]] = []
    end = start
    for kind, content, after in _sound_records(data, start):
        records.append((kind, content))
        end = after
    after_damage: list[tuple[RecordType, memoryview]] = []
    at = data.find(MARK, end + 1) if end < len(data) else -1
    while at >= 0:
        later = list(_sound_records(data, at))
        after_damage += [(kind, content) for kind, content, _ in later]
        at = data.find(MARK, later[-1][2] if later else at + 1)
    marks = [content for kind, content in records + after_damage if kind == RecordType.DURABLE]
    durable = max((OFFSET.unpack(content)[0] for content in marks if len(content) == OFFSET.size), default=None)
    return Scan(records, end, bool(after_damage), durable)


def _sound_records(data: bytes, at: int) -> Iterator[tuple[RecordType, memoryview, int]]:
    """Yields the type, the content and the end of each record from ``at`` on, until one is not sound."""
    view = memoryview(data)
    while len(data) - at >= FRAME_BYTES:
        mark, kind, length, checksum = _FRAME.unpack_from(data, at)
        (frame_checksum,) = _CHECKSUM.unpack_from(data, at + _FRAME.size)
        content = view[at + FRAME_BYTES : at + FRAME_BYTES + length]
        sound = mark == MARK and zlib.crc32(view[at : at + _FRAME.size]) == frame_checksum and kind in _TYPES
        if not sound or len(content) < length or zlib.crc32(content) != checksum:
            return
        at += FRAME_BYTES + length
        yield RecordType(kind), content, at
