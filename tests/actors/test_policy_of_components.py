"""Components take turns, the critic or else the gate chooses among their means, and one that is not live never acts."""

import dataclasses

import numpy as np
import pytest
from scipy import special, stats

from actors import Law, NetworkSpec, Policy, Snapshot
from actors.critic import Critic
from tests.actors.mixtures import constant_policy, mixture, random_critic, spec_of

LIVE = np.array([True, False, True, True])


def outputs(snapshot, obs):
    """Returns means ``[n, K, knobs]``, stds of that shape and logits ``[n, K]``, one row at a time."""
    spec = snapshot.spec
    (w0, b0), (w1, b1) = spec.views(snapshot.theta)
    out = np.stack([np.tanh(row @ w0 + b0) @ w1 + b1 for row in obs])
    means, raw, logits = np.split(out, np.cumsum([spec.components * spec.action_dim] * 2), axis=1)
    shape = (len(obs), spec.components, spec.action_dim)
    return means.reshape(shape), np.hypot(snapshot.std_floor, np.exp(raw)).reshape(shape), logits


def observed(n=11, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.normal(size=(n, 2))


@pytest.mark.parametrize("live", [None, LIVE, np.array([False, False, True, False])])
def test_live_components_take_turns_and_their_logprobs_are_those_of_the_mixture(live):
    snapshot = mixture(4, live=live)
    obs, noise = observed()
    means, stds, logits = outputs(snapshot, obs)
    used = np.arange(4) if live is None else np.flatnonzero(live)
    gate = special.log_softmax(logits[:, used], axis=1)
    for pair in range(7):
        place = pair % len(used)
        component = used[place]
        actions, logprobs = Policy(snapshot).act(obs, noise, pair)
        assert actions.shape == (11, 3)
        assert (actions[:, 2] == component).all()
        mean, std = means[:, component], stds[:, component]
        assert actions[:, :2] == pytest.approx(mean + std * noise)
        own = stats.norm.logpdf(actions[:, :2], mean, std).sum(axis=1)
        assert logprobs == pytest.approx(own + gate[:, place], rel=1e-9)


def test_the_gate_gives_what_is_not_live_no_probability():
    obs, _ = observed()
    logprobs = Policy(mixture(4, live=LIVE)).gate(obs)
    assert (logprobs[:, 1] == -np.inf).all()
    assert np.exp(logprobs).sum(axis=1) == pytest.approx(np.ones(11))
    logits = outputs(mixture(4), obs)[2]
    assert logprobs[:, LIVE] == pytest.approx(special.log_softmax(logits[:, LIVE], axis=1))
    assert Policy(mixture(4)).gate(obs) == pytest.approx(special.log_softmax(logits, axis=1))
    assert Policy(mixture(1)).gate(obs).tolist() == [[0.0]] * 11


def test_proposals_are_the_means_of_all_components():
    obs, _ = observed()
    assert Policy(mixture(4)).proposals(obs) == pytest.approx(outputs(mixture(4), obs)[0])
    one = Policy(mixture(1))
    assert np.array_equal(one.proposals(obs)[:, 0], one.mode(obs))


AT = np.array([[0.0, -1.0], [0.0, 0.0], [0.0, 1.0]])  # states of one knob and one condition


def test_without_a_critic_the_gate_chooses():
    """The logits are -2 c, 0.5 and 2 c, so that the first, the second and the last are the likeliest in turn."""
    means = [-0.5, 0.1, 0.7]
    acting = constant_policy(means, [0.0, 0.5, 0.0], slopes=[-2.0, 0.0, 2.0])
    assert acting.mode(AT)[:, 0].tolist() == means
    without = constant_policy(means, [0.0, 0.5, 0.0], [-2.0, 0.0, 2.0], live=np.array([True, False, True]))
    assert without.mode(AT)[[0, 2], 0].tolist() == [-0.5, 0.7]
    assert without.mode(AT)[1, 0] != 0.1


def preferring(*states):
    """Returns a critic that expects the less f the nearer some state ``(x, c)`` is."""
    points = np.array(states)
    weights, scalars = np.full(len(points), -1.0), np.array([5.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    return Critic(points, weights, np.array([0.5, 0.5]), scalars)


def test_the_law_follows_a_critic_against_the_gate():
    acting = constant_policy([-0.5, 0.1, 0.7], [9.0, 0.0, 0.0], critic=preferring((0.8, -1.0), (0.0, 1.0)))
    law = Law(acting.snapshot)
    assert law([[-1.0], [1.0]])[:, 0].tolist() == [0.7, 0.1]
    assert law([1.0]).tolist() == [0.1]
    sent = Law(Snapshot.from_bytes(acting.snapshot.to_bytes()))
    assert sent([[-1.0], [1.0]])[:, 0].tolist() == [0.7, 0.1]
    dead = dataclasses.replace(acting.snapshot, live=np.array([True, True, False]))
    assert Law(dead)([[-1.0], [1.0]])[:, 0].tolist() == [0.1, 0.1]


def test_the_critic_judges_the_knobs_that_would_be_used():
    """A mean of 3 means knobs at 1, which is nearer to 0.9 than 0.4 is."""
    law = Law(constant_policy([-0.5, 0.4, 3.0], [0.0, 0.0, 0.0], critic=preferring((0.9, 0.0))).snapshot)
    assert law([0.0]).tolist() == [1.0]


def test_a_critic_says_nothing_to_a_single_gaussian():
    obs, noise = observed()
    plain, judged = Policy(mixture(1)), Policy(mixture(1, critic=random_critic()[0]))
    assert judged.mode(obs).tobytes() == plain.mode(obs).tobytes()
    assert judged.act(obs, noise)[0].tobytes() == plain.act(obs, noise)[0].tobytes()


def test_one_component_acts_as_a_gaussian_without_components():
    obs, noise = observed()
    spec = NetworkSpec(3, (8,), "tanh", "gaussian", 2)
    assert spec == spec_of(1)
    acting = Policy(mixture(1))
    means, stds, _ = outputs(mixture(1), obs)
    for pair in (0, 1, 5):
        actions, logprobs = acting.act(obs, noise, pair)
        assert actions == pytest.approx(means[:, 0] + stds[:, 0] * noise)
        assert logprobs == pytest.approx(stats.norm.logpdf(actions, means[:, 0], stds[:, 0]).sum(axis=1))


@pytest.mark.parametrize("components", [2, 6, 9])
@pytest.mark.parametrize("critic", [None, random_critic(37)[0]], ids=["gate", "critic"])
def test_a_rows_bits_do_not_depend_on_its_batch(critic, components):
    live = np.arange(components) != 1
    acting = Policy(mixture(components, seed=2, live=live, critic=critic))
    obs, noise = observed(64)
    actions, logprobs = acting.act(obs, noise, 3)
    modes, gate, proposals = acting.mode(obs), acting.gate(obs), acting.proposals(obs)
    assert len(np.unique(modes)) > 1
    for size in (1, 2, 3, 5, 9, 16, 17, 31, 63):
        for start in range(0, 64, size):
            rows = slice(start, start + size)
            some_actions, some_logprobs = acting.act(obs[rows], noise[rows], 3)
            assert some_actions.tobytes() == actions[rows].tobytes()
            assert some_logprobs.tobytes() == logprobs[rows].tobytes()
            assert acting.mode(obs[rows]).tobytes() == modes[rows].tobytes()
            assert acting.gate(obs[rows]).tobytes() == gate[rows].tobytes()
            assert acting.proposals(obs[rows]).tobytes() == proposals[rows].tobytes()
