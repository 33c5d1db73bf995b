"""The best constant knobs are found from evaluations of a function whose best constant is known."""

import numpy as np
import pytest

from ppo.evaluation.constants import estimated_best_constant
from tests.problems import Quadratic

BEST = np.array([0.0, 0.3 - 0.4 / 3])  # the mean of 0.5 c, and of 0.3 - 0.4 c^2, for c uniform on [-1, 1]


def evaluated(n, seed=0, low=(-1.0, -1.0), high=(1.0, 1.0)):
    """Returns random knobs and conditions, and f at them."""
    rng = np.random.default_rng(seed)
    x, c = rng.uniform(low, high, (n, 2)), rng.uniform(-1, 1, (n, 1))
    return x, c, Quadratic()(x, c)


@pytest.mark.parametrize(
    ("noise", "scale", "offset"),
    [(0.0, 1.0, 0.0), (0.05, 1.0, 0.0), (0.0, 1e-6, -3.0), (0.05, 1e4, 500.0)],
)
def test_the_best_constant_is_found(noise, scale, offset):
    x, c, f = evaluated(200)
    f = scale * (f + noise * np.random.default_rng(1).normal(size=200)) + offset
    assert estimated_best_constant(x, c, f) == pytest.approx(BEST, abs=0.15)


def test_many_evaluations_beside_a_law_are_thinned_out():
    x, c, f = evaluated(2000)
    late = slice(300, None)
    x[late] = Quadratic().best(c[late]) + 0.01 * x[late]  # what a narrow policy evaluates
    f = Quadratic()(x, c)
    assert estimated_best_constant(x, c, f) == pytest.approx(BEST, abs=0.15)


def test_the_whole_of_a_run_counts():
    early, late = evaluated(500, 0, (0.5, -1.0), (1.0, -0.5)), evaluated(1500, 1)
    parts = [np.concatenate(pair) for pair in zip(early, late, strict=True)]
    assert estimated_best_constant(*parts) == pytest.approx(BEST, abs=0.15)


def test_the_result_is_deterministic_and_repeats_change_nothing():
    x, c, f = evaluated(60)
    found = estimated_best_constant(x, c, f)
    assert np.array_equal(estimated_best_constant(x, c, f), found)
    twice = [np.concatenate([part, part]) for part in (x, c, f)]
    assert np.array_equal(estimated_best_constant(*twice), found)


def test_the_result_lies_where_knobs_were_evaluated():
    low, high = np.array([0.4, -0.9]), np.array([0.8, -0.5])
    found = estimated_best_constant(*evaluated(100, low=low, high=high))
    assert (found >= low).all()
    assert (found <= high).all()
    assert found == pytest.approx([0.4, -0.5], abs=0.1)  # the corner nearest to the best


@pytest.mark.parametrize("n", [0, 1, 4])
def test_of_too_few_evaluations_the_centre_is_taken(n):
    x, c, f = evaluated(n)
    assert estimated_best_constant(x, c, f).tolist() == [0, 0]


def test_of_one_state_evaluated_again_and_again_the_centre_is_taken():
    f = np.random.default_rng(0).normal(size=50)
    assert estimated_best_constant(np.full((50, 2), 0.3), np.full((50, 1), 0.2), f).tolist() == [0, 0]


def test_where_all_values_are_equal_the_centre_is_taken():
    x, c, _ = evaluated(50)
    assert estimated_best_constant(x, c, np.full(50, 7.0)).tolist() == [0, 0]


def test_mostly_equal_values_are_no_trouble():
    x, c, _ = evaluated(50)
    f = np.where(np.arange(50) == 20, 1.0, 2.0)
    found = estimated_best_constant(x, c, f)
    assert (np.abs(found) <= 1).all()


def degenerate():
    """Returns knobs and conditions that span less than all dimensions, by what is the matter with them."""
    x, c, _ = evaluated(80)
    return {
        "the same knobs": (np.tile([0.1, -0.7], (80, 1)), c),
        "the same condition": (x, np.full_like(c, 0.2)),
        "equal knobs": (x[:, [0, 0]], c),
        "knobs on a line": (np.stack([x[:, 0], 0.3 * x[:, 0] - 0.1], axis=1), c),
        "a knob that follows the condition": (np.stack([x[:, 0], 0.5 * c[:, 0]], axis=1), c),
        "the same knob": (np.stack([x[:, 0], np.full(80, 1 / 3)], axis=1), c),
    }


@pytest.mark.parametrize("states", degenerate().values(), ids=degenerate())
def test_states_in_a_plane_give_knobs_that_were_evaluated_or_lie_between(states):
    x, c = states
    found = estimated_best_constant(x, c, Quadratic()(x, c))
    assert (found >= x.min(axis=0) - 1e-12).all()
    assert (found <= x.max(axis=0) + 1e-12).all()


def test_many_knobs_and_conditions():
    rng = np.random.default_rng(0)
    x, c = rng.uniform(-1, 1, (300, 5)), rng.uniform(-1, 1, (300, 3))
    best = np.array([0.5, -0.5, 0.0, 0.25, -0.25])
    found = estimated_best_constant(x, c, ((x - best - 0.2 * c[:, :1]) ** 2).sum(axis=1))
    assert np.mean((found - best) ** 2) < 0.1 * np.mean(best**2 + 1 / 3)
