"""The number of drivers follows from measured costs, and changes no result."""

import re

import numpy as np
import pytest

from actors.job import Job, Kind
from actors.pools.auto import AutoPool, Costs
from env import Problem
from tests.actors.mixtures import mixture, random_plan
from tests.actors.pools.rounds import EVAL_STARTS, same, snapshot
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
    def job(cost):
        return Job(Problem("tests.problems:Quadratic", evaluation_cost_ms=cost), "random", 8, 0, 8, 2, EVAL_STARTS)

    pools = AutoPool(job(cost_ms), 30), AutoPool(job(0.0), 30)
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
    job = Job(problem, "random", 8, 0, 50, 6, EVAL_STARTS, components=3, planned=(12, 3))
    with AutoPool(job, 30) as pool:
        for step, (kind, slots) in enumerate(((Kind.DESIGN, 12), (Kind.PLAN, 3), (Kind.PLAN, 3))):
            plan = random_plan(slots, step)
            pool.submit(step, mixture(3, version=step, plan=plan), kind)
            made = pool.result().trajectory
            values = Quadratic()(np.clip(plan.actions, -1, 1), plan.starts[:, 2:])
            assert np.array_equal(made.objectives[:, 1], values)
        milliseconds = float(re.search(r"a slot takes ([0-9.e+]+) ms", pool.choice)[1])
        assert 10 <= milliseconds < 60  # all twelve took 120 ms or more
        assert 1 < pool.drivers <= 3
