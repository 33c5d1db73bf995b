"""Actions, log-probabilities and ranks are those of the snapshot's network, whatever rows are batched together."""

import numpy as np
import pytest
from scipy import stats

from actors import NetworkSpec, Policy, Snapshot


def policy(choices=(), obs_dim=3, hidden=(64, 64), floor=1e-3, normaliser=True, scale=0.3, seed=0):
    head = "categorical" if choices else "gaussian"
    spec = NetworkSpec(obs_dim, hidden, "tanh", head, len(choices) or 2, choices)
    rng = np.random.default_rng(seed)
    moments = (rng.normal(size=obs_dim), 0.5 + rng.random(obs_dim)) if normaliser else (None, None)
    return Policy(Snapshot(0, spec, scale * rng.normal(size=spec.size), floor, *moments))


@pytest.mark.parametrize("choices", [(), (2,), (3, 2)])
@pytest.mark.parametrize("hidden", [(64, 64), (200, 100), (7,), ()])
@pytest.mark.parametrize("obs_dim", [1, 2, 11])
def test_a_rows_bits_do_not_depend_on_its_batch(choices, hidden, obs_dim):
    acting = policy(choices, obs_dim=obs_dim, hidden=hidden)
    rng = np.random.default_rng(1)
    obs = rng.normal(size=(64, obs_dim))
    noise = rng.random((64, len(choices))) if choices else rng.normal(size=(64, 2))
    actions, logprobs = acting.act(obs, noise)
    modes, ranks = acting.mode(obs), acting.uncertainty(obs.reshape(16, 4, -1))
    for size in (1, 2, 3, 5, 9, 16, 17, 31, 63):
        for start in range(0, 64 - size, size):
            rows = slice(start, start + size)
            some_actions, some_logprobs = acting.act(obs[rows], noise[rows])
            assert some_actions.tobytes() == actions[rows].tobytes()
            assert some_logprobs.tobytes() == logprobs[rows].tobytes()
            assert acting.mode(obs[rows]).tobytes() == modes[rows].tobytes()
        for start in range(0, 16 - size, size):
            some_ranks = acting.uncertainty(obs.reshape(16, 4, -1)[start : start + size])
            assert some_ranks.tobytes() == ranks[start : start + size].tobytes()


def test_gaussian_by_hand():
    spec = NetworkSpec(1, (), "tanh", "gaussian", 1)
    # mean = 2 o + 0.5, raw log std = log 3 at o = 0 and more above it
    acting = Policy(Snapshot(0, spec, np.array([2.0, 1.0, 0.5, np.log(3.0)]), std_floor=4.0))
    actions, logprobs = acting.act(np.array([[0.0]]), np.array([[1.5]]))
    assert actions[0, 0] == pytest.approx(0.5 + 5.0 * 1.5)  # sqrt(3^2 + 4^2) = 5
    assert logprobs[0] == pytest.approx(stats.norm.logpdf(actions[0, 0], 0.5, 5.0))
    assert acting.mode(np.array([[1.0]]))[0, 0] == 2.5


def test_observations_are_normalised_and_clipped():
    spec = NetworkSpec(1, (), "tanh", "gaussian", 1)
    theta = np.array([1.0, 0.0, 0.0, 0.0])
    acting = Policy(Snapshot(0, spec, theta, 0.0, np.array([3.0]), np.array([4.0])))
    assert acting.mode(np.array([[5.0], [1e9]]))[:, 0] == pytest.approx([1.0, 10.0])  # (5 - 3) / 2, and the clip


def test_categorical_frequencies_and_logprobs():
    spec = NetworkSpec(1, (), "tanh", "categorical", 1, (3,))
    chances = np.array([0.2, 0.5, 0.3])
    acting = Policy(Snapshot(0, spec, np.concatenate([np.zeros(3), np.log(chances)])))
    uniforms = (np.arange(1000)[:, None] + 0.5) / 1000
    actions, logprobs = acting.act(np.zeros((1000, 1)), uniforms)
    assert np.bincount(actions[:, 0].astype(int)).tolist() == [200, 500, 300]
    assert logprobs == pytest.approx(np.log(chances)[actions[:, 0].astype(int)])
    assert acting.mode(np.zeros((1, 1))).tolist() == [[1.0]]


def test_several_choices_are_made_independently():
    spec = NetworkSpec(1, (), "tanh", "categorical", 2, (3, 2))
    first, second = np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.1])
    acting = Policy(Snapshot(0, spec, np.concatenate([np.zeros(5), np.log(first), np.log(second)])))
    grid = (np.arange(100) + 0.5) / 100
    uniforms = np.stack([axis.ravel() for axis in np.meshgrid(grid, grid)], axis=1)
    actions, logprobs = acting.act(np.zeros((10_000, 1)), uniforms)
    pairs = actions.astype(int)
    counts = np.bincount(pairs[:, 0] * 2 + pairs[:, 1])
    assert counts == pytest.approx(10_000 * np.outer(first, second).ravel(), abs=1)
    assert logprobs == pytest.approx(np.log(first[pairs[:, 0]] * second[pairs[:, 1]]))
    assert acting.mode(np.zeros((1, 1))).tolist() == [[1.0, 0.0]]
    entropy = stats.entropy(first) + stats.entropy(second)
    assert acting.uncertainty(np.zeros((1, 4, 1))) == pytest.approx(np.full((1, 4), entropy), abs=1e-6)


def test_uncertainty_ranks_below_the_floor_and_above_the_limit():
    spec = NetworkSpec(1, (), "tanh", "gaussian", 1)
    acting = Policy(Snapshot(0, spec, np.array([0.0, 1.0, 0.0, 0.0]), std_floor=10.0))  # raw log std = observation
    obs = np.array([[-30.0], [-29.0], [0.0], [50.0], [51.0]])
    assert (np.diff(acting.uncertainty(obs[None])[0]) > 0).all()
    _, logprobs = acting.act(obs, np.zeros((5, 1)))
    assert logprobs[0] == logprobs[1]  # their stds are the same, and still the ranks differ


def test_uncertainty_of_a_categorical_is_its_entropy():
    acting = policy((4,), scale=1.0)
    obs = np.random.default_rng(0).normal(size=(20, 3))
    expected = [stats.entropy(np.exp(row)) for row in acting._forward(obs)[:20]]  # normalises by itself
    assert acting.uncertainty(obs.reshape(5, 4, 3)).ravel() == pytest.approx(expected, abs=1e-6)
