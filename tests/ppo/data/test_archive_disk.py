"""A disk that is full or cannot be written to is one line, and costs none of the rows before; fsync is not overdone."""

import contextlib
import errno
import os
import resource
import types

import numpy as np
import pytest

from ppo.data.archive import Archive, read_archive, reopen
from ppo.data.files import write_atomically
from tests.ppo.data.archives import PER_SLOT, job, refusal, round_rows, same_rows, written

JOB = job()
ROWS = round_rows(JOB)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "archive.bin"
    written(path, JOB, [ROWS[:6], ROWS[6:12]])
    return path


@contextlib.contextmanager
def room_for(size):
    """Lets no file of this process grow beyond ``size`` bytes: the write that does is cut short, the next one fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("room", [0, 1, 19, 20, 21, 193])
def test_a_full_disk_is_one_line_and_costs_no_row_that_was_kept(room, path):
    size = path.stat().st_size
    archive = reopen(path, read_archive(path, "run"))
    with room_for(size + room):
        message = refusal(archive.add_rows, ROWS[12 : 12 + PER_SLOT])
    assert message.startswith(f"{path}: cannot be written to (File too large); what was written before is kept")
    assert message.endswith(f"--resume {path.parent}")
    assert path.stat().st_size == size + room
    for more in (
        lambda: archive.add_rows(ROWS[12:]),
        lambda: archive.begin(1, 0, 10, 2, 3),
        lambda: archive.add_lost(3),
    ):
        more()
    archive.sync_if_due()
    archive.close()
    assert path.stat().st_size == size + room
    contents = read_archive(path, "run")
    assert same_rows(contents.rows, ROWS[:12])
    assert (contents.end, contents.cut) == (size, room)
    again = reopen(path, contents)
    again.add_rows(ROWS[12:])
    again.close()
    assert same_rows(read_archive(path, "run").rows, ROWS)


def test_a_write_that_takes_a_part_is_finished(path, monkeypatch):
    write, sizes = os.write, []

    def in_parts(file, data):
        sizes.append(len(data))
        return write(file, bytes(data[:50]))

    archive = Archive(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", in_parts)
        archive.add_rows(ROWS[12:])
    archive.close()
    assert len(sizes) > 10
    assert same_rows(read_archive(path, "run").rows, ROWS)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_file_that_cannot_be_opened_for_writing_is_one_line(code, path, monkeypatch):
    def refuses(name, *arguments, **keywords):
        raise OSError(code, os.strerror(code), str(name))

    before = path.read_bytes()
    contents = read_archive(path, "run")
    monkeypatch.setattr(os, "open", refuses)
    assert f"{path}: cannot be written to ({os.strerror(code)})" in refusal(Archive, path)
    monkeypatch.setattr(os, "truncate", refuses)
    assert f"({os.strerror(code)})" in refusal(reopen, path, contents)
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_torn_tail_that_cannot_be_cut_is_one_line(path, monkeypatch):
    def refuses(name, length):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(name))

    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    monkeypatch.setattr(os, "truncate", refuses)
    assert "cannot be written to (Read-only file system)" in refusal(reopen, path, read_archive(path, "run"))
    assert path.read_bytes() == whole[:-1]


@pytest.fixture
def clock(monkeypatch):
    """Returns a clock that stands still until it is set, and the times at which files were made durable."""

    made = types.SimpleNamespace(now=100.0, synced=[])
    monkeypatch.setattr("ppo.data.archive.time.monotonic", lambda: made.now)
    monkeypatch.setattr(os, "fsync", lambda file: made.synced.append(made.now))
    return made


def test_rows_are_made_durable_once_a_second_at_most_and_at_the_end(path, clock):
    archive = Archive(path)
    for clock.now in np.arange(100, 103.25, 0.25):
        archive.add_rows(ROWS[:1])
        archive.sync_if_due()
    assert clock.synced == [101, 102, 103]
    archive.add_rows(ROWS[:1])
    archive.sync_if_due()
    archive.close()
    assert clock.synced == [101, 102, 103, 103]


def test_nothing_is_made_durable_where_nothing_was_written(path, clock):
    archive = Archive(path)
    clock.now += 10
    archive.sync_if_due()
    archive.sync()
    archive.close()
    assert clock.synced == []


def test_a_disk_that_fails_to_make_rows_durable_is_one_line(path, monkeypatch):
    def fails(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    archive = Archive(path)
    archive.add_rows(ROWS[12:])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        assert "cannot be written to (Input/output error)" in refusal(archive.sync)
    archive.add_rows(ROWS)  # is not written: the disk is not to be trusted any more
    assert "cannot be written to (Input/output error)" in refusal(archive.sync)  # so that no checkpoint rests on it
    archive.close()
    assert same_rows(read_archive(path, "run").rows, ROWS)


def test_what_came_before_a_write_that_failed_is_made_durable(path, monkeypatch):
    """A checkpoint is written as the run ends, and rests on it."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    archive = Archive(path)
    archive.add_rows(ROWS[12:15])
    length = path.stat().st_size
    with room_for(length + 7):
        refusal(archive.add_rows, ROWS[15:18])
    archive.sync()
    assert synced == [length + 7]
    assert archive.length == length
    archive.close()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "law.npz"
    write_atomically(target, b"old")
    assert target.read_bytes() == b"old"
    with room_for(100):
        assert refusal(write_atomically, target, bytes(1000)).startswith(f"{target}: cannot be written to")
    assert target.read_bytes() == b"old"

    def fails(source, to):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        assert "No space left on device" in refusal(write_atomically, target, b"new")
    assert target.read_bytes() == b"old"
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]
    assert refusal(write_atomically, tmp_path / "none" / "law.npz", b"").startswith(f"{tmp_path}/none")


def test_what_a_killed_run_had_written_is_made_durable_by_the_one_that_goes_on(path, monkeypatch):
    """Its checkpoint may rest on rows that it only read."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    archive = reopen(path, read_archive(path, "run"))
    archive.sync()
    assert synced == [path.stat().st_size]
    before = path.read_bytes()
    archive.close()
    assert path.read_bytes() == before
