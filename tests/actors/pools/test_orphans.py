"""Nothing that a pool has started outlives it, nor the learner, however they end."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from actors.job import Job
from actors.pools.base import DriverError
from actors.pools.factory import make_pool
from env import Problem
from tests.actors.pools.rounds import job, run, snapshot

LEARNER = textwrap.dedent("""
    import sys, time
    from actors.job import Kind
    from actors.pools.processes import ProcessPool
    from tests.actors.pools.rounds import job, snapshot

    with ProcessPool(job(sys.argv[1]), 2, 60) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        print("submitted", flush=True)
        time.sleep(3600)
""")

pytestmark = [pytest.mark.faults, pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux' processes")]


def gone(pids, seconds):
    """Returns whether all processes end within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Returns a function that waits for so many processes to be noted, and returns their ids."""
    monkeypatch.setenv("TUNINGLAW_TEST_PIDS", str(tmp_path))

    def wait(count):
        deadline = time.monotonic() + 30
        while len(found := [int(path.name) for path in tmp_path.iterdir()]) < count:
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        return found

    return wait


@pytest.mark.parametrize("group", [False, True], ids=["the learner", "its group"])
@pytest.mark.parametrize(("objective", "count"), [("Blocks", 4), ("HoldsTheGIL", 2), ("HasAThread", 2)])
def test_nothing_outlives_a_killed_learner(objective, count, group, noted):
    command = [sys.executable, "-c", LEARNER, f"tests.hostile:{objective}"]
    learner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    with learner:
        assert learner.stdout.readline() == b"submitted\n"
        started = {child.pid for child in psutil.Process(learner.pid).children(recursive=True)} | set(noted(count))
        assert len(started) >= 5  # two drivers, their keeper, the fork server and the resource tracker
        os.killpg(learner.pid, signal.SIGKILL) if group else learner.kill()
    if group and objective == "Blocks":  # the keeper is in a session of its own, and still ends what they started
        assert gone(started, 5)
    assert gone(started, 5)


def test_what_a_driver_has_started_ends_with_it(noted, spawning_pool):
    with spawning_pool(job("tests.hostile:Blocks"), 1, timeout=3.0) as pool:
        pool.submit(0, snapshot(0), next(iter(pool._layouts)))
        before = noted(2)
        while pool.restarts == 0:
            pool._handle_events()
        assert gone(before, 5)
        assert alive(pool._roster.drivers[0].handle.pid)
        after = set(noted(2)) - set(before)
    assert gone(after, 5)


def test_environments_have_time_to_close_their_processes(noted, spawning_pool):
    a_job = Job(Problem("tests.hostile:SimulatorEnv", time_steps=5), "env", 8, 0, 9, 5, None, eval_episodes=2)
    with spawning_pool(a_job, 3) as pool:
        run(pool, 0, snap=snapshot(0, obs_dim=2, action_dim=1))
        started = noted(9)
        began = time.monotonic()
    assert time.monotonic() - began > 0.3 * 3  # each driver closes one after the other
    assert gone(started, 0.5)


def test_a_driver_with_a_thread_of_its_own_does_not_keep_a_pool_from_closing(noted, spawning_pool):
    with spawning_pool(job("tests.hostile:HasAThread"), 2) as pool:
        run(pool, 0)
        drivers = [driver.handle.pid for driver in pool._roster.drivers]
        began = time.monotonic()
    assert time.monotonic() - began < 5  # and not an hour, nor the time that environments have
    assert gone(drivers, 1)


@pytest.mark.parametrize(("backend", "drivers"), [("thread", 0), ("thread", 2), ("process", 2)])
@pytest.mark.parametrize(("objective", "what"), [("Exits", "SystemExit: 0"), ("StopsIteration", "StopIteration: the")])
def test_an_objective_that_ends_the_program_is_an_error(backend, drivers, objective, what):
    with (
        make_pool(job(f"tests.hostile:{objective}"), drivers, backend, 30) as pool,
        pytest.raises(DriverError, match=what),
    ):
        run(pool, 0)


@pytest.mark.timeout(60, method="thread")  # the other one takes the alarm
@pytest.mark.parametrize("drivers", [0, 2])
def test_a_time_limit_holds_without_processes_too(drivers):
    limit = r"slot 0 to \d of step 0 took longer than --driver-timeout 0.3 s"
    began = time.monotonic()
    with (
        make_pool(job("tests.hostile:WaitsForever"), drivers, "thread", 0.3) as pool,
        pytest.raises(DriverError, match=limit),
    ):
        run(pool, 0)
    assert time.monotonic() - began < 5
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
