"""Imitation weights the best among neighbours, and gives a law far better than the best constant knobs."""

import numpy as np
import pytest
import torch

from actors import Law, NetworkSpec, Policy, Snapshot
from ppo.algorithm import imitation
from ppo.algorithm.imitation import enough, imitate, imitation_weights
from ppo.algorithm.network import initial_parameters
from ppo.evaluation.regret import regret_conditions
from tests.problems import Quadratic

SPEC = NetworkSpec(3, (8,), "tanh", "gaussian", 2)
START = initial_parameters(SPEC, torch.Generator().manual_seed(0), 0.01, 2).numpy()


def evaluated(n, seed=0):
    """Returns random knobs and conditions, and f at them."""
    rng = np.random.default_rng(seed)
    x, c = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (n, 1))
    return x, c, Quadratic()(x, c)


def mean_under(theta):
    """Returns the mean of f under a law."""
    c = regret_conditions(1)
    return Quadratic()(Law(Snapshot(0, SPEC, theta))(c), c).mean()


def mean_under_the_best_constant():
    c = regret_conditions(1)
    return Quadratic()(np.tile(Quadratic().best(c).mean(axis=0), (len(c), 1)), c).mean()


@pytest.fixture
def few_steps(monkeypatch):
    """Makes an imitation quick."""
    monkeypatch.setattr(imitation, "STEPS", 10)


@pytest.mark.parametrize("n", [1, 2, 7, 48, 49, 200])
@pytest.mark.parametrize("conditions", [1, 3])
def test_weights_are_shares(n, conditions):
    rng = np.random.default_rng(0)
    weights = imitation_weights(rng.uniform(-1, 1, (n, conditions)), rng.normal(size=n))
    assert weights.shape == (n,)
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1)


def test_among_equal_conditions_the_better_one_weighs_more():
    weights = imitation_weights(np.full((5, 2), 0.3), np.array([3.0, 1.0, 2.0, 5.0, 4.0]))
    assert np.argsort(-weights).tolist() == [1, 2, 0, 4, 3]
    # A fifth of the neighbours more are better each time, and a weight falls to 1/e with each twentieth.
    assert np.sort(weights)[::-1] == pytest.approx(weights[1] * np.exp(-4.0 * np.arange(5)))


def test_each_condition_has_its_best():
    c = np.repeat([[-0.5], [0.5]], 48, axis=0)
    f = np.random.default_rng(0).permutation(96).astype(float)
    f[48:] += 1000  # conditions at which f is bad whatever the knobs
    weights = imitation_weights(c, f)
    assert set(np.argsort(weights)[-2:].tolist()) == {int(np.argmin(f[:48])), 48 + int(np.argmin(f[48:]))}
    assert weights[:48].sum() == pytest.approx(0.5)


@pytest.mark.parametrize("change", ["scale", "offset", "conditions"])
def test_what_the_knobs_do_not_change_changes_no_weight(change):
    _, c, f = evaluated(200)
    other = {"scale": 1e6 * f, "offset": f + 300, "conditions": f - 70 * c[:, 0]}[change]
    assert imitation_weights(c, other) == pytest.approx(imitation_weights(c, f))


def test_the_law_is_far_better_than_the_best_constant_knobs():
    theta = imitate(SPEC, START, *evaluated(300), 0)
    assert theta.shape == START.shape
    assert mean_under(theta) < 0.2 * mean_under_the_best_constant() < 0.2 * mean_under(START)
    c = np.random.default_rng(1).uniform(-1, 1, (500, 3))  # the knobs of a state may be any
    knobs = Policy(Snapshot(0, SPEC, theta)).mode(c)
    assert Quadratic()(knobs, c[:, 2:]).mean() < 0.3 * mean_under_the_best_constant()


def test_equal_arguments_give_equal_bits_and_leave_the_start_alone(few_steps):
    before = START.copy()
    first, second = (imitate(SPEC, START, *evaluated(40), 3) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert START.tobytes() == before.tobytes()
    assert imitate(SPEC, START, *evaluated(40), 4).tobytes() != first.tobytes()


def test_sixteen_for_each_knob_and_condition_are_enough():
    assert enough(48, 2, 1)
    assert not enough(47, 2, 1)


def test_of_many_evaluations_some_spread_over_all_are_taken(few_steps, monkeypatch):
    monkeypatch.setattr(imitation, "MOST", 100)
    parts = evaluated(250)
    whole = imitate(SPEC, START, *parts, 0)
    kept = np.arange(100) * 249 // 99
    assert np.array_equal(whole, imitate(SPEC, START, *(part[kept] for part in parts), 0))
    assert not np.array_equal(whole, START)
    assert set(np.diff(kept)) == {2, 3}  # first and second time steps of slots, both


def test_more_than_the_most_evaluations_are_no_trouble(few_steps):
    parts = evaluated(imitation.MOST + 1)
    assert mean_under(imitate(SPEC, START, *parts, 0)) < mean_under(START)


@pytest.mark.parametrize("hidden_sizes", [(), (6, 5)])
def test_columns_of_an_archive_and_other_networks_work(hidden_sizes, few_steps):
    x, c, f = evaluated(30)
    rows = np.zeros(30, [("kind", "u1"), ("x", "<f8", 2), ("c", "<f8", 1), ("f", "<f8")])
    rows["x"], rows["c"], rows["f"] = x, c, f
    spec = NetworkSpec(3, hidden_sizes, "relu", "gaussian", 2)
    start = initial_parameters(spec, torch.Generator().manual_seed(0)).numpy()
    found = imitate(spec, start, rows["x"], rows["c"], rows["f"], 0)
    assert np.array_equal(found, imitate(spec, start, x, c, f, 0))
    assert np.isfinite(found).all()
