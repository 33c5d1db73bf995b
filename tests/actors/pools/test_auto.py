"""The number of drivers follows from measured costs, and changes no result."""

import itertools
import multiprocessing
import os
import re
import sys
import time
import types

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from actors.job import Job, Kind
from actors.pools.auto import AutoPool, Costs
from actors.pools.factory import make_pool
from actors.pools.processes import ProcessPool
from actors.pools.threads import ThreadPool
from env import Problem, UsageError
from tests.actors.mixtures import mixture, random_plan
from tests.actors.pools.rounds import EVAL_STARTS, job, run, same, snapshot
from tests.problems import Quadratic


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        (Costs(slot=5e-6, cpu=5e-6, task=3e-4, cores=2), 0),  # cheaper than a message
        (Costs(slot=60e-3, cpu=1e-5, task=3e-4, cores=2), 64),  # waiting: as many as there are slots
        (Costs(slot=10e-3, cpu=10e-3, task=3e-4, cores=2), 2),  # computing: as many as there are cores
        (Costs(slot=10e-3, cpu=10e-3, task=3e-4, cores=16), 16),
        (Costs(slot=10e-3, cpu=10e-3, task=3e-4, cores=1), 0),
    ],
)
def test_the_choice_follows_from_the_costs(costs, expected):
    assert costs.best(64) == expected


def test_predictions_by_hand():
    costs = Costs(slot=3e-3, cpu=1e-3, task=2e-3, cores=2)
    assert costs.step(10, 0) == pytest.approx(30e-3)
    assert costs.step(10, 3) == pytest.approx(12e-3 + 3e-3)  # the longest share has 4 slots
    assert costs.step(10, 10) == pytest.approx(5e-3 + 10e-3)  # 10 ms of computing on two cores


@pytest.mark.parametrize(("cost_ms", "many"), [(0.0, False), (10.0, True)])
def test_the_measured_choice_is_named_and_changes_nothing(cost_ms, many):
    def job_of(cost):
        return Job(Problem("tests.problems:Quadratic", evaluation_cost_ms=cost), "random", 8, 0, 8, 2, EVAL_STARTS)

    pools = make_pool(job_of(cost_ms), "auto", "process", 30), make_pool(job_of(0.0), "auto", "process", 30)
    with pools[0] as pool, pools[1] as reference:
        for step in range(7):
            trajectories = []
            for p in (pool, reference):
                p.submit(step, snapshot(step), Kind.COLLECT)
                trajectories.append(p.result().trajectory)
            assert same(*trajectories)
        assert (pool.drivers > 1) == many
        assert ("no drivers" in pool.choice) == (not many)


def test_planned_rounds_are_measured_by_the_slot():
    """Twelve slots of 10 ms tell enough at once; the rounds to come have three of them, and as many drivers."""
    problem = Problem("tests.problems:Quadratic", time_steps=6, evaluation_cost_ms=10.0)
    a_job = Job(problem, "random", 8, 0, 50, 6, EVAL_STARTS, components=3, planned=(12, 3))
    with make_pool(a_job, "auto", "process", 30) as pool:
        for step, (kind, slots) in enumerate(((Kind.DESIGN, 12), (Kind.PLAN, 3), (Kind.PLAN, 3))):
            plan = random_plan(slots, step)
            pool.submit(step, mixture(3, version=step, plan=plan), kind)
            made = pool.result().trajectory
            values = Quadratic()(np.clip(plan.actions, -1, 1), plan.starts[:, 2:])
            assert np.array_equal(made.objectives[:, 1], values)
        milliseconds = float(re.search(r"a slot takes ([0-9.e+]+) ms", pool.choice)[1])
        assert 10 <= milliseconds < 60  # all twelve took 120 ms or more
        assert 1 < pool.drivers <= 3


@pytest.mark.parametrize("call", [1, 2], ids=["as it is measured", "as they start"])
def test_where_drivers_cannot_start_it_goes_on_without_and_says_so(call, monkeypatch, expected):
    calls = itertools.count(1)

    def pool(*arguments):
        if next(calls) == call:
            raise OSError("AF_UNIX path\ntoo long")
        return ProcessPool(*arguments)

    monkeypatch.setattr("actors.pools.factory.ProcessPool", pool)
    with make_pool(job(evaluation_cost_ms=10), "auto", "process", 30) as auto:
        for step in range(3):
            assert same(run(auto, step)[0], expected[step])
        assert auto.drivers == 0
        assert auto.choice == "no drivers, since none can be started (AF_UNIX path too long)"


