"""What a killed run leaves is removed by the next one, and what lives is left alone."""

import errno
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from multiprocessing.shared_memory import SharedMemory

import pytest

from actors.job import Kind
from actors.pools import leftovers
from actors.pools.factory import make_pool
from actors.pools.shared_snapshot import SharedSnapshot
from tests.actors.pools.rounds import job, run, same, snapshot

pytestmark = [pytest.mark.faults, pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="shared memory is no file")]

LEARNER = """
import sys, time
from actors.job import Kind
from actors.pools.processes import ProcessPool
from tests.actors.pools.rounds import job, snapshot

pool = ProcessPool(job(), 2, 60)
pool.submit(0, snapshot(0), Kind.COLLECT)
print(pool._fleet._shared._memory.name, pool._fleet._keeper._process.pid, flush=True)
time.sleep(3600)
"""


@pytest.fixture
def temporary(monkeypatch):
    """Returns a temporary directory of its own, with a name that is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        monkeypatch.setenv("TMPDIR", path)
        monkeypatch.setattr(tempfile, "tempdir", path)
        yield pathlib.Path(path)


def test_the_next_run_removes_what_a_killed_group_left(temporary):
    learner = subprocess.Popen(
        [sys.executable, "-c", LEARNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        name, keeper = learner.stdout.readline().decode().split()
        memory = leftovers.SHARED_MEMORY / name
        (directory,) = temporary.glob("tuninglaw-*")
        leftovers.sweep()
        assert memory.exists()  # it lives
        assert directory.exists()
        os.kill(int(keeper), signal.SIGKILL)
    finally:
        os.killpg(learner.pid, signal.SIGKILL)
        learner.communicate()
    assert directory.exists()
    leftovers.sweep()
    assert not directory.exists()
    assert not memory.exists()


def test_only_what_has_our_name_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("tuninglaw-dead", "tuninglaw-unlocked", "pymp-dead"):
        (tmp_path / name).mkdir()
    for name in ("tuninglaw-dead", "pymp-dead"):
        (tmp_path / name / leftovers.LOCK).touch()
    (tmp_path / "tuninglaw-unlocked" / "data").touch()
    leftovers.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pymp-dead", "tuninglaw-unlocked"]


def test_what_is_left_where_a_start_or_a_removal_is_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "tuninglaw-new").mkdir()  # killed before there was a lock in it
    half = tmp_path / "tuninglaw-half"
    (half / "pymp-dead").mkdir(parents=True)
    (half / leftovers.LOCK).touch()
    (half / "pymp-dead" / "listener").touch()
    with monkeypatch.context() as killed:
        killed.setattr(pathlib.Path, "rmdir", lambda path: os._exit(1))
        child = multiprocessing.get_context("fork").Process(target=leftovers.sweep)
        child.start()
        child.join()
    assert child.exitcode == 1
    leftovers.sweep()
    assert list(tmp_path.iterdir()) == []


def test_shared_memory_that_is_swept_as_it_is_made_is_made_again(monkeypatch):
    made = []

    def swept_at_first(*arguments, **keywords):
        made.append(SharedMemory(*arguments, **keywords))
        if len(made) == 1:
            leftovers.sweep()
        return made[-1]

    missed = []
    monkeypatch.setattr(leftovers, "SharedMemory", swept_at_first)
    monkeypatch.setattr(leftovers.resource_tracker, "unregister", lambda *what: missed.append(what))
    memory, lock = leftovers.make_shared_memory(100)
    assert memory is made[1]
    assert missed == [(f"/{made[0].name}", "shared_memory")]  # else it is told at the end of the process
    assert lock is not None
    os.close(lock)
    memory.close()
    memory.unlink()


def test_a_link_with_our_name_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").touch()
    (tmp_path / "temporary" / "tuninglaw-dead").mkdir()
    os.symlink(tmp_path / "precious" / "data", tmp_path / "temporary" / "tuninglaw-dead" / leftovers.LOCK)
    os.symlink(tmp_path / "precious", tmp_path / "temporary" / "tuninglaw-link")
    leftovers.sweep()
    assert (tmp_path / "precious" / "data").exists()


def test_without_room_in_shared_memory_snapshots_travel_in_messages(monkeypatch, expected):
    def full(file, offset, length):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with make_pool(job(), 2, "process", 30) as pool:
        for step in range(3):
            assert same(run(pool, step)[0], expected[step])
        large = [snapshot(step, hidden=(300, 300)) for step in range(2)]
        trajectories = [run(pool, step, snap=large[step])[0] for step in range(2)]
        assert pool._fleet._shared._memory is None
    with make_pool(job(), 0, "process", 0) as here:
        for step in range(2):
            assert same(run(here, step, snap=large[step])[0], trajectories[step])


def test_pages_of_shared_memory_are_there_before_they_are_written():
    shared = SharedSnapshot()
    shared.write(bytes(3_000_000))
    used = (leftovers.SHARED_MEMORY / shared._memory.name).stat().st_blocks * 512
    shared.close()
    assert used >= 3_000_000


def test_a_temporary_directory_with_a_long_name_does_not_keep_drivers_from_starting(tmp_path):
    long = tmp_path / ("long" * 30)
    long.mkdir()
    program = (
        "from actors.pools.processes import ProcessPool\n"
        "from tests.actors.pools.rounds import job, run\n"
        "with ProcessPool(job(), 2, 60) as pool:\n"
        "    print(run(pool, 0)[0].slots.tolist())\n"
    )
    environment = os.environ | {"TMPDIR": str(long)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"{list(range(10))}\n", "")
    assert list(long.iterdir()) == []


def test_a_directory_that_the_program_had_before_is_used():
    program = (
        "import multiprocessing.util, pathlib\n"
        "mine = multiprocessing.util.get_temp_dir()\n"
        "from actors.pools import leftovers\n"
        "leftovers.temporary_directory()\n"
        "assert multiprocessing.util.get_temp_dir() == mine\n"
        "print(pathlib.Path(mine).name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("pymp-")
    assert not (pathlib.Path(tempfile.gettempdir()) / done.stdout.strip()).exists()


def test_one_directory_serves_all_pools_of_a_program():
    directories = set()
    for _ in range(2):
        with make_pool(job(), 1, "process", 30) as pool:
            run(pool, 0, Kind.COLLECT)
            directories.add(multiprocessing.util.get_temp_dir())
    assert len(directories) == 1


def test_a_directory_that_is_taken_for_a_leftover_before_it_is_locked_is_made_again(temporary, monkeypatch):
    """Another program sweeps between the making of the lock and the locking."""
    real, made = leftovers.fcntl.flock, []

    def flock(file, operation):
        if operation == leftovers.fcntl.LOCK_SH and not made:
            made.extend(temporary.glob("tuninglaw-*"))
            leftovers.sweep()
        real(file, operation)

    monkeypatch.setattr(leftovers.fcntl, "flock", flock)
    path = pathlib.Path(leftovers._locked_directory(str(temporary)))
    assert made
    assert not made[0].exists()
    leftovers.sweep()
    assert path.exists()
