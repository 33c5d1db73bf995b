"""Driver processes that die, hang or stop change no result; none outlives its pool, and none loads torch."""

import dataclasses
import os
import signal
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from actors.critic import Critic
from actors.job import Job, Kind
from actors.pools.base import DriverError
from actors.pools.environment import THREAD_LIMITS
from actors.pools.factory import make_pool
from env import Problem, UsageError
from tests.actors.mixtures import mixture, random_critic, random_plan
from tests.actors.pools.rounds import job, run, same, snapshot


def test_a_users_broken_connection_is_no_broken_pipe():
    raises = pytest.raises(DriverError, match="ConnectionResetError: the instrument hung up")
    with make_pool(job("tests.problems:RaisesConnectionError"), 2, "process", 30) as pool, raises:
        run(pool, 0)


def test_the_time_of_a_hung_driver_is_not_broadcast_time(tmp_path, monkeypatch, spawning_pool):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "hung"))
    with spawning_pool(job("tests.problems:HangsOnce"), 2, timeout=2.0) as pool:
        _, done = run(pool, 0)
    assert done.broadcast < 1 < done.collect


def test_a_driver_killed_between_rounds_is_replaced(expected):
    with make_pool(job(), 3, "process", 30) as pool:
        assert same(run(pool, 0)[0], expected[0])
        os.kill(pool._roster.drivers[1].handle.process.pid, signal.SIGKILL)
        time.sleep(0.1)
        assert same(run(pool, 1)[0], expected[1])
        assert same(run(pool, 2)[0], expected[2])
        assert pool.restarts == 1
        assert all(driver.handle.process.is_alive() for driver in pool._roster.drivers)


def test_all_drivers_killed_while_they_work(expected):
    with make_pool(job(evaluation_cost_ms=20), 3, "process", 30) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        for driver in pool._roster.drivers:
            os.kill(driver.handle.process.pid, signal.SIGKILL)
        trajectory = pool.result().trajectory
        assert same(trajectory, expected[0])
        assert pool.restarts == 3


def test_a_driver_that_kills_itself_mid_task(tmp_path, monkeypatch, spawning_pool, expected):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "died"))
    with spawning_pool(job("tests.problems:KillsDriverOnce"), 2) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert pool.restarts == 1


def test_a_driver_past_its_time_is_replaced(tmp_path, monkeypatch, spawning_pool, expected):
    monkeypatch.setenv("TUNINGLAW_TEST_FLAG", str(tmp_path / "hung"))
    with spawning_pool(job("tests.problems:HangsOnce"), 2, timeout=5.0) as pool:  # it bounds a driver's start too
        assert same(run(pool, 0)[0], expected[0])
        assert pool.restarts == 1


def test_a_stopped_driver_is_replaced_under_a_large_snapshot():
    large = [snapshot(step, hidden=(600, 600)) for step in range(2)]
    assert len(large[0].to_bytes()) > 2_000_000
    with make_pool(job(), 2, "process", 1.5) as pool:
        first = run(pool, 0, snap=large[0])[0]
        os.kill(pool._roster.drivers[0].handle.process.pid, signal.SIGSTOP)
        trajectory = run(pool, 1, snap=large[1])[0]
        assert pool.restarts >= 1
    assert not same(first, trajectory)
    with make_pool(job(), 0, "process", 0) as pool:
        assert same(run(pool, 1, snap=large[1])[0], trajectory)


def test_a_task_that_kills_every_driver_ends_the_run():
    raises = pytest.raises(DriverError, match=r"driver . died in slot . of step 0, and 4 before it did")
    with make_pool(job("tests.problems:KillsEveryDriver"), 2, "process", 30) as pool, raises:
        run(pool, 0)


def test_a_mistake_in_the_job_starts_no_process():
    before = len(psutil.Process().children(recursive=True))
    with pytest.raises(UsageError, match="cannot be set"):
        make_pool(Job(Problem("tests.problems:CountdownEnv", time_steps=10), "lhs", 8, 0, 4, 10), 2, "process", 30)
    assert len(psutil.Process().children(recursive=True)) == before


@pytest.mark.timeout(60)
def test_no_deadlock_when_messages_exceed_a_pipes_buffer():
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
    processes = [psutil.Process(driver.handle.process.pid) for driver in pool._roster.drivers]
    pool._roster.drivers[0].handle.connection.close()
    processes[0].wait(timeout=5)
    pool._roster.remove(pool._roster.drivers[0])
    pool.close()
    assert not any(process.is_running() for process in processes)


