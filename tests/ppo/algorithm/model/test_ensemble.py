"""Networks predict a known f, with slopes that are those of what they predict, and in the same bits each time."""

import numpy as np
import pytest
import torch

from ppo.algorithm.model import ensemble as module
from ppo.algorithm.model.ensemble import Ensemble
from ppo.algorithm.model.gaussian_process import factored, first_guesses
from tests.problems import Quadratic

CPU = torch.device("cpu")


def evaluations(n, seed=0):
    states = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    return states, Quadratic()(states[:, :2], states[:, 2:])


def ensemble(n=400, unit=1.0, seed=3):
    """Returns networks that have learned n evaluations of the quadratic in another unit."""
    states, values = evaluations(n)
    few = slice(0, 30)
    process = factored(states[few], unit * values[few], first_guesses(3)[0])
    return Ensemble(process, states, unit * values, np.random.default_rng(seed))


@pytest.fixture(scope="module", autouse=True)
def little_effort():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEPS", 1500)
        yield


@pytest.fixture(scope="module")
def networks(little_effort):
    return ensemble()


def test_they_predict_f_where_it_was_not_evaluated(networks):
    states, values = evaluations(500, seed=1)
    error = networks.unwarped(networks.mean(states)) - values
    assert error.var() < 0.01 * values.var()


def test_slopes_are_those_of_the_mean(networks):
    states, step = evaluations(20, seed=2)[0], 1e-5
    mean, slope = networks.mean_and_slope(states, 2)
    assert np.allclose(mean, networks.mean(states), rtol=1e-12)
    for knob in range(2):
        shift = step * (np.arange(3) == knob)
        difference = (networks.mean(states + shift) - networks.mean(states - shift)) / (2 * step)
        assert slope[:, knob] == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_networks_differ_and_their_mean_is_better_than_most_of_them(networks):
    states, values = evaluations(500, seed=1)
    targets = (networks._process.warped(values) - networks._level) / networks._scale
    each = networks._forward(states)[-1][..., 0]
    assert each.shape == (module.NETWORKS, 500) and len(np.unique(each[:, 0])) == module.NETWORKS
    errors = ((each - targets) ** 2).mean(axis=1)
    assert ((each.mean(axis=0) - targets) ** 2).mean() < np.median(errors)


def test_rows_are_predicted_in_blocks(networks, monkeypatch):
    states = evaluations(50, seed=1)[0]
    whole = networks.mean(states)
    monkeypatch.setattr(module, "BLOCK", 16)
    assert np.allclose(networks.mean(states), whole, rtol=1e-12)


def test_the_same_bits_each_time_and_in_a_unit_that_is_a_power_of_two():
    states = evaluations(30, seed=1)[0]
    first, again, scaled, other = ensemble(60), ensemble(60), ensemble(60, unit=1024.0), ensemble(60, seed=4)
    assert first.mean(states).tobytes() == again.mean(states).tobytes() == scaled.mean(states).tobytes()
    assert first.mean(states).tobytes() != other.mean(states).tobytes()


def test_the_window_is_the_whole_range(networks):
    low, high = networks.window(np.zeros((4, 1)), 2)
    assert low.shape == high.shape == (4, 2)
    assert (low == -1).all() and (high == 1).all()


def test_a_pass_takes_each_evaluation_once(monkeypatch):
    monkeypatch.setattr(module, "MINIBATCH", 4)
    minibatches = module._minibatches(12, np.random.default_rng(0), CPU)
    for _ in range(3):
        assert sorted(np.concatenate([next(minibatches) for _ in range(3)]).tolist()) == list(range(12))
    assert len(next(module._minibatches(3, np.random.default_rng(0), CPU))) == 3
