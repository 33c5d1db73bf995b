"""Conditions are solved one by one within the budget, each from a solved neighbour, and interpolated."""

import numpy as np
import pytest

from ppo.experiments.rivals import solved_conditions
from ppo.experiments.rivals.metered import Metered
from ppo.experiments.rivals.solved_conditions import solve_and_interpolate
from tests.ppo.experiments.rivals.learning import QUADRATIC, learned_share
from tests.problems import Quadratic


def test_exact_solutions_are_interpolated():
    """Knobs that are a line and a parabola of the condition, from eight conditions."""
    spent = []

    def solve(f, start, evaluations, knobs, seed):
        spent.append(evaluations)
        f(np.zeros((evaluations, knobs)))
        return exact.pop(0)

    def with_exact(objective, evaluations, seed):
        def asked(f, start, *rest):
            c = f.__closure__[0].cell_contents
            exact.append(Quadratic().best(c[None])[0])
            return solve(f, start, *rest)

        return solve_and_interpolate(objective, evaluations, seed, asked)

    exact = []
    share, objective = learned_share(with_exact, 450)
    assert share < 1e-3
    assert len(spent) == 8
    assert spent[0] > 2 * spent[1]
    assert objective.spent == 450


@pytest.mark.parametrize("evaluations", [7, 20, 100, 333])
def test_no_budget_is_exceeded_and_starts_are_knobs_of_solved_conditions(evaluations):
    ends = []

    def solve(f, start, budget, knobs, seed):
        assert start is None or any((start == end).all() for end in ends)
        assert (start is None) == (not ends)
        f(np.zeros((budget, knobs)))
        ends.append(np.full(knobs, len(ends) / 10))
        return ends[-1]

    objective = Metered(QUADRATIC, evaluations)
    law = solve_and_interpolate(objective, evaluations, 1, solve)
    assert objective.spent == evaluations
    assert law(np.zeros((3, 1))).shape == (3, 2)


def test_too_few_conditions_for_a_spline_are_answered_by_the_nearest(monkeypatch):
    monkeypatch.setattr(solved_conditions, "FIRST", 1)
    ends = iter([np.array([0.1, 0.2]), np.array([0.3, 0.4])])
    law = solve_and_interpolate(Metered(QUADRATIC, 20), 20, 1, lambda *_: next(ends))
    np.testing.assert_array_equal(np.unique(law(np.linspace(-1, 1, 9)[:, None])), [0.1, 0.2, 0.3, 0.4])
