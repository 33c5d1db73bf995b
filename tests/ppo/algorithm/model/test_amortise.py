"""The components learn the model's best knobs, each where it is the nearest, and the gate which of them that is."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from ppo.algorithm.model import amortise
from ppo.algorithm.model.amortise import (
    FAR,
    NEARLY,
    VALLEY,
    Targets,
    alone,
    assigned,
    overlapping,
    proposals,
    regressed,
    several,
)
from ppo.algorithm.model.search import expected, polished
from tests.ppo.algorithm.model.processes import Crossing
from tests.problems import Quadratic

C = np.linspace(-1, 1, 40)[:, None]
SPEC = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2, components=3)
VALLEYS = NetworkSpec(2, (8,), "tanh", "gaussian", 1, components=3)


def theta_of(spec=SPEC, seed=0):
    return 0.5 * np.random.default_rng(seed).normal(size=spec.size)


def placed(spec, means):
    """Returns parameters under which each component has the same mean everywhere."""
    theta = theta_of(spec)
    for number, mean in enumerate(means):
        spec.place(theta, number, np.full(spec.action_dim, mean), 0.1)
    return theta


def means_of(spec, theta, components, conditions=C):
    """Returns the means of the given components at conditions."""
    means = Policy(Snapshot(0, spec, theta)).proposals(centre_states(conditions, spec.action_dim))
    return means[np.arange(len(conditions)), components]


def chosen(spec, theta, conditions=C, live=None):
    """Returns the components that the gate chooses."""
    policy = Policy(Snapshot(0, spec, theta, live=live))
    return policy.gate(centre_states(conditions, spec.action_dim)).argmax(axis=1)


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


def test_where_there_are_more_valleys_than_components_all_are_in_use():
    targets = np.array([-0.9, -0.3, 0.3, 0.9])[np.arange(40) % 4][:, None]
    components, anew = assigned(targets, np.zeros((40, 3, 1)), LIVE)
    assert sorted(anew) == [1, 2] and set(components) == {0, 1, 2}


def test_proposals_are_those_of_the_acting_policy():
    found = proposals(SPEC, theta_of(), C)
    for component in range(3):
        assert found[:, component].tolist() == means_of(SPEC, theta_of(), component).tolist()


def test_components_reach_the_knobs_that_they_are_to_learn():
    components = (C[:, 0] > 0.2).astype(int) * 2  # component 1 has nothing to do
    knobs = np.where(components[:, None] == 0, Quadratic().best(C), -Quadratic().best(C) - 0.2)
    theta = theta_of()
    before = theta.copy()
    found = regressed(SPEC, theta, Targets(C, components, knobs), 40)
    assert np.array_equal(theta, before)
    assert np.abs(means_of(SPEC, found, components) - knobs).max() < 2e-3
    assert np.abs(means_of(SPEC, before, components) - knobs).max() > 0.5


def test_more_steps_come_nearer():
    targets = Targets(C, np.zeros(40, int), Quadratic().best(C))
    found = [regressed(SPEC, theta_of(), targets, steps) for steps in (0, 1, 5, 40)]
    errors = [((means_of(SPEC, theta, 0) - targets.knobs) ** 2).sum() for theta in found]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-3 * errors[1]


def test_one_component_gives_the_best_knobs_of_the_model(model):
    found = alone(SPEC, theta_of(), model, 1, C, 40)
    assert np.abs(means_of(SPEC, found, 1) - polished(model, np.zeros((40, 2)), C)).max() < 2e-3


@pytest.mark.parametrize("valley", [0, 1])
def test_one_component_stays_in_its_valley_where_another_one_is_better(valley, valleys):
    found = alone(VALLEYS, placed(VALLEYS, [0.0, [-0.4, 0.4][valley], 0.0]), valleys, 1, C, 20)
    assert np.abs(means_of(VALLEYS, found, 1)[:, 0] - Crossing().valleys(C)[:, valley]).max() < 2e-3


NEAR_ZERO = np.linspace(-0.21, 0.21, 43)[:, None]
BEST = Targets(NEAR_ZERO, (NEAR_ZERO[:, 0] > 0).astype(int), Crossing().best(NEAR_ZERO))


def test_where_another_valley_is_nearly_as_good_its_component_learns_it_too(valleys):
    found = overlapping(VALLEYS, placed(VALLEYS, [-0.6, 0.6, 0.0]), valleys, BEST)
    for name in ("conditions", "components", "knobs"):
        assert np.array_equal(getattr(found, name)[:43], getattr(BEST, name))
    other = np.take_along_axis(Crossing().valleys(NEAR_ZERO), 1 - BEST.components[:, None], axis=1)
    loss = expected(valleys, other, NEAR_ZERO) - expected(valleys, BEST.knobs, NEAR_ZERO)
    near = loss < NEARLY * valleys.targets.std()
    assert 5 < near.sum() < 35
    order = np.argsort(found.conditions[43:, 0])
    assert found.conditions[43:][order].tolist() == NEAR_ZERO[near].tolist()
    assert found.components[43:][order].tolist() == (1 - BEST.components[near]).tolist()
    assert found.knobs[43:][order] == pytest.approx(other[near], abs=1e-3)


@pytest.mark.parametrize(
    ("means", "added"),
    [
        ([-0.6, 0.6], {0, 1}),
        ([-0.6, -0.6], {0}),  # component 1 is in the best valley already where component 0 is the best
        ([0.6, 0.6], {1}),
        ([-0.6, 0.6 - 0.9 * VALLEY], {0, 1}),
        ([-0.6, 0.6 - 1.1 * VALLEY], {0}),  # component 1 is too far from any valley
    ],
)
def test_a_component_learns_more_only_in_another_valley_that_is_its_own(means, added, valleys):
    found = overlapping(VALLEYS, placed(VALLEYS, [*means, 0.0]), valleys, BEST)
    assert set(found.components[43:].tolist()) == added


def test_components_of_the_same_valley_learn_nothing_more(model):
    best = Targets(C, np.arange(40) % 2, Quadratic().best(C))
    assert len(overlapping(SPEC, placed(SPEC, [0.1, 0.1, 0.1]), model, best).knobs) == 40


def test_one_component_is_best_alone(valleys):
    best = dataclasses.replace(BEST, components=np.zeros(43, int))
    assert len(overlapping(VALLEYS, placed(VALLEYS, [-0.6, 0.6, 0.0]), valleys, best).knobs) == 43


def snapshot_of(spec, means, live=None):
    return Snapshot(0, spec, placed(spec, means), 0.1, live=None if live is None else np.array(live))


@pytest.mark.parametrize("live", [None, [True, False, False], [True, True, False]])
def test_two_valleys_take_two_components(live, valleys):
    start = snapshot_of(VALLEYS, [-0.5, -0.5, -0.5], live)
    before = start.theta.copy()
    best = Crossing().best(C)
    theta, components = several(start, valleys, best, C, 0.1, 20)
    assert np.array_equal(start.theta, before)
    assert len(set(components[C[:, 0] < 0])) == len(set(components[C[:, 0] > 0])) == 1 < len(set(components))
    assert np.abs(means_of(VALLEYS, theta, components) - best).max() < 0.02
    used = np.isin(np.arange(3), components)
    assert chosen(VALLEYS, theta, live=used).tolist() == components.tolist()


def test_a_component_that_started_anew_is_in_use_from_then_on(valleys, monkeypatch):
    lives, original = [], amortise.assigned

    def seen(targets, means, live, labelled):
        lives.append(live.tolist())
        return original(targets, means, live, labelled)

    monkeypatch.setattr(amortise, "assigned", seen)
    several(snapshot_of(VALLEYS, [-0.6, 0.1, 0.1], [True, False, False]), valleys, Crossing().best(C), C, 0.1, 5)
    assert lives == [[True, False, False], [True, True, False], [True, True, False]]


def test_no_component_joins_one_that_is_near_everywhere(model):
    best = Quadratic().best(C)
    theta = regressed(SPEC, placed(SPEC, [0.0, 0.9, -0.9]), Targets(C, np.zeros(40, int), best + 0.5 * FAR), 40)
    found, components = several(Snapshot(0, SPEC, theta), model, best, C, 0.1, 20)
    assert components.tolist() == [0] * 40
    assert np.abs(means_of(SPEC, found, 0) - best).max() < 0.01
    assert means_of(SPEC, found, 1) == pytest.approx(0.9 * np.ones((40, 2)), abs=1e-9)


def test_a_single_component_learns_what_it_can_of_two_valleys(valleys):
    spec = dataclasses.replace(VALLEYS, components=1)
    best = Crossing().best(C)
    theta, components = several(snapshot_of(spec, [0.0]), valleys, best, C, 0.1, 20)
    assert components.tolist() == [0] * 40
    means = means_of(spec, theta, 0)
    assert np.abs(means - best)[np.abs(C) > 0.3].max() < 0.05  # a jump that a network can take
