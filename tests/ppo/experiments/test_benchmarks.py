"""Benchmarks compare on the same draws and in turn, and each one can be asked for by its name."""

import numpy as np
import pytest

from ppo.experiments.benchmarks import BLOCKS, FIGURES, _dealing, alternated
from ppo.experiments.workloads import RecordedCostAckley


def test_dealing_is_simulated_on_the_draws_of_the_step():
    alone, ideal = _dealing(3, 1)
    assert alone == pytest.approx(ideal)
    many, share = _dealing(3, 64)
    assert share == pytest.approx(alone / 64)
    each = np.reshape(RecordedCostAckley.calls, (-1, 64)).sum(axis=0) / 1000
    assert alone == pytest.approx(each.sum())
    assert many == pytest.approx(each.max())  # a driver for each slot: the slowest one is the last
    assert share < many < alone / 5


def test_both_sides_are_measured_in_turn():
    asked = []

    def side(name, factor):
        return lambda: (asked.append(name), factor * len(asked))[1]

    ours, theirs = alternated(side("ours", 1.0), side("theirs", 10.0))
    assert asked == ["ours", "theirs"] * BLOCKS
    assert (ours, theirs) == (5.0, 60.0)  # medians of 1, 3, 5, 7, 9 and of 20, 40, 60, 80, 100


def test_every_figure_can_be_measured():
    assert len(FIGURES) == 28
    assert all(callable(measure) for measure in FIGURES.values())
