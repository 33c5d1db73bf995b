"""Workloads have the costs that they state, and what measures them runs on any number of drivers."""

import dataclasses
import pathlib
import statistics

import numpy as np
import pytest

from env import Problem
from ppo.experiments.workloads import (
    STANDARD,
    LognormalCostAckley,
    RecordedCostAckley,
    collect_seconds,
    collecting,
    step_ms,
    training,
)


def test_random_costs_are_lognormal_and_belong_to_the_row():
    states = np.random.default_rng(0).uniform(-1, 1, (20000, 2))
    costs = LognormalCostAckley().milliseconds(states[:, :1], states[:, 1:])
    assert statistics.mean(costs) == pytest.approx(20, rel=0.03)
    assert statistics.stdev(costs) / statistics.mean(costs) == pytest.approx(1, rel=0.1)
    assert LognormalCostAckley().milliseconds(states[5:6, :1], states[5:6, 1:]) == costs[5:6]


def test_recorded_costs_are_those_that_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(RecordedCostAckley, "calls", [])
    x, c = np.random.default_rng(0).uniform(-1, 1, (2, 6, 1))
    values = RecordedCostAckley()(x, c)
    assert values.tolist() == Problem("ackley").objective()(x, c).tolist()
    assert RecordedCostAckley.calls == [LognormalCostAckley().milliseconds(x, c)]


def test_measurements_run():
    with training(dataclasses.replace(STANDARD, drivers=2)) as run:
        assert step_ms(run, 3) > 0
        assert run.timing.medians()["collect"] > 0
    with collecting(Problem("ackley"), 2) as pool:
        assert min(collect_seconds(pool, range(3))) > 0


def test_a_training_leaves_no_directory_behind():
    with training(dataclasses.replace(STANDARD, drivers=0), collect_without_normaliser=True) as run:
        assert next(run).number == 1
        path = pathlib.Path(run.files.path)
        assert (path / "config.json").is_file()
    assert not path.parent.exists()
