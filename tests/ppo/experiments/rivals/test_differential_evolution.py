"""Differential evolution spends what it is given at each condition, and learns a quadratic."""

import numpy as np
import pytest

from ppo.experiments.rivals.differential_evolution import differential_evolution, solve
from tests.ppo.experiments.rivals.learning import learned_share


def test_it_learns_a_quadratic():
    assert learned_share(differential_evolution, 450)[0] < 0.1


@pytest.mark.parametrize("start", [None, np.array([0.2, -0.3])])
@pytest.mark.parametrize("evaluations", [1, 4, 5, 13, 90])
def test_a_search_spends_its_budget(start, evaluations):
    asked = []

    def f(x):
        asked.append(len(x))
        assert np.abs(x).max() <= 1
        return ((x - 0.25) ** 2).sum(axis=1)

    x, value = solve(f, start, evaluations, 2, 1)
    assert x.shape == (2,)
    assert sum(asked) == evaluations
    assert value == f(x[None])[0]
    if evaluations == 90:
        assert np.abs(x - 0.25).max() < 0.1


@pytest.mark.parametrize("where", ["flat", "at a bound"])
def test_a_population_without_spread_spends_its_budget_too(where):
    asked = []

    def f(x):
        asked.append(len(x))
        return np.zeros(len(x)) if where == "flat" else np.maximum(x.sum(axis=1), -0.5)

    solve(f, None, 90, 2, 1)
    assert sum(asked) == 90
