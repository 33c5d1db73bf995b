"""The number of drivers follows from measured costs, and changes no result."""

import pytest

from actors.job import Job, Kind
from actors.pools.auto import AutoPool, Costs
from env import Problem
from tests.actors.pools.rounds import EVAL_STARTS, same, snapshot


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
