import dataclasses
import os
import signal
import time
import traceback

import numpy as np
import psutil
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import Job, Kind
from actors.pools.base import DriverError
from actors.pools.factory import make_pool
from actors.pools.processes import ProcessPool
from env import Problem, UsageError

EVAL_STARTS = np.zeros((6, 3))


def job(env="tests.problems:Quadratic", episodes=10, sampler="random", time_steps=2, **changes):
    return Job(Problem(env, time_steps=time_steps, **changes), sampler, 8, 0, episodes, time_steps, EVAL_STARTS)


def snapshot(version=0, obs_dim=3, action_dim=2, hidden=(8,)):
    spec = NetworkSpec(obs_dim, hidden, "tanh", "gaussian", action_dim)
    return Snapshot(version, spec, 0.1 * np.random.default_rng(version).normal(size=spec.size))


def run(pool, step, kind=Kind.COLLECT, snap=None):
    snap = snap or snapshot(step)
    pool.submit(step, snap, kind)
    done = pool.result()
    return copy_of(done.trajectory), done


def copy_of(trajectory):
    """The next round of the same kind overwrites them."""
    return dataclasses.replace(
        trajectory,
        **{field.name: getattr(trajectory, field.name).copy() for field in dataclasses.fields(trajectory)[:-1]},
    )


def same(a, b):
    return all(
        np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True)
        for n in ("obs", "actions", "logprobs", "objectives")
    )


@pytest.fixture(scope="module")
def expected():
    with make_pool(job(), 0, "process", 0) as pool:
        return [run(pool, step)[0] for step in range(4)] + [run(pool, 4, Kind.EVALUATE)[0]]


@pytest.mark.parametrize("drivers", [1, 3, 16])
@pytest.mark.parametrize("backend", ["process", "thread"])
def test_every_backend_returns_the_same_facts(backend, drivers, expected):
    with make_pool(job(), drivers, backend, 30) as pool:
        for step in range(4):
            trajectory, done = run(pool, step)
            assert same(trajectory, expected[step])
            assert len(done.shares) <= min(drivers, 10)
            assert sum(done.shares) == 10
            assert done.broadcast >= 0
            assert done.collect >= 0
        trajectory, _ = run(pool, 4, Kind.EVALUATE)
        assert same(trajectory, expected[4])
        assert pool.restarts == 0


@pytest.mark.parametrize("drivers", [0, 2])
@pytest.mark.parametrize("backend", ["process", "thread"])
def test_an_exception_reaches_the_user_with_the_drivers_traceback_as_its_cause(backend, drivers):
    told = pytest.raises(DriverError, match="ValueError: the probe lost contact")
    with make_pool(job("tests.problems:RaisesForSomeConditions"), drivers, backend, 30) as pool, told as caught:
        for step in range(3):
            run(pool, step)
    trace = "".join(traceback.format_exception(caught.value.__cause__))
    assert 'raise ValueError("the probe lost contact")' in trace
    assert "tests/problems.py" in trace


def test_a_broken_connection_of_the_users_own_is_not_taken_for_the_pipe():
    told = pytest.raises(DriverError, match="ConnectionResetError: the instrument hung up")
    with make_pool(job("tests.problems:RaisesConnectionError"), 2, "process", 30) as pool, told:
        run(pool, 0)


def test_the_time_a_hung_driver_took_is_not_billed_to_broadcast(tmp_path, monkeypatch):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "hung"))
    with with_environment(job("tests.problems:HangsOnce"), 2, timeout=2.0) as pool:
        _, done = run(pool, 0)
    assert done.broadcast < 1 < done.collect


def test_a_driver_killed_between_rounds_is_replaced(expected):
    with make_pool(job(), 3, "process", 30) as pool:
        assert same(run(pool, 0)[0], expected[0])
        os.kill(pool._drivers[1].process.pid, signal.SIGKILL)
        time.sleep(0.1)
        assert same(run(pool, 1)[0], expected[1])
        assert same(run(pool, 2)[0], expected[2])
        assert pool.restarts == 1
        assert all(driver.process.is_alive() for driver in pool._drivers)


def test_all_drivers_killed_while_they_work(expected):
    with make_pool(job(evaluation_cost_ms=20), 3, "process", 30) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        for driver in pool._drivers:
            os.kill(driver.process.pid, signal.SIGKILL)
        trajectory = pool.result().trajectory
        assert same(trajectory, expected[0])
        assert pool.restarts == 3


def test_a_driver_that_kills_itself_mid_task(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "died"))
    with with_environment(job("tests.problems:KillsDriverOnce"), 2) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert pool.restarts == 1


def test_a_driver_past_its_time_is_replaced(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "hung"))
    with with_environment(job("tests.problems:HangsOnce"), 2, timeout=1.0) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert pool.restarts == 1


