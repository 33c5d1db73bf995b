"""Records are framed and checksummed: what is not sound is found, and told from what an interrupted write left."""

import struct
import zlib

import pytest

from ppo.data.records import FRAME_BYTES, MARK, RecordType, pack_record, scan_records

CONTENTS = [b"first", b"", MARK + b" inside " + MARK, bytes(range(256))]
KINDS = [RecordType.ROWS, RecordType.BEGIN, RecordType.LOST, RecordType.ROWS]


def scanned(data, start=0):
    scan = scan_records(data, start)
    return [(kind, bytes(content)) for kind, content in scan.records], scan.end, scan.damaged


def test_a_record_is_its_frame_and_its_content():
    frame = b"\xf1rec" + bytes([2, 0, 0, 0]) + struct.pack("<II", 4, zlib.crc32(b"abcd"))
    assert pack_record(RecordType.BEGIN, b"abcd") == frame + struct.pack("<I", zlib.crc32(frame)) + b"abcd"
    assert len(frame) + 4 == FRAME_BYTES


def test_sound_records_are_read_from_where_they_begin():
    packed = [pack_record(kind, content) for kind, content in zip(KINDS, CONTENTS, strict=True)]
    data = b"header" + b"".join(packed)
    pairs = list(zip(KINDS, CONTENTS, strict=True))
    assert scanned(data, 6) == (pairs, len(data), False)
    assert scanned(data, 6 + len(packed[0])) == (pairs[1:], len(data), False)
    assert scanned(b"") == ([], 0, False)


@pytest.mark.parametrize("kind", [0, 5, 255])
def test_a_record_of_an_unknown_type_is_not_sound(kind):
    sound = pack_record(RecordType.LOST, b"1234")
    unknown = pack_record(kind, b"1234")
    assert scanned(sound + unknown) == ([(RecordType.LOST, b"1234")], len(sound), False)
    assert scanned(unknown + sound) == ([], 0, True)


def test_what_follows_a_torn_record_says_whether_it_was_the_last_one():
    sound, torn = pack_record(RecordType.ROWS, b"x" * 40), pack_record(RecordType.ROWS, MARK * 9 + b"last")
    for length in range(1, len(torn)):
        tail = torn[:length]
        assert scanned(sound + tail) == ([(RecordType.ROWS, b"x" * 40)], len(sound), False)
        assert scanned(sound + tail + sound) == ([(RecordType.ROWS, b"x" * 40)], len(sound), True)


def test_zeros_after_the_records_are_an_interrupted_write():
    sound = pack_record(RecordType.ROWS, b"x" * 40)
    assert scanned(sound + bytes(4096)) == ([(RecordType.ROWS, b"x" * 40)], len(sound), False)


def test_the_most_that_any_sound_record_calls_durable_counts():
    def durable(offset):
        return pack_record(RecordType.DURABLE, struct.pack("<Q", offset))

    rows = pack_record(RecordType.ROWS, b"rows")
    assert scan_records(rows, 0).durable is None
    assert scan_records(durable(0) + rows + durable(7), 0).durable == 7
    assert scan_records(durable(9) + rows + durable(7), 0).durable == 9
    assert scan_records(durable(0) + rows[:-1] + durable(7) + rows, 0).durable == 7  # behind the damage
    assert scan_records(durable(0) + durable(7)[:-1], 0).durable == 0
