"""The means of a slot are kept within its noise, and what a law says is left as it is."""

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from ppo.algorithm.mean_spread import MAX_SPREAD, limit_mean_spread, mean_spread
from tests.ppo.algorithm.test_learner import collect, learner_and_collector

STD = 0.1


def policy(weight, hidden_sizes=(), components=1, live=None):
    """Two knobs and one condition: the first mean changes with the first knob by ``weight``, at no hidden layer."""
    spec = NetworkSpec(3, hidden_sizes, "tanh", "gaussian", 2, components=components)
    theta = 0.3 * np.random.default_rng(0).normal(size=spec.size) if hidden_sizes else np.zeros(spec.size)
    layers = spec.views(theta)
    layers[-1][0][:, 2 * components : 4 * components] = 0.0
    layers[-1][1][2 * components : 4 * components] = -50.0  # so that the floor is all
    layers[0][0][:2] *= weight
    if not hidden_sizes:
        layers[0][0][0, 0], layers[0][0][2, 1] = weight, 3.0
    return Policy(Snapshot(0, spec, theta, STD, live=live))


def two_steps(slots=5):
    """States of slots whose first knob stands at -1 and then at 1."""
    obs = np.zeros((slots, 2, 3))
    obs[:, :, 0] = -1, 1
    obs[:, :, 2] = np.linspace(-1, 1, slots)[:, None]
    return obs


def test_the_spread_of_a_policy_by_hand():
    # Means of +-0.2 and std 0.1: two standard deviations for one of two knobs. What conditions change does not count.
    assert mean_spread(policy(0.2), two_steps()) == pytest.approx(2 / np.sqrt(2))
    assert mean_spread(policy(0.0), two_steps()) == 0
    assert mean_spread(policy(0.2), two_steps()[:, :1]) == 0  # one time step has nothing to be compared with


def test_of_several_components_those_in_use_count():
    acting = policy(0.2, components=2)
    # Of component 0 as above, and none of component 1.
    assert mean_spread(acting, two_steps()) == pytest.approx(1.0)
    assert mean_spread(policy(0.2, components=2, live=np.array([False, True])), two_steps()) == 0


def test_a_spread_below_the_limit_is_left_alone():
    acting = policy(0.05)
    theta = acting.snapshot.theta.copy()
    spread = limit_mean_spread(acting, theta, two_steps())
    assert spread == pytest.approx(0.5 / np.sqrt(2)) and spread < MAX_SPREAD
    assert theta.tobytes() == acting.snapshot.theta.tobytes()


def test_a_spread_above_the_limit_is_scaled_to_it():
    acting = policy(0.2)
    theta = acting.snapshot.theta.copy()
    assert limit_mean_spread(acting, theta, two_steps()) == pytest.approx(2 / np.sqrt(2))
    assert mean_spread(Policy(Snapshot(0, acting.spec, theta, STD)), two_steps()) == pytest.approx(MAX_SPREAD)


def test_a_law_keeps_its_bits():
    acting = policy(1.0, hidden_sizes=(32, 32))
    theta, obs = acting.snapshot.theta.copy(), np.random.default_rng(1).uniform(-1, 1, (30, 2, 3))
    before = limit_mean_spread(acting, theta, obs)
    after = Policy(Snapshot(0, acting.spec, theta, STD))
    assert MAX_SPREAD < mean_spread(after, obs) < before / 2  # a step towards the limit: the network is not linear
    at_centre = obs[:, 0] * [0, 0, 1]
    assert after.mode(at_centre).tobytes() == acting.mode(at_centre).tobytes()
    assert not np.array_equal(after.mode(obs[:, 0]), acting.mode(obs[:, 0]))


def test_a_learner_keeps_the_means_of_a_slot_together():
    learner, collector = learner_and_collector(norm_obs=False, learning_rate=1e-12, training_steps=100)
    layers = learner.agent.policy.views(learner.agent.theta)
    layers[0][0][0], layers[-1][0][:, 0] = 1.0, 3.0
    law = learner.policy.mode(np.array([[0.0, 0.3]]))
    found = [learner.learn(collect(learner, collector))["charts/mean_spread"] for _ in range(8)]
    assert found[0] > 5 * MAX_SPREAD
    assert max(found[3:]) < 2 * MAX_SPREAD
    assert learner.policy.mode(np.array([[0.0, 0.3]])) == pytest.approx(law, abs=1e-6)


def test_values_need_no_such_limit():
    learner, collector = learner_and_collector(advantages="gae")
    assert "charts/mean_spread" not in learner.learn(collect(learner, collector))
