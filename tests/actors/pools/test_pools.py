"""Every backend returns the same trajectories, and a driver's exception with its traceback."""

import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import Kind, Task
from actors.pools.base import DriverError, StoppedError
from actors.pools.factory import make_pool
from tests.actors.pools.rounds import job, run, same, snapshot
from tests.problems import Quadratic

COUNTDOWN = NetworkSpec(2, (8,), "tanh", "categorical", 1, (3,))


@pytest.mark.parametrize("drivers", [1, 3, 16])
@pytest.mark.parametrize("backend", ["process", "thread"])
def test_every_backend_returns_the_same_trajectories(backend, drivers, expected):
    with make_pool(job(), drivers, backend, 30) as pool:
        for step in range(4):
            trajectory, done = run(pool, step)
            assert same(trajectory, expected[step])
            if step == 0:  # later ones are dealt by what slots cost, which is the machine's to say
                assert len(done.shares) == min(drivers, 10)
            assert sum(done.shares) == 10
            assert done.broadcast >= 0
            assert done.collect >= 0
        trajectory, _ = run(pool, 4, Kind.EVALUATE)
        assert same(trajectory, expected[4])
        assert pool.restarts == 0


def test_random_numbers_of_the_process_are_those_of_the_slot_whoever_runs_it():
    a_job = job("tests.chance:GlobalChance")
    with make_pool(a_job, 0, "process", 0) as pool:
        wanted = [run(pool, step)[0] for step in range(2)]
    with make_pool(a_job, 3, "process", 30) as pool:
        assert same(run(pool, 0)[0], wanted[0])
        os.kill(pool._roster.drivers[0].handle.process.pid, signal.SIGKILL)
        assert same(run(pool, 1)[0], wanted[1])
        assert pool.restarts == 1
    noise = [step.objectives - Quadratic()(step.obs[:, 0, :2], step.obs[:, 0, 2:])[:, None] for step in wanted]
    assert len(np.unique([step[:, 0].round(9) for step in noise])) == 20  # of the starts: no driver repeats another's


@pytest.mark.parametrize(("drivers", "backend"), [(0, "process"), (2, "process"), (2, "thread")])
@pytest.mark.parametrize("env", ["tests.problems:RaisesRowByRow", "tests.problems:RaisingCountdownEnv"])
def test_the_slot_that_raised_is_told(env, drivers, backend):
    tuning = env.endswith("RowByRow")
    sound, sampler = ("Quadratic", "random") if tuning else ("CountdownEnv", "env")
    snap = snapshot(2) if tuning else Snapshot(2, COUNTDOWN, np.zeros(COUNTDOWN.size))
    with make_pool(job(f"tests.problems:{sound}", sampler=sampler), 0, "process", 30) as pool:
        starts = run(pool, 2, snap=snap)[0].obs[:, 0]
    raising = np.flatnonzero(starts[:, 2] > 0.5 if tuning else starts[:, 1] == 4).tolist()
    assert raising == ([1, 7] if tuning else [4, 8])  # neither is the first slot of a driver
    with make_pool(job(env, sampler=sampler), drivers, backend, 30) as pool, pytest.raises(DriverError) as caught:
        run(pool, 2, snap=snap)
    told = caught.value.slot
    assert told in [Task(Kind.COLLECT, 2, slot, slot + 1) for slot in (raising if drivers else raising[:1])]


def test_a_generator_of_f_is_the_slots_in_threads_too():
    a_job = job("tests.chance:OwnChance")
    with make_pool(a_job, 0, "process", 0) as pool:
        wanted = run(pool, 0)[0]
    with make_pool(a_job, 3, "thread", 30) as pool:
        assert same(run(pool, 0)[0], wanted)


@pytest.mark.parametrize("drivers", [0, 2])
@pytest.mark.parametrize("backend", ["process", "thread"])
def test_a_drivers_exception_is_raised_with_its_traceback(backend, drivers):
    raises = pytest.raises(DriverError, match="ValueError: the probe lost contact")
    with make_pool(job("tests.problems:RaisesForSomeConditions"), drivers, backend, 30) as pool, raises as caught:
        for step in range(3):
            run(pool, step)
    trace = "".join(traceback.format_exception(caught.value.__cause__))
    assert 'raise ValueError("the probe lost contact")' in trace
    assert "tests/problems.py" in trace


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_a_round_is_given_up_where_another_thread_says_so(backend, tmp_path):
    slow, ends = {"path": str(tmp_path / "count"), "seconds": 0.03}, []

    def wait():
        try:
            pool.result()
        except StoppedError as stopped:
            ends.append(stopped)

    with make_pool(job("tests.problems:Counted", env_kwargs=slow), 2, backend, 0) as pool:
        assert pool.beside
        pool.submit(0, snapshot(), Kind.COLLECT)
        waiting = threading.Thread(target=wait)
        waiting.start()
        while not (tmp_path / "count").exists():
            time.sleep(1e-3)
        pool.stop()
        waiting.join(30)
    assert len(ends) == 1


def test_without_drivers_nothing_runs_beside_the_caller():
    with make_pool(job(), 0, "process", 0) as pool, make_pool(job(), "auto", "process", 0) as undecided:
        assert not pool.beside
        assert not undecided.beside
