"""A component learns from its pairs and the gate from means of components, whatever their shares of the rows are."""

import dataclasses

import numba
import numpy as np
import pytest
from scipy.special import log_softmax

from actors import NetworkSpec
from ppo.algorithm.compiled import heads
from ppo.algorithm.compiled.compiler import SETTINGS
from ppo.algorithm.components import (
    GateBatch,
    acted_components,
    component_advantages,
    component_means,
    first_means,
    pair_advantages,
    slot_weights,
)
from tests.ppo.algorithm.batches import gate_batch_for


@numba.njit(**SETTINGS)
def compiled_slopes(logits, facts, live, loss, slopes, stats):
    heads.gate_slopes(logits, facts, live, loss, slopes, stats)


def gate_slopes(logits, batch, clip_coef):
    """Returns the slopes of the gate's loss at its logits, and the loss, by the compiled function."""
    facts, slopes, stats = np.zeros((len(logits), heads.FACTS)), np.zeros(logits.shape), np.zeros(heads.STATS)
    facts[:, heads.COMPONENT], facts[:, heads.GATE_LOGPROB] = batch.components, batch.logprobs
    facts[:, heads.GATE_ADVANTAGE], facts[:, heads.GATE_WEIGHT] = batch.advantages, batch.weights
    compiled_slopes(logits, facts, batch.live, heads.Loss(0.0, clip_coef, 0.0, 0.0, False, False), slopes, stats)
    return slopes, stats[heads.GATE_LOSS]


INSIDE = np.zeros((2, 4, 1))  # actions within the bounds
F = np.array([[1.0, 2.0, 900.0, 800.0], [5.0, 3.0, -7.0, -6.5]])  # two slots of two pairs
BETTER = np.array([[1, -1, -1, 1], [-1, 1, 1, -1]])


@pytest.mark.parametrize("rank_weight", [0.0, 0.3, 1.0])
def test_the_better_of_a_pair_has_the_advantage_that_the_other_lacks(rank_weight):
    advantages = pair_advantages(F, INSIDE, rank_weight)
    assert np.sign(advantages).tolist() == BETTER.tolist()
    assert advantages[:, ::2] == pytest.approx(-advantages[:, 1::2])


@pytest.mark.parametrize("rank_weight", [0.0, 1.0])
def test_pairs_are_not_compared_with_each_other(rank_weight):
    """What is added to both of a pair moves it among the others, and never says which of the two is better."""
    moved = F + np.array([[0, 0, 0, 0], [-2000, -2000, 100, 100]])
    advantages = pair_advantages(moved, INSIDE, rank_weight)
    assert np.sign(advantages).tolist() == BETTER.tolist()
    if rank_weight == 0:  # differences alone
        assert advantages == pytest.approx(pair_advantages(F, INSIDE, 0.0))


def test_of_an_equal_pair_the_action_within_the_bounds_is_better():
    actions = np.zeros((1, 4, 2))
    actions[0, 1, 0], actions[0, 2, 1] = 1.5, -3.0
    advantages = pair_advantages(np.ones((1, 4)), actions, 1.0)
    assert np.sign(advantages).tolist() == [[1, -1, -1, 1]]


def test_a_component_has_its_mean_in_each_slot_and_none_where_it_did_not_act():
    actions = np.zeros((2, 4, 2))
    actions[..., -1] = [2, 2, 0, 0]
    acted = acted_components(actions)
    assert acted.tolist() == [2, 2, 0, 0]
    assert component_means(F, acted, 4).tolist() == [[850, np.inf, 1.5, np.inf], [-6.75, np.inf, 4, np.inf]]


@pytest.mark.parametrize("rank_weight", [0.0, 0.3, 1.0])
def test_a_component_with_the_better_mean_has_the_advantage_in_all_its_rows(rank_weight):
    """Component 2 is better than 0 in the first slot, though its best time step is not, and worse in the second."""
    objectives = np.array([[1.0, 11.0, 4.0, 4.0], [0.0, 0.0, -3.0, 9.0]])
    advantages, shares = component_advantages(objectives, np.array([0, 0, 2, 2]), 4, rank_weight)
    assert np.sign(advantages).tolist() == [[-1, -1, 1, 1], [1, 1, -1, -1]]
    assert np.array_equal(advantages[:, ::2], advantages[:, 1::2])
    assert shares.tolist() == [0.5, 0, 0.5, 0]