def test_an_environment_that_only_this_program_knows_is_run_in_it():
    gymnasium.register("OnlyHere-v0", entry_point=SlowEnv)
    try:
        a_job = Job(Problem("OnlyHere-v0", time_steps=10), "env", 8, 0, 4, 10, eval_episodes=1)
        with make_pool(a_job, "auto", "process", 30) as auto:
            for step in range(3):
                trajectory, _ = run(auto, step, snap=snapshot(step, obs_dim=2, action_dim=1))
                assert trajectory.slots.tolist() == list(range(4))
            assert auto.choice.startswith("no drivers, since none can be started (--env OnlyHere-v0: driver processes")
    finally:
        del gymnasium.registry["OnlyHere-v0"]


def test_a_process_that_may_have_no_children_goes_on_without_drivers():
    """A daemonic process, such as a worker of multiprocessing.Pool, may start none."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        choice = pool.apply(choice_of_a_slow_job)
    assert choice == "no drivers, since none can be started (daemonic processes are not allowed to have children)"


def choice_of_a_slow_job():
    with make_pool(job(evaluation_cost_ms=10), "auto", "process", 30) as auto:
        for step in range(2):
            run(auto, step)
        return auto.choice


class SlowEnv(gymnasium.Env):
    """Never ends; a time step takes 5 ms."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        time.sleep(0.005)
        return np.zeros(2), 1.0, False, False, {}


class OneByOne(Quadratic):
    """Waits, so that many drivers would pay; so many evaluations may be under way at once."""

    vectorised = False

    def __init__(self, at_once):
        self.at_once = at_once

    def __call__(self, x, c):
        time.sleep(0.01)
        return super().__call__(x, c)


@pytest.mark.parametrize("at_once", [2, 3])
def test_no_more_drivers_are_used_than_evaluations_may_be_under_way(at_once):
    problem = Problem(f"{__name__}:OneByOne", time_steps=2, env_kwargs={"at_once": at_once})
    with make_pool(Job(problem, "random", 8, 0, 12, 2, EVAL_STARTS), "auto", "process", 30) as pool:
        for step in range(2):
            run(pool, step)
        assert pool.drivers == at_once


def test_one_evaluation_at_once_is_made_in_this_process():
    a_job = Job(
        Problem(f"{__name__}:OneByOne", time_steps=2, env_kwargs={"at_once": 1}), "random", 8, 0, 4, 2, EVAL_STARTS
    )
    with make_pool(a_job, "auto", "process", 30) as pool:
        assert isinstance(pool, ThreadPool) and pool.drivers == 0
    with make_pool(job(), "auto", "process", 30) as pool:
        assert isinstance(pool, AutoPool)


def test_the_least_costs_among_as_many_drivers_as_there_may_be():
    costs = Costs(slot=60e-3, cpu=1e-5, task=3e-4, cores=2)
    assert [costs.best(64, most) for most in (1, 2, 5, 64, 1000)] == [0, 2, 5, 64, 64]


class CannotClose(SlowEnv):
    """Its ``close`` raises an exception once it has been stepped through."""

    steps = 0

    def step(self, action):
        self.steps += 1
        return super().step(action)

    def close(self):
        if self.steps and os.environ.get("LAMP"):
            raise OSError("the lamp is stuck")


def test_what_cannot_be_closed_as_drivers_take_over_keeps_its_traceback_and_they_go_on():
    a_job = Job(Problem(f"{__name__}:CannotClose", time_steps=10), "env", 8, 0, 4, 10, eval_episodes=1)
    pool = make_pool(a_job, "auto", "process", 30)
    snap = snapshot(0, obs_dim=2, action_dim=1)
    with pytest.MonkeyPatch.context() as patched, pytest.raises(OSError, match="the lamp is stuck"):
        patched.setenv("LAMP", "1")
        for step in range(6):
            run(pool, step, snap=snap)
    assert pool.drivers > 0 and pool._pool.beside
    assert run(pool, 7, snap=snap)[0].slots.tolist() == list(range(4))
    pool.close()


def test_a_cluster_that_does_not_answer_is_told_before_anything_is_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    with pytest.raises(UsageError, match=r"--ray-address nohost\.invalid:6379: nothing answers there"):
        make_pool(job(), "auto", "ray", 30, address="nohost.invalid:6379")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="Ray is not installed"):
        make_pool(job(), "auto", "ray", 30)
