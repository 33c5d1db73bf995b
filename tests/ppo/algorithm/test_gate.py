"""The gate is fitted to which of the components is the best where, and nothing else of the policy changes."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from ppo.algorithm.gate import fit_gate

C = np.linspace(-1, 1, 40)[:, None]
STATES = centre_states(C, 2)
SPEC = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2, components=3)


def theta_of(spec=SPEC):
    return 0.5 * np.random.default_rng(0).normal(size=spec.size)


def chosen(spec, theta):
    """Returns the components that the gate chooses."""
    return Policy(Snapshot(0, spec, theta)).gate(STATES).argmax(axis=1)


def test_the_gate_learns_which_component_is_the_best():
    components = np.digitize(C[:, 0], [-0.3, 0.4])
    theta = theta_of()
    assert (chosen(SPEC, theta) == components).mean() < 0.7
    before = theta.copy()
    fit_gate(SPEC, theta, STATES, components)
    assert chosen(SPEC, theta).tolist() == components.tolist()
    weights, others = SPEC.views(theta), SPEC.views(before)
    for layer in (0, 1):
        assert all(map(np.array_equal, weights[layer], others[layer]))
    for part, other in zip(weights[-1], others[-1], strict=True):  # of the last layer, the last three outputs
        assert np.array_equal(part[..., :-3], other[..., :-3])
        assert (part[..., -3:] != other[..., -3:]).all()


def test_the_gate_learns_how_often_a_component_is_the_best():
    theta, conditions = theta_of(), np.repeat([[-0.5], [0.5]], 10, axis=0)
    fit_gate(SPEC, theta, centre_states(conditions, 2), np.array([0, *[2] * 9, *[1] * 6, *[2] * 4]))
    found = np.exp(Policy(Snapshot(0, SPEC, theta)).gate(centre_states(conditions[[0, 10]], 2)))
    assert found == pytest.approx(np.array([[0.1, 0.0, 0.9], [0.0, 0.6, 0.4]]), abs=0.01)


def test_states_count_as_their_weights_say():
    theta, conditions = theta_of(), np.full((4, 1), 0.5)
    fit_gate(SPEC, theta, centre_states(conditions, 2), np.array([0, 1, 1, 2]), np.array([2.0, 0.5, 0.5, 1.0]))
    found = np.exp(Policy(Snapshot(0, SPEC, theta)).gate(centre_states(conditions[:1], 2)))
    assert found == pytest.approx(np.array([[0.5, 0.25, 0.25]]), abs=0.01)


def test_a_gate_without_features_learns_how_often_alone():
    theta = np.zeros(SPEC.size)
    fit_gate(SPEC, theta, STATES, np.arange(40) % 4 % 3)
    found = np.exp(Policy(Snapshot(0, SPEC, theta)).gate(centre_states(C, 2)))
    assert found == pytest.approx(np.tile([0.5, 0.25, 0.25], (40, 1)), abs=1e-3)


def test_the_gate_of_components_that_are_never_the_best_leaves_them_out():
    theta = theta_of()
    fit_gate(SPEC, theta, STATES, np.ones(40, int))
    assert (chosen(SPEC, theta) == 1).all()


def test_a_single_component_has_no_gate():
    spec = dataclasses.replace(SPEC, components=1)
    theta = theta_of(spec)
    before = theta.copy()
    fit_gate(spec, theta, STATES, np.zeros(40, int))
    assert np.array_equal(theta, before)
