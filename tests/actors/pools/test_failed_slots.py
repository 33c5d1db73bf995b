"""Where failures are kept, a slot that no driver comes back from is completed as one that failed, and no other is."""

import dataclasses
import time

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.plan import Plan
from actors.pools.base import DriverError
from actors.pools.processes import ProcessPool
from actors.pools.threads import ThreadPool
from actors.trajectory import Trajectory
from tests.actors.pools.rounds import copy_of, job, same, snapshot
from tests.actors.pools.test_record import Kept

FAILING, TOGETHER = "tests.failing:Failing", "tests.failing:FailingTogether"
LIMIT = 0.6


def failing_job(how, env=FAILING, keep_failures=True, seconds=30.0):
    made = job(env, env_kwargs={"how": how, "limit": LIMIT, "seconds": seconds})
    starts = np.concatenate([np.zeros((6, 2)), np.linspace(-1, 1, 6)[:, None]], axis=1)
    return dataclasses.replace(made, eval_starts=starts, keep_failures=keep_failures, planned=(8, 4))


def planned():
    rng = np.random.default_rng(3)
    states, actions = rng.uniform(-1, 1, (8, 3)), rng.uniform(-1, 1, (8, 2))
    return dataclasses.replace(snapshot(2), plan=Plan(states, actions))


ROUNDS = ((Kind.COLLECT, snapshot(1)), (Kind.EVALUATE, snapshot(1)), (Kind.DESIGN, planned()))


def rounds(pool, record=None):
    found = []
    for kind, snap in ROUNDS:
        pool.submit(snap.version, snap, kind, record)
        found.append(copy_of(pool.result().trajectory))
    return found


@pytest.fixture(scope="module")
def wanted():
    """The rounds of an objective that is NaN where the others fail, in this process."""
    with ThreadPool(failing_job("nan"), 0) as pool:
        found = rounds(pool)
    for one in found:
        failed = np.isnan(one.objectives[:, 1:]).all(axis=1)
        assert 0 < failed.sum() < len(failed)
        assert np.array_equal(failed, one.obs[:, 0, 2] > LIMIT)
    return found


def check(pool, wanted, reason):
    record = Kept()
    found = rounds(pool, record)
    assert all(same(a, b) and np.array_equal(a.evaluations, b.evaluations) for a, b in zip(found, wanted, strict=True))
    assert sorted(record.arrived_slots) == sorted([*range(10), *range(6), *range(8)])  # each was kept once
    assert reason in pool.failure


@pytest.mark.parametrize("env", [FAILING, TOGETHER])
@pytest.mark.parametrize("drivers", [0, 2])
@pytest.mark.parametrize("backend", [ThreadPool, ProcessPool])
def test_an_exception_fails_the_evaluation_alone(backend, drivers, env, wanted):
    if backend is ProcessPool and not drivers:
        return
    with backend(failing_job("raise", env), drivers, 60.0) as pool:
        check(pool, wanted, "ValueError: the probe lost contact")
        assert pool.restarts == 0


def test_a_slot_that_kills_every_driver_has_failed(wanted):
    with ProcessPool(failing_job("kill"), 2, 60.0) as pool:
        check(pool, wanted, "died in slot")
        assert pool.restarts >= 5
    with ProcessPool(failing_job("kill", keep_failures=False), 2, 60.0) as pool, pytest.raises(DriverError):
        rounds(pool)


@pytest.mark.timeout(60, method="thread")  # the other one takes the alarm
@pytest.mark.parametrize(("drivers", "env"), [(0, FAILING), (2, TOGETHER)])
def test_a_slot_that_hangs_in_this_program_has_failed(drivers, env, wanted):
    """A thread that stays stuck has not keyed the random numbers of the process, which other tests need."""
    with ThreadPool(failing_job("hang", env), drivers, 0.05) as pool:
        check(pool, wanted, "took longer than --driver-timeout 0.05 s")


def test_a_slot_that_hangs_every_driver_has_failed(wanted, monkeypatch):
    monkeypatch.setattr("actors.pools.dealing.MAX_FAILURES", 2)
    with ProcessPool(failing_job("hang"), 3, 1.0) as pool:
        check(pool, wanted, "took longer than --driver-timeout 1 s")


def test_what_a_thread_that_was_given_up_brings_is_not_taken(wanted):
    """It comes while the round goes on, and in later rounds."""
    slow = failing_job("hang")
    slow = dataclasses.replace(
        slow, problem=dataclasses.replace(slow.problem, env_kwargs={"how": "hang", "limit": LIMIT, "seconds": 0.25})
    )
    with ThreadPool(slow, 2, 0.05) as pool:
        check(pool, wanted, "took longer")
        time.sleep(0.15)
        check(pool, wanted, "took longer")


def test_a_failed_slot_is_what_any_driver_would_have_sent_but_for_f(wanted):
    with ThreadPool(failing_job("nan"), 0) as pool:
        for (kind, snap), one in zip(ROUNDS, wanted, strict=True):
            made = pool._failed_slots.trajectory(Task(kind, snap.version, 2, 5), snap)
            assert isinstance(made, Trajectory)
            assert np.isnan(made.objectives).all()
            assert made.drivers.tolist() == [-1] * 3
            for name in ("slots", "versions", "obs", "actions", "logprobs", "final_obs", "evaluations", "truncations"):
                assert np.array_equal(getattr(made, name), getattr(one, name)[2:5]), name
