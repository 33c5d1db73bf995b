"""The archive keeps every whole record whatever befalls the file: a torn tail is cut, damage before it is refused."""

import json
import re
import struct
import zlib

import numpy as np
import pytest

from ppo.data.archive import MAGIC, Archive, header, new_archive, read_archive, reopen
from ppo.data.records import RecordType, pack_record
from ppo.data.rows import row_type
from ppo.data.run_archive import signature
from tests.ppo.data.archives import PER_SLOT, job, refusal, round_rows, same_rows, without_sync, written

JOB = job()
ROWS = round_rows(JOB)
SLOTS = [ROWS[at : at + PER_SLOT] for at in range(0, len(ROWS), PER_SLOT)]  # records of a slow f: a slot each


@pytest.fixture
def path(tmp_path):
    return tmp_path / "archive.bin"


def read(path):
    return read_archive(path, "--resume run")


def flipped(data, at):
    """Returns data with a bit of one byte flipped; which one depends on the byte."""
    return data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]


def with_content(content):
    """Returns a header with this content, and its right checksum."""
    start = struct.pack("<16sII", MAGIC, 1, len(content)) + content
    return start + struct.pack("<I", zlib.crc32(start))


def test_what_was_written_is_read(path):
    written(path, JOB, [ROWS[:12], ROWS[12:13], ROWS[13:]])
    contents = read(path)
    assert same_rows(contents.rows, ROWS)
    assert contents.signature == signature(JOB)
    assert (contents.end, contents.cut, contents.lost) == (path.stat().st_size, 0, 0)


def test_a_new_archive_begins_with_the_rows_that_are_reused(path):
    path.write_bytes(new_archive(signature(JOB), ROWS[:5]))
    assert same_rows(read(path).rows, ROWS[:5])
    path.write_bytes(new_archive(signature(JOB), ROWS[:0]))
    assert len(read(path).rows) == 0
    start = header(signature(JOB), row_type(JOB))
    assert path.read_bytes() == start + pack_record(RecordType.DURABLE, struct.pack("<Q", len(start)))


def test_a_torn_tail_is_cut_wherever_it_is_torn(path, monkeypatch):
    without_sync(monkeypatch)
    places = written(path, JOB, SLOTS[:4], killed=True)
    whole = path.read_bytes()
    for length in range(places[2], len(whole)):
        path.write_bytes(whole[:length])
        kept = 3 if length >= places[3] else 2
        contents = read(path)
        assert same_rows(contents.rows, ROWS[: kept * PER_SLOT])
        assert (contents.end, contents.cut) == (places[kept], length - places[kept])
        assert path.stat().st_size == length
        archive = reopen(path, contents)
        assert path.read_bytes() == whole[: places[kept]]
        archive.add_rows(SLOTS[kept])
        archive.close()
        assert path.read_bytes()[: places[kept + 1]] == whole[: places[kept + 1]]
        assert same_rows(read(path).rows, ROWS[: (kept + 1) * PER_SLOT])


def test_an_archive_is_appended_to_after_its_tail_was_cut(path):
    places = written(path, JOB, SLOTS[:3])
    path.write_bytes(path.read_bytes()[: places[2] + 30])
    archive = reopen(path, read(path))
    archive.begin(1, 0, 8, 2, PER_SLOT)
    archive.add_rows(SLOTS[5])
    archive.close()
    contents = read(path)
    assert same_rows(contents.rows, np.concatenate([SLOTS[0], SLOTS[1], SLOTS[5]]))
    assert (contents.cut, contents.lost) == (0, 2 * PER_SLOT)


def test_a_flipped_bit_before_the_last_record_is_refused(path):
    places = written(path, JOB, SLOTS[:4])
    whole = path.read_bytes()
    for at in range(places[1], places[2]):
        damaged = flipped(whole, at)
        path.write_bytes(damaged)
        message = refusal(read, path)
        assert message.startswith("--resume run: archive.bin is damaged")
        assert re.search(rf"at byte {places[1]} of {len(whole)}: {PER_SLOT} rows before are sound", message)
        assert path.read_bytes() == damaged


def test_a_flipped_bit_in_what_is_no_row_is_refused_too(path):
    path.write_bytes(header(signature(JOB), row_type(JOB)))
    archive = Archive(path)
    archive.begin(1, 0, 10, 2, PER_SLOT)
    begun = path.stat().st_size
    archive.add_lost(3)
    noted = path.stat().st_size
    archive.add_rows(SLOTS[0])
    archive.close()
    whole = path.read_bytes()
    for at in range(begun, noted):
        path.write_bytes(flipped(whole, at))
        assert f"damaged at byte {begun} of" in refusal(read, path)


