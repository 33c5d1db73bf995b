"""Conditions are solved one by one within the budget, each from a solved one, checked, and interpolated."""

import numpy as np
import pytest

from env.make import Problem
from ppo.experiments.rivals.metered import Metered
from ppo.experiments.rivals.solved_conditions import Plan, solve_and_interpolate
from tests.ppo.experiments.rivals.learning import QUADRATIC, learned_share
from tests.problems import Quadratic, TwoValleys


def condition_of(f):
    """The condition that a search is asked to solve."""
    return f.__closure__[0].cell_contents


def learns(answer, spent=None):
    """A rival whose searches spend what they may and give ``answer(condition)``."""

    def solve(f, start, evaluations, knobs, seed):
        if spent is not None:
            spent.append(evaluations)
        f(np.zeros((evaluations - 1, knobs)))
        x = answer(condition_of(f))
        return x, float(f(x[None])[0])

    return lambda objective, evaluations, seed: solve_and_interpolate(objective, evaluations, seed, solve)


def exact(c):
    return Quadratic().best(c[None])[0]


def test_exact_solutions_are_interpolated():
    """Knobs that are a line and a parabola of the condition, from eight conditions."""
    spent = []
    share, objective = learned_share(learns(exact, spent), 450)
    assert share < 1e-3
    assert len(spent) == 8
    assert spent[0] > 2 * spent[1]
    assert objective.spent == 450


def test_knobs_that_jump_are_those_of_the_nearest_condition():
    """A spline would answer with knobs between the valleys, which are nobody's."""
    objective = Metered(Problem("tests.problems:TwoValleys"), 600)
    law = learns(lambda c: TwoValleys().solve(c[None])[0][0])(objective, 600, 1)
    x = law(np.linspace(-1, 1, 64)[:, None])
    assert set(x.ravel()) <= set(TwoValleys().solve(np.linspace(-1, 1, 64)[:, None])[0].ravel())


def test_a_condition_in_the_wrong_valley_takes_its_neighbours_knobs():
    """One search of sixteen ends far away; its neighbours' knobs, tried there, are better."""
    seen = []

    def answer(c):
        seen.append(c)
        return np.full(2, -1.0) if len(seen) == 6 else exact(c)

    share, objective = learned_share(learns(answer), 900)
    assert share < 0.01
    assert objective.spent == 900


@pytest.mark.parametrize("evaluations", [7, 20, 100, 333, 3000])
def test_no_budget_is_exceeded_and_starts_are_knobs_of_solved_conditions(evaluations):
    ends, plan = [], Plan.of(evaluations, 2, 1)

    def solve(f, start, budget, knobs, seed):
        assert start is None or any((start == end).all() for end in ends)
        assert (start is None) == (len(ends) < plan.searches)
        f(np.zeros((budget, knobs)))
        ends.append(np.full(knobs, len(ends) / 100))
        return ends[-1], 0.0

    objective = Metered(QUADRATIC, evaluations)
    law = solve_and_interpolate(objective, evaluations, 1, solve)
    assert 0 <= evaluations - objective.spent < plan.searches  # what does not divide among the first searches
    assert law(np.zeros((3, 1))).shape == (3, 2)


def test_the_plan_gives_each_condition_more_with_the_budget_and_the_first_one_several_searches():
    plans = [Plan.of(evaluations, 4, 2) for evaluations in (1000, 10_000, 100_000)]
    assert [plan.each for plan in plans] == sorted(plan.each for plan in plans)
    assert [plan.m for plan in plans] == sorted(plan.m for plan in plans)
    assert plans[0].searches == 1 < plans[1].searches
    assert all(plan.check == 4 for plan in plans)
    assert Plan.of(100, 1, 1).check == 0


def test_too_few_conditions_for_a_spline_are_answered_by_the_nearest():
    ends = iter([np.array([0.1, 0.2]), np.array([0.3, 0.4])])
    law = solve_and_interpolate(Metered(QUADRATIC, 40), 40, 1, lambda *_: (next(ends), 0.0))
    np.testing.assert_array_equal(np.unique(law(np.linspace(-1, 1, 9)[:, None])), [0.1, 0.2, 0.3, 0.4])