def test_a_driver_has_one_thread_and_no_torch():
    import torch  # the learner's process has it

    assert torch.__version__
    with make_pool(job(), 2, "process", 30) as pool:
        run(pool, 0)
        for driver in pool._roster.drivers:
            process = psutil.Process(driver.handle.process.pid)
            maps = [mapped.path for mapped in process.memory_maps()]
            assert any("numpy" in path for path in maps)
            assert not any("torch" in path for path in maps)
            assert process.num_threads() == 1


def test_a_broadcast_snapshot_is_not_sent_again(expected):
    with make_pool(job(), 3, "process", 30) as pool:
        assert 0 < pool.broadcast(snapshot(0)) < 10
        assert [driver.edition for driver in pool._roster.drivers] == [pool._fleet._shared.edition] * 3 == [1, 1, 1]
        assert same(run(pool, 0)[0], expected[0])
        assert pool._fleet._shared.edition == 1


def test_rounds_of_one_version_may_have_different_snapshots():
    """What is sent depends on the bytes: the critic of an evaluation, the plan of the next round, other parameters."""
    a_job = dataclasses.replace(job(time_steps=6), components=3, planned=(8, 8), mirrored=True)
    plain = mixture(3, version=2)
    critic, plan = random_critic()[0], random_plan(8)
    large = Critic(np.zeros((900, 3)), np.zeros(900), np.ones(3), np.ones(8))
    rounds = [
        (Kind.EVALUATE, dataclasses.replace(plain, critic=critic)),
        (Kind.PLAN, dataclasses.replace(plain, plan=plan)),
        (Kind.EVALUATE, dataclasses.replace(plain, critic=critic)),
        (Kind.EVALUATE, plain),
        (Kind.COLLECT, dataclasses.replace(plain, live=np.array([True, False, True]))),
        (Kind.COLLECT, mixture(3, seed=7, version=2)),
        (Kind.PLAN, dataclasses.replace(plain, plan=random_plan(8, seed=1))),
        (Kind.PLAN, dataclasses.replace(plain, plan=random_plan(8, seed=2))),
        (Kind.EVALUATE, dataclasses.replace(plain, critic=large)),
        (Kind.PLAN, dataclasses.replace(plain, plan=plan)),
    ]
    with make_pool(a_job, 0, "process", 0) as here, make_pool(a_job, 2, "process", 30) as pool:
        for kind, snap in rounds:
            assert same(run(pool, 2, kind, snap)[0], run(here, 2, kind, snap)[0])
        assert pool._fleet._shared.edition == len(rounds)


def test_the_cost_of_slots_decides_how_they_are_dealt(monkeypatch):
    costs = iter([(0.0001, 0.5), (0.02, 0.5), (0.02, 0.05)])
    monkeypatch.setattr("actors.pools.dealing.Round.slot_cost", lambda current: next(costs))
    with make_pool(job(episodes=12), 3, "process", 30) as pool:
        shares = [sorted(run(pool, step)[1].shares) for step in range(3)]
    assert shares == [[4] * 3, [6, 6], [1] * 12]  # nothing is known yet; quick ones; slow and uneven ones


def test_the_cost_of_a_real_slot_is_measured():
    with make_pool(job(episodes=12, evaluation_cost_ms=5), 3, "process", 30) as pool:
        run(pool, 0)
        assert pool._slot_costs[Kind.COLLECT][0] > 0.005


def test_shared_memory_lives_as_long_as_its_pool():
    with make_pool(job(), 2, "process", 30) as pool:
        run(pool, 0)
        name = pool._fleet._shared._memory.name
        os.kill(pool._roster.drivers[0].handle.process.pid, signal.SIGKILL)
        run(pool, 1)
        assert pool._fleet._shared._memory.name == name
        assert os.path.exists(f"/dev/shm/{name}") or not os.path.isdir("/dev/shm")
    assert not os.path.exists(f"/dev/shm/{name}")


def test_pools_started_by_several_threads_leave_the_program_as_it_was():
    main, limits = sys.modules["__main__"], {name: os.environ.get(name) for name in THREAD_LIMITS}

    def start():
        for _ in range(3):
            make_pool(job(), 2, "process", 30).close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.modules["__main__"] is main
    assert {name: os.environ.get(name) for name in THREAD_LIMITS} == limits


def test_an_environment_in_a_driver_may_have_processes_of_its_own():
    a_job = Job(Problem("tests.hostile:ParentEnv", time_steps=4), "env", 8, 0, 2, 4, eval_episodes=1)
    with make_pool(a_job, 2, "process", 30) as pool:
        trajectory, _ = run(pool, 0, snap=snapshot(0, obs_dim=2, action_dim=1))
    assert (trajectory.rewards[:, 0] == 7).all()