def test_a_flipped_bit_in_the_last_record_of_a_killed_run_cuts_it_alone(path):
    places = written(path, JOB, SLOTS[:3], killed=True)
    whole = path.read_bytes()
    for at in range(places[2], places[3]):
        path.write_bytes(flipped(whole, at))
        contents = read(path)
        assert same_rows(contents.rows, ROWS[: 2 * PER_SLOT])
        assert (contents.end, contents.cut) == (places[2], places[3] - places[2])


def test_a_flipped_bit_in_the_last_record_of_a_run_that_ended_is_refused(path):
    places = written(path, JOB, SLOTS[:3])
    whole = path.read_bytes()
    for at in range(places[2], places[3]):
        path.write_bytes(flipped(whole, at))
        assert f"damaged at byte {places[2]} of" in refusal(read, path)


def test_a_hole_that_a_power_failure_left_is_cut_with_what_follows(path):
    """Of three records the first was durable; a later one may be on the disk and an earlier one not."""
    path.write_bytes(new_archive(signature(JOB), ROWS[:0]))
    archive, places = Archive(path), [path.stat().st_size]
    for rows in SLOTS[:3]:
        archive.add_rows(rows)
        if rows is SLOTS[0]:
            archive.sync()
        places.append(path.stat().st_size)
    archive._broken = True  # so that nothing more is written
    archive.close()
    whole = path.read_bytes()
    mark = len(pack_record(RecordType.DURABLE, bytes(8)))  # before the second one

    def with_hole(start, end):
        return whole[:start] + bytes(end - start) + whole[end:]

    path.write_bytes(with_hole(places[1] + mark, places[2]))
    contents = read(path)
    assert same_rows(contents.rows, SLOTS[0])
    assert contents.end == places[1] + mark
    path.write_bytes(with_hole(places[0] + 30, places[0] + 60))
    assert f"damaged at byte {places[0]} of" in refusal(read, path)


def test_a_flipped_bit_in_the_header_is_refused(path):
    written(path, JOB, SLOTS[:2])
    whole = path.read_bytes()
    for at in range(len(header(signature(JOB), row_type(JOB)))):
        damaged = flipped(whole, at)
        path.write_bytes(damaged)
        message = refusal(read, path)
        expected = "is no archive" if at < 16 else "another version" if at < 20 else "header does not have its checksum"
        assert expected in message
        assert path.read_bytes() == damaged


def test_a_header_that_was_cut_short_is_refused(path):
    whole = header(signature(JOB), row_type(JOB))
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert re.search("cut short|does not have its checksum", refusal(read, path))


def test_another_version_is_refused(path):
    whole = header(signature(JOB), row_type(JOB))
    path.write_bytes(whole[:16] + struct.pack("<I", 2) + whole[20:])
    assert "another version of this program: format 2, this one has 1" in refusal(read, path)


@pytest.mark.parametrize("content", [b"", b"x_0,c_0,f\n0,0,1\n", bytes(1000), b"tuninglaw archive" * 20])
def test_what_is_no_archive_is_refused(content, path):
    path.write_bytes(content)
    assert refusal(read, path).startswith("--resume run: archive.bin is no archive")


def test_a_file_that_is_not_there_is_refused(path):
    assert refusal(read, path) == "--resume run: archive.bin cannot be read (No such file or directory)"


@pytest.mark.parametrize("kind", ["|O", "|S8", "<U4", "<c16", "<M8[s]", "|V8", "nonsense", "<f8, <f8", 3])
def test_only_plain_numbers_are_read(kind, path):
    path.write_bytes(with_content(json.dumps({"problem": {}, "fields": [["f", kind, []]]}).encode()) + bytes(64))
    assert "is no archive that this version can read: its fields are" in refusal(read, path)


def test_fields_that_make_no_row_are_refused(path):
    for fields in ([["f", "<f8", []], ["f", "<f8", []]], [["f", "<f8"]], [["f", "<f8", [-1]]], ["f"]):
        path.write_bytes(with_content(json.dumps({"problem": {}, "fields": fields}).encode()))
        assert "its fields are" in refusal(read, path)