def test_a_stopped_driver_is_replaced_even_when_the_snapshot_fills_the_pipe():
    large = [snapshot(step, hidden=(600, 600)) for step in range(2)]
    assert len(large[0].to_bytes()) > 2_000_000
    with make_pool(job(), 2, "process", 1.5) as pool:
        first = run(pool, 0, snap=large[0])[0]
        os.kill(pool._drivers[0].process.pid, signal.SIGSTOP)
        trajectory = run(pool, 1, snap=large[1])[0]
        assert pool.restarts >= 1
    assert not same(first, trajectory)
    with make_pool(job(), 0, "process", 0) as pool:
        assert same(run(pool, 1, snap=large[1])[0], trajectory)


def test_a_task_that_kills_every_driver_is_given_up():
    told = pytest.raises(DriverError, match=r"driver . died in slot . of step 0, and 4 before it did")
    with make_pool(job("tests.problems:KillsEveryDriver"), 2, "process", 30) as pool, told:
        run(pool, 0)


def test_a_mistake_in_the_job_shows_before_any_process_starts():
    before = len(psutil.Process().children(recursive=True))
    with pytest.raises(UsageError, match="cannot be set"):
        make_pool(Job(Problem("tests.problems:CountdownEnv", time_steps=10), "lhs", 8, 0, 4, 10), 2, "process", 30)
    assert len(psutil.Process().children(recursive=True)) == before


@pytest.mark.timeout(60)
def test_no_deadlock_when_snapshot_and_facts_exceed_a_pipes_buffer():
    wide = Job(Problem("tests.problems:WideEnv", time_steps=40), "env", 8, 0, 8, 40, None, 2, 1)
    large = snapshot(0, obs_dim=2000, hidden=(300,))
    with make_pool(wide, 3, "process", 30) as pool:
        trajectory, done = run(pool, 0, snap=large)
        assert len(large.to_bytes()) > 4_000_000
        assert min(done.shares) * pool.layout(Kind.COLLECT).slot_bytes > 1_000_000
        again, _ = run(pool, 0, snap=large)
    assert same(trajectory, again)


def test_drivers_end_with_their_pool_and_with_the_pipe():
    pool = make_pool(job(), 3, "process", 30)
    processes = [psutil.Process(driver.process.pid) for driver in pool._drivers]
    assert all(driver.process.daemon for driver in pool._drivers)
    pool._drivers[0].connection.close()
    processes[0].wait(timeout=5)
    pool._drivers.pop(0)
    pool.close()
    assert not any(process.is_running() for process in processes)


def test_a_driver_maps_no_torch_has_one_blas_thread_and_does_not_rerun_main():
    import torch  # the learner's process has it

    assert torch.__version__
    with make_pool(job(), 2, "process", 30) as pool:
        run(pool, 0)
        for driver in pool._drivers:
            process = psutil.Process(driver.process.pid)
            maps = [mapped.path for mapped in process.memory_maps()]
            assert any("numpy" in path for path in maps)
            assert not any("torch" in path for path in maps)
            assert process.num_threads() == 1


def with_environment(a_job, drivers, timeout=30.0):
    """A pool whose drivers see this process's environment of now: the fork server has that of when it began."""
    import multiprocessing

    from actors import processes

    original = processes.driver_context
    processes.driver_context = lambda preload: multiprocessing.get_context("spawn")
    try:
        return ProcessPool(a_job, drivers, timeout)
    finally:
        processes.driver_context = original


def test_a_snapshot_alone_reaches_every_driver_and_is_not_sent_again(expected):
    with make_pool(job(), 3, "process", 30) as pool:
        assert 0 < pool.broadcast(snapshot(0)) < 10
        assert [driver.version for driver in pool._drivers] == [0, 0, 0]
        assert same(run(pool, 0)[0], expected[0])


def shares_dealt(pool, step):
    pool.submit(step, snapshot(step), Kind.COLLECT)
    return sorted(pool.result().shares)


def test_quick_slots_are_dealt_to_few_drivers_and_slow_uneven_ones_one_at_a_time():
    with make_pool(job(episodes=12), 6, "process", 30) as pool:
        assert shares_dealt(pool, 0) == [2] * 6  # nothing is known yet
        for step in range(1, 8):
            dealt = shares_dealt(pool, step)
        assert len(dealt) < 6
    with make_pool(job(episodes=12, evaluation_cost_ms=5), 3, "process", 30) as pool:
        assert [shares_dealt(pool, step) for step in range(3)] == [[4] * 3] * 3  # slow, but evenly so
    with make_pool(job("tests.problems:UnevenCost", episodes=12), 3, "process", 30) as pool:
        assert shares_dealt(pool, 0) == [4] * 3
        assert shares_dealt(pool, 1) == [1] * 12


def test_shared_memory_is_freed_with_the_pool_and_by_nobody_else():
    with make_pool(job(), 2, "process", 30) as pool:
        run(pool, 0)
        name = pool._board._block.name
        os.kill(pool._drivers[0].process.pid, signal.SIGKILL)
        run(pool, 1)
        assert pool._board._block.name == name
        assert os.path.exists(f"/dev/shm/{name}") or not os.path.isdir("/dev/shm")
    assert not os.path.exists(f"/dev/shm/{name}")
