"""The components learn the model's best knobs, each where it is the nearest, and the gate which of them that is."""

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime

from actors import NetworkSpec, Policy, Snapshot
from actors.law import centre_states
from ppo.algorithm.model.amortise import FAR, Amortisation, Expected, assigned, polished
from tests.ppo.algorithm.model.processes import fitted, process
from tests.problems import Quadratic

C = np.linspace(-1, 1, 40)[:, None]
SPEC = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2, components=3)


@pytest.fixture(scope="module")
def model():
    return fitted(Quadratic(), 60)


def theta_of(seed=0):
    return 0.5 * np.random.default_rng(seed).normal(size=SPEC.size)


def policy(theta):
    return Policy(Snapshot(0, SPEC, theta, 0.1))


def means_of(theta, components):
    """Returns the means of the given components at the conditions C."""
    return policy(theta).proposals(centre_states(C, 2))[np.arange(len(C)), components]


def at(*means):
    """Returns means of components, the same for each of three targets, ``[3, K, 1]``."""
    return np.tile(np.array(means)[:, None], (3, 1, 1))


T, LIVE = np.array([[-0.5], [0.0], [0.52]]), np.ones(3, bool)


@pytest.mark.parametrize(
    ("means", "live", "components", "anew"),
    [
        # Each is within 0.05 of its own component, and nothing is left for the fourth.
        ((-0.52, 0.01, 0.5, 9.0), (1, 1, 1, 1), [0, 1, 2], {}),
        # Each is nearest to another component: none is free, however far they are.
        ((-0.9, 0.1, 0.9), (1, 1, 1), [0, 1, 2], {}),
        # The first two are nearest to component 0; 2 is farther off, so the free component starts at the first.
        ((0.1, 9.0, 0.5), (1, 1, 1), [1, 0, 2], {1: [-0.5]}),
        # All are nearest to component 1: the farthest starts component 0, and then -0.5 the last one.
        ((9.0, -0.02, 9.0), (1, 1, 1), [2, 1, 0], {0: [0.52], 2: [-0.5]}),
        # A component that is not in use is not near, and is the first to start anew.
        ((-0.5, 0.0, 0.52), (0, 1, 1), [0, 1, 2], {0: [-0.5]}),
        # Nothing is far: components that are not in use stay so.
        ((-0.5, 0.04, 0.52, 0.0), (1, 1, 1, 0), [0, 1, 2], {}),
    ],
)
def test_targets_are_assigned_to_the_nearest_component(means, live, components, anew):
    found, started = assigned(T, at(*means), np.array(live, bool))
    assert found.tolist() == components
    assert {number: knobs.tolist() for number, knobs in started.items()} == anew


def test_components_differ_from_target_to_target():
    means = np.array([[[0.5], [-0.5]], [[0.0], [9.0]], [[-0.5], [0.5]]])
    assert assigned(T, means, LIVE[:2])[0].tolist() == [1, 0, 1]


def test_a_component_starts_anew_from_the_least_distance_on():
    means = at(0.0, 9.0)
    for distance, started in ((0.99 * FAR, []), (1.01 * FAR, [1])):
        assert list(assigned(np.array([[0.0], [distance], [0.0]]), means, LIVE[:2])[1]) == started


def test_a_policy_reaches_the_knobs_that_it_is_to_learn():
    components = (C[:, 0] > 0.2).astype(int) * 2  # component 1 has nothing to do
    targets = np.where(components[:, None] == 0, Quadratic().best(C), -Quadratic().best(C) - 0.2)
    theta = theta_of()
    before = theta.copy()
    found = Amortisation(SPEC, C, components).to_targets(theta, targets, 300)
    assert np.array_equal(theta, before)
    assert np.abs(means_of(found, components) - targets).max() < 0.02
    assert np.abs(means_of(before, components) - targets).max() > 0.5
    chosen = policy(found).gate(centre_states(C, 2)).argmax(axis=1)
    assert (chosen == components).mean() > 0.85


def test_more_steps_come_nearer():
    task, targets = Amortisation(SPEC, C, np.zeros(40, int)), Quadratic().best(C)
    errors = [np.abs(means_of(task.to_targets(theta_of(), targets, n), 0) - targets).max() for n in (1, 20, 150)]
    assert errors == sorted(errors, reverse=True)


def test_a_policy_reaches_the_best_knobs_of_the_model(model):
    found = Amortisation(SPEC, C, np.zeros(40, int)).to_model(theta_of(), model, 250)
    means = means_of(found, 0)
    best = polished(model, np.zeros((40, 2)), C)
    by_policy, least = (model.mean(np.concatenate([knobs, C], axis=1)) for knobs in (means, best))
    assert (by_policy - least).mean() < 1e-4
    assert np.abs(means).max() < 1


def test_a_single_component_has_no_gate(model):
    spec = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2)
    theta = 0.5 * np.random.default_rng(0).normal(size=spec.size)
    found = Amortisation(spec, C, np.zeros(40, int)).to_targets(theta, Quadratic().best(C), 200)
    modes = Policy(Snapshot(0, spec, found, 0.1)).mode(centre_states(C, 2))
    assert np.abs(modes - Quadratic().best(C)).max() < 0.02


@pytest.mark.parametrize("side", ["low", "high"])
def test_the_slope_of_what_is_expected_is_that_of_finite_differences(side):
    ours = process(side)
    means = np.random.default_rng(0).uniform(-1.4, 1.4, (12, 2))
    conditions = C[:12]
    assert 3 < (np.abs(means) > 1).sum() < 15

    def expected(flat):
        return Expected.apply(torch.from_numpy(flat.reshape(12, 2)), ours, conditions).item()

    at = torch.from_numpy(means).requires_grad_()
    (slope,) = torch.autograd.grad(3 * Expected.apply(at, ours, conditions), at)
    assert slope.numpy().reshape(-1) == pytest.approx(3 * approx_fprime(means.reshape(-1), expected, 1e-7), abs=1e-6)
    inside = np.clip(means, -1, 1)
    value = ours.mean(np.concatenate([inside, conditions], axis=1)).mean() + ((means - inside) ** 2).sum() / 12
    assert expected(means.reshape(-1)) == pytest.approx(value, abs=1e-12)