FIELDS = [["kind", "|u1", []], ["step", "<i8", []], ["slot", "<i4", []], ["time_step", "<i4", []]]
HEADERS = {
    "no JSON": b"{",
    "a list": b"[]",
    "a number": b"3",
    "deep": b"[" * 100_000,
    "no UTF-8": b"\xff\xfe",
    "no problem": json.dumps({"fields": FIELDS}).encode(),
    "no fields": b'{"problem": {}}',
    "a problem of text": json.dumps({"problem": "x", "fields": FIELDS}).encode(),
    "a nested problem": b'{"problem": {"x": ' + b"[" * 50 + b"]" * 50 + b'}, "fields": []}',
    "no key": json.dumps({"problem": {}, "fields": FIELDS[1:]}).encode(),
    "nothing in a row": b'{"problem": {}, "fields": []}',
    "a huge row": json.dumps({"problem": {}, "fields": [*FIELDS, ["x", "<f8", [2**31 - 1]]]}).encode(),
    "an absurd row": json.dumps({"problem": {}, "fields": [*FIELDS, ["x", "<f8", [10**30]]]}).encode(),
    "a table in a row": json.dumps({"problem": {}, "fields": [*FIELDS, ["x", "<f8", [2, 2]]]}).encode(),
    "half a value": json.dumps({"problem": {}, "fields": [*FIELDS, ["x", "<f8", [0.5]]]}).encode(),
    "a field of fields": json.dumps({"problem": {}, "fields": [*FIELDS, ["x", [["y", "<f8"]], []]]}).encode(),
    "a key of fractions": json.dumps({"problem": {}, "fields": [["kind", "<f8", []], *FIELDS[1:]]}).encode(),
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_a_header_with_the_right_checksum_that_is_none_is_refused(content, path):
    path.write_bytes(with_content(content))
    assert "is no archive that this version can read" in refusal(read, path)


def test_a_header_is_not_longer_than_its_file(path):
    path.write_bytes(struct.pack("<16sII", MAGIC, 1, 2**32 - 1) + bytes(100))
    assert "its header does not have its checksum" in refusal(read, path)


@pytest.mark.parametrize("kind", list(RecordType))
@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_record_of_another_size_than_what_it_holds_is_refused(kind, size, path):
    path.write_bytes(new_archive(signature(JOB), ROWS[:2]) + pack_record(kind, bytes(size)))
    if kind == RecordType.ROWS and size == 0:
        assert same_rows(read(path).rows, ROWS[:2])
    else:
        assert "is damaged: a record has another size than what it holds" in refusal(read, path)


LOST = [
    ("nothing was begun", [("rows", 4)], 0),
    ("slow slots: what the drivers had", [("begin", 10, 2), ("rows", 4)], 2 * 3),
    ("fewer slots were left than drivers", [("begin", 10, 4), *[("rows", 1)] * 9], 1 * 3),
    ("a round that was completed", [("begin", 10, 2), *[("rows", 1)] * 10], 0),
    ("quick slots: the whole round", [("begin", 10, 10)], 10 * 3),
    ("quick slots, completed", [("begin", 10, 10), ("rows", 10)], 0),
    ("killed, and completed later", [("begin", 10, 2), ("rows", 4), ("begin", 6, 2), ("rows", 6)], 2 * 3),
    ("killed twice", [("begin", 10, 2), ("rows", 1), ("begin", 9, 3), ("rows", 1)], 2 * 3 + 3 * 3),
    ("killed after a round", [("begin", 10, 2), ("rows", 10), ("begin", 8, 2), ("rows", 1)], 2 * 3),
    ("a driver was lost", [("begin", 10, 2), ("rows", 4), ("lost", 3), ("rows", 6)], 3),
    ("a driver was lost, then the learner", [("begin", 10, 2), ("lost", 3), ("lost", 6), ("rows", 4)], 9 + 2 * 3),
    ("reused before", [("rows", 7), ("begin", 10, 2), ("rows", 10)], 0),
]


@pytest.mark.parametrize(("records", "lost"), [case[1:] for case in LOST], ids=[case[0] for case in LOST])
def test_what_was_in_flight_at_the_end_of_a_round_is_lost(records, lost, path):
    path.write_bytes(header(signature(JOB), row_type(JOB)))
    archive = Archive(path)
    for kind, *numbers in records:
        if kind == "begin":
            archive.begin(1, 0, *numbers, PER_SLOT)
        elif kind == "lost":
            archive.add_lost(*numbers)
        else:
            archive.add_rows(ROWS[: numbers[0] * PER_SLOT])
    archive.close()
    assert read(path).lost == lost
