"""Rivals ask f through a counter that refuses what is beyond the budget, and learn nothing else of the problem."""

import numpy as np
import pytest

from env import UsageError
from env.make import Problem
from ppo.experiments.rivals.metered import Metered, OverBudgetError
from tests.ppo.experiments.rivals.learning import QUADRATIC


def ask(objective, n):
    return objective(np.zeros((n, 2)), np.linspace(-1, 1, n)[:, None])


def test_evaluations_are_counted_and_no_more_than_the_limit_are_made():
    objective = Metered(QUADRATIC, 10)
    assert (objective.knobs, objective.conditions, objective.dims) == (2, 1, 3)
    assert ask(objective, 7).shape == (7,)
    assert (objective.spent, objective.left) == (7, 3)
    with pytest.raises(OverBudgetError, match="7 of 10 evaluations are spent, and 4 were asked"):
        ask(objective, 4)
    objective.charge(3)
    with pytest.raises(OverBudgetError):
        objective.charge(1)
    assert objective.left == 0


def test_queries_are_counted_without_a_limit():
    objective = Metered(QUADRATIC, 5)
    with objective.answering():
        ask(objective, 20)
    assert objective.spent == 20
    with pytest.raises(OverBudgetError):
        ask(objective, 1)


def test_the_optimum_is_not_told():
    assert Metered(QUADRATIC, 1).solve(np.zeros((1, 1))) is None


def test_a_value_that_is_not_finite_is_refused_in_one_line():
    objective = Metered(Problem("tests.problems:ReturnsNaN"), 9)
    with pytest.raises(UsageError) as error:
        objective(np.zeros((2, 2)), np.array([[0.25], [0.75]]))
    assert str(error.value) == (
        "--env tests.problems:ReturnsNaN: f is nan at knobs [0.0, 0.0] and conditions [0.75]; only where f is finite "
        "can it be compared"
    )


def test_knobs_out_of_range_are_clipped():
    objective = Metered(QUADRATIC, 2)
    values = objective(np.array([[1.0, 1.0], [1.5, 7.0]]), np.zeros((2, 1)))
    assert values[0] == values[1]


def test_the_random_numbers_of_f_go_by_the_evaluations_spent():
    whole, parts = (Metered(Problem("tests.chance:GlobalChance"), 6) for _ in range(2))
    x, c = np.zeros((6, 2)), np.zeros((6, 1))
    values = whole(x, c)
    assert len(np.unique(values)) == 6
    assert np.array_equal(np.concatenate([parts(x[:1], c[:1]), parts(x[1:], c[1:])]), values)