def test_components_that_act_more_often_have_the_mean_of_more_rows():
    """Means of 5 and 4: what component 0 found in its last pair counts."""
    objectives = np.array([[3.0, 3.0, 4.0, 4.0, 7.0, 7.0]])
    advantages, shares = component_advantages(objectives, np.array([0, 0, 1, 1, 0, 0]), 2, 0.0)
    assert np.sign(advantages).tolist() == [[-1, -1, 1, 1, -1, -1]]
    assert shares == pytest.approx([2 / 3, 1 / 3])


def test_a_single_component_has_nothing_to_be_compared_with():
    advantages, shares = component_advantages(F, np.array([1, 1, 1, 1]), 3, 0.5)
    assert not advantages.any()
    assert advantages.shape == F.shape
    assert shares.tolist() == [0, 1, 0]


def test_slots_in_a_crowd_count_less():
    conditions = np.array([[-0.5], [-0.5], [-0.5], [0.5]])
    weights = slot_weights(conditions, 0.1)
    assert weights.shape == (4, 1)
    assert weights.mean() == pytest.approx(1)
    assert weights[3, 0] == pytest.approx(3 * weights[0, 0], rel=1e-3)


def a_gate_batch(n=60, dead=(), moved=0.3, seed=0):
    """Returns logits of four components, and a batch whose probabilities were some others."""
    rng = np.random.default_rng(seed)
    logits, live = rng.normal(size=(n, 4)), ~np.isin(np.arange(4), dead)
    acted = rng.choice(np.flatnonzero(live), n)
    now = log_softmax(np.where(live, logits, -np.inf), axis=1)[np.arange(n), acted]
    batch = GateBatch(acted, now + moved * rng.normal(size=n), rng.normal(size=n), rng.random(n) + 0.2, live)
    return logits, batch, np.exp(now - batch.logprobs)


@pytest.mark.parametrize("dead", [(), (2,), (0, 1)])
@pytest.mark.parametrize(("moved", "everywhere"), [(0.02, "inside"), (0.3, "both"), (1.5, "outside")])
def test_slopes_of_the_gate_are_those_of_finite_differences(moved, everywhere, dead):
    logits, batch, ratio = a_gate_batch(dead=dead, moved=moved)
    outside = np.abs(ratio - 1) > 0.2
    assert {"inside": 0, "outside": 0.8}.get(everywhere, 0.2) <= outside.mean() <= (everywhere != "inside")
    slopes, _ = gate_slopes(logits, batch, 0.2)
    numeric, step = np.empty_like(logits), 1e-6
    for place in np.ndindex(logits.shape):
        change = np.zeros_like(logits)
        change[place] = step
        above, below = (gate_slopes(logits + sign * change, batch, 0.2)[1] for sign in (1, -1))
        numeric[place] = (above - below) / (2 * step)
    assert slopes == pytest.approx(numeric, abs=1e-6 * np.abs(slopes).max())
    assert not slopes[:, list(dead)].any()
    assert slopes.sum(axis=1) == pytest.approx(np.zeros(60), abs=1e-14 * np.abs(slopes).max())
    better = batch.advantages > 0
    held = (better & (ratio > 1.2)) | (~better & (ratio < 0.8))  # where PPO lets go
    assert not slopes[held].any()
    assert slopes[~held].any(axis=1).all()


