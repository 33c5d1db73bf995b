"""Shares of the regret of constant knobs: 0 at the optimum, 1 with constant knobs, if f tells its optimum or not."""

import math

import numpy as np
import pytest

from env.objectives import Rosenbrock, Sphere
from ppo.evaluation import shares
from ppo.evaluation.shares import Scale, held_out_conditions, measure_scale, noise_free
from ppo.studies.budget_problems import Converter
from tests.problems import Quadratic, Shifted, UnknownOptimum


def test_a_share_of_the_regret_of_constant_knobs():
    scale = Scale(best=-1.0, constant=3.0, random=9.0)
    assert [scale.share(mean) for mean in (-1.0, 0.0, 3.0, 5.0)] == [0, 0.25, 1, 1.5]


def test_where_constant_knobs_are_the_best_law_any_other_is_infinitely_worse():
    scale = Scale(best=2.0, constant=2.0 + 1e-12, random=5.0)
    assert scale.constant_is_best
    assert scale.share(2.0 + 1e-12) == 0
    assert scale.share(2.1) == math.inf


def test_where_f_is_large_its_rounding_is_no_regret():
    rounded = Scale(best=1e6, constant=1e6 + 2 * np.spacing(1e6), random=1e6 + 1e-3)
    assert rounded.constant_is_best
    assert rounded.share(1e6 + 4 * np.spacing(1e6)) == 0
    assert rounded.share(1e6 + 1e-4) == math.inf
    assert not Scale(best=1e6, constant=1e6 + 1e-3, random=1e6 + 1).constant_is_best


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (Scale(-1.0, 3.0, 9.0), "least -1, best constant knobs 3, random knobs 9"),
        (Scale(1e6, 1e6 + 0.25, 1e6 + 1), "least 1000000, best constant knobs 1000000.25, random knobs 1000001"),
        (Scale(1e6, 1e6, 1e6 + 0.5), "least 1000000, best constant knobs 1000000, random knobs 1000000.5"),
    ],
)
def test_its_means_in_words_are_told_apart(scale, words):
    assert scale.words() == words


@pytest.fixture
def _few(monkeypatch):
    monkeypatch.setattr(shares, "CANDIDATES", 64)
    monkeypatch.setattr(shares, "CONDITIONS", 4)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("problem", [Quadratic, UnknownOptimum])
def test_the_scale_of_a_quadratic(problem):
    """The best constant knobs are the mean of the best ones, and their regret the variance of these."""
    scale = measure_scale(problem())
    best = Quadratic().best(held_out_conditions(1))
    assert scale.best == pytest.approx(0, abs=1e-12)
    assert scale.constant == pytest.approx(best.var(axis=0).sum())
    assert scale.random > scale.constant
    assert not scale.constant_is_best


@pytest.mark.usefixtures("_few")
def test_the_best_knobs_of_a_sphere_are_constant():
    assert measure_scale(Sphere()).constant_is_best


@pytest.mark.usefixtures("_few")
def test_an_optimum_that_the_objective_knows_is_taken():
    """With five knobs, local searches from Sobol points end in other valleys than the deepest."""
    objective = Rosenbrock(10, 5)
    least = objective.solve(held_out_conditions(5))[1].mean()
    assert measure_scale(objective).best == pytest.approx(least)


def test_the_best_constant_knobs_of_the_converter_are_as_its_docstring_says():
    scale = measure_scale(Converter())
    assert scale.constant == pytest.approx(0.666, abs=0.005)
    assert scale.best < 0.55


def test_conditions_fill_their_range():
    c = held_out_conditions(3)
    assert c.shape == (128, 3)
    np.testing.assert_allclose(c.mean(axis=0), 0, atol=0.02)
    np.testing.assert_array_equal(c, held_out_conditions(3))


def test_noise_is_left_out_where_the_objective_offers_that():
    assert noise_free(Shifted()) is Shifted.noise_free
    plain = Quadratic()
    assert noise_free(plain) is plain