def test_the_gates_loss_by_hand():
    """Probabilities of 3/4 and 1/4; the first was 1/2, so that a ratio of 1.5 is clipped to 1.2."""
    logits = np.log([[3.0, 1.0], [3.0, 1.0]])
    batch = GateBatch(np.array([0, 1]), np.log([0.5, 0.25]), np.array([2.0, 4.0]), np.array([1.0, 0.5]), np.ones(2) > 0)
    slopes, loss = gate_slopes(logits, batch, 0.2)
    assert loss == pytest.approx(-(1.2 * 2 * 1 + 1.0 * 4 * 0.5) / 2)
    assert slopes[0].tolist() == [0, 0]
    assert slopes[1] == pytest.approx([0.75, -0.75])  # -4 * 0.5 / 2 times (-p, 1 - p)


@pytest.mark.parametrize("acted", [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 0, 0]])
def test_weights_make_an_expectation_of_any_shares(acted):
    """Before the update the slope is that of -sum_k p_k A_k, however often a component acts."""
    acted, advantage, logits = np.array(acted), np.array([0.7, -1.1, 0.2]), np.array([0.3, -0.2, 0.5])
    n, p = len(acted), np.exp(log_softmax(logits))
    shares = component_advantages(np.zeros((1, n)), acted, 3, 1.0)[1]
    batch = GateBatch(acted, np.log(p)[acted], advantage[acted], p[acted] / shares[acted], np.ones(3, bool))
    slopes, _ = gate_slopes(np.tile(logits, (n, 1)), batch, 0.2)
    assert slopes.sum(axis=0) == pytest.approx(-p * (advantage - p @ advantage))


@pytest.mark.parametrize(("count", "knobs"), [(2, 1), (6, 2), (3, 5)])
def test_means_start_apart_in_every_knob(count, knobs):
    means = first_means(count, knobs, np.random.default_rng(0))
    assert means.shape == (count, knobs)
    centres = (2 * np.arange(count) + 1) / count - 1
    assert np.sort(means, axis=0) == pytest.approx(np.tile(centres[:, None], knobs))


def test_a_minibatch_takes_the_same_rows_of_all_that_there_is():
    spec = NetworkSpec(3, (), "tanh", "gaussian", 2, components=3)
    batch, tag = gate_batch_for(spec, 12), np.arange(12)
    gate = dataclasses.replace(batch.gate, components=tag, logprobs=tag + 0.1, advantages=tag + 0.2, weights=tag + 0.3)
    batch = dataclasses.replace(batch, logprobs=tag + 0.4, advantages=tag + 0.5, gate=gate)
    index = np.array([7, 0, 3])
    some = batch.rows(index)
    assert np.array_equal(some.obs, batch.obs[index])
    assert np.array_equal(some.actions, batch.actions[index])
    assert (some.logprobs - 0.4).tolist() == (some.advantages - 0.5).tolist() == [7, 0, 3]
    assert some.gate.components.tolist() == [7, 0, 3]
    for name, part in (("logprobs", 0.1), ("advantages", 0.2), ("weights", 0.3)):
        assert getattr(some.gate, name) == pytest.approx(index + part)
    assert some.gate.live.tolist() == [True] * 3
    assert (some.returns, some.values) == (None, None)
    assert dataclasses.replace(batch, gate=None).rows(index).gate is None


@pytest.mark.parametrize("rank_weight", [0.0, 0.3, 1.0])
def test_a_component_is_judged_by_what_did_not_fail_and_is_the_worst_where_all_did(rank_weight):
    nan = np.nan
    objectives = np.array([[nan, 1.0, 4.0, 4.0], [nan, nan, -3.0, 9.0], [nan, nan, nan, nan]])
    acted = np.array([0, 0, 2, 2])
    inf = np.inf
    assert component_means(objectives, acted, 3).tolist() == [[1, inf, 4], [inf, inf, 3], [inf, inf, inf]]
    advantages, _ = component_advantages(objectives, acted, 3, rank_weight)
    assert np.sign(advantages).tolist() == [[1, 1, -1, -1], [-1, -1, 1, 1], [0, 0, 0, 0]]
    own = pair_advantages(objectives, np.zeros((3, 4, 1)), rank_weight)
    assert np.sign(own).tolist() == [[-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, 0, 0]]
