"""The components' labels: all combinations, the same in every state, and left alone by whatever learns."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from env.objectives.evaluation import evaluate
from env.objectives.given import objective_class
from ppo.algorithm.components import frozen, label_components, label_of, label_values
from ppo.algorithm.model.amortise import Targets, assigned, regressed, several
from ppo.algorithm.model.fitting import fit
from ppo.algorithm.model.gaussian_process import factored, first_guesses
from ppo.algorithm.model.search import prospect
from tests.ppo.algorithm.several import learned, learner_and_collector
from tests.problems import modes

SPEC = NetworkSpec(4, (8,), "tanh", "gaussian", 3, components=7, steps=(1.0, 0.0, 2.0), labelled=(0, 2))
PLAIN = dataclasses.replace(SPEC, steps=(), labelled=())
C = np.linspace(-1, 1, 33)[:, None]


def labelled(spec=SPEC, seed=0):
    theta = 0.5 * np.random.default_rng(seed).normal(size=spec.size)
    label_components(spec, theta)
    return theta


def labels(spec, theta, states=None):
    """Returns what the components' means are in their choices at random states, ``[n, K, choices]``."""
    states = np.random.default_rng(1).uniform(-1, 1, (20, spec.obs_dim)) if states is None else states
    return Policy(Snapshot(0, spec, theta)).proposals(states)[..., list(spec.labelled)]


def test_labels_are_all_combinations_in_turn():
    values = label_values(SPEC)
    assert values.tolist() == [[x, z] for x in (-1, 0, 1) for z in (-1, 1)]
    found = labels(SPEC, labelled())
    assert (found == values[np.arange(7) % 6]).all()
    assert [label_of(SPEC, labelled(), k).tolist() for k in range(7)] == values[np.arange(7) % 6].tolist()


def test_without_choices_there_is_one_label_that_is_empty():
    assert label_values(PLAIN).shape == (1, 0) and frozen(PLAIN) is None
    theta = np.arange(PLAIN.size, dtype=float)
    label_components(PLAIN, theta)
    assert theta.tolist() == list(range(PLAIN.size))
    assert label_of(PLAIN, theta, 3).shape == (0,)


def test_what_is_frozen_is_what_gives_labels():
    """Changing all else changes no label; changing any of it does."""
    theta, kept = labelled(), frozen(SPEC)
    assert kept.sum() == 7 * 2 * 2 * (
        8 + 1
    )  # mean and raw std of two choices in seven components, by 8 units and a bias
    other = np.where(kept, theta, theta + np.random.default_rng(2).normal(size=SPEC.size))
    assert (labels(SPEC, other) == labels(SPEC, theta)).all()
    assert not (labels(SPEC, np.where(kept, theta + 0.1, theta)) == labels(SPEC, theta)).any()


@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
@pytest.mark.parametrize("changes", [{}, {"num_minibatches": 3}, {"update_damping": 0.8, "max_grad_norm": 0.0}])
def test_updates_leave_labels_as_they_are(gradients, changes):
    learner, collector = learner_and_collector(4, env="tests.problems:modes", gradients=gradients, **changes)
    spec, before = learner.agent.policy, learner.agent.theta.copy()
    assert spec.labelled == (0,) and spec.components == 4
    learned(learner, collector, 4)
    kept = frozen(spec)
    assert learner.agent.theta[kept].tobytes() == before[kept].tobytes()
    assert (learner.agent.theta[~kept] != before[~kept]).mean() > 0.5
    assert (labels(spec, learner.agent.theta)[..., 0] == [-1, 0, 1, -1]).all()


def test_actions_in_a_slot_are_labels():
    learner, collector = learner_and_collector(4, env="tests.problems:modes")
    from tests.ppo.algorithm.several import collect

    trajectory = collect(learner, collector)
    component = trajectory.actions[..., -1].astype(int)
    assert (trajectory.actions[..., 0] == np.array([-1.0, 0.0, 1.0, -1.0])[component]).all()
    assert len(np.unique(trajectory.actions[..., 1])) > 0.9 * component.size
    assert learner.learn(trajectory)["losses/initial_logratio"] < 1e-5


def test_a_regression_leaves_labels_as_they_are():
    theta, components = labelled(), np.arange(33) % 7
    knobs = np.random.default_rng(3).uniform(-1, 1, (33, 3))
    found = regressed(SPEC, theta, Targets(C, components, knobs), 30)
    assert (labels(SPEC, found) == labels(SPEC, theta)).all()
    means = Policy(Snapshot(0, SPEC, found)).proposals(centre_states(C, 3))[np.arange(33), components, 1]
    before = Policy(Snapshot(0, SPEC, theta)).proposals(centre_states(C, 3))[np.arange(33), components, 1]
    assert np.abs(means - knobs[:, 1]).sum() < 0.5 * np.abs(before - knobs[:, 1]).sum()


def test_of_nothing_but_choices_nothing_is_regressed():
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1, components=2, steps=(2.0,), labelled=(0,))
    theta = labelled(spec)
    targets = Targets(C, np.zeros(33, int), np.ones((33, 1)))
    assert regressed(spec, theta, targets, 5).tolist() == theta.tolist()


MODES = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2, components=6, steps=(1.0, 0.0), labelled=(0,))


@pytest.fixture(scope="module")
def model():
    """A process that is fitted to the modes, at options."""
    states = np.random.default_rng(0).uniform(-1, 1, (90, 3))
    states[:, 0] = np.rint(states[:, 0])
    values = evaluate(objective_class("", modes)(), states[:, :2], states[:, 2:])
    return factored(states, values, fit(states, values, first_guesses(3), 40))


def best_of(conditions):
    option = np.where(conditions < -0.4, 1.0, np.where(conditions < 0.4, -1.0, 0.0))  # of b, c and a
    trim = np.where(conditions < -0.4, 0.5, np.where(conditions < 0.4, -0.5, 0.2 * conditions))
    return np.concatenate([option, trim], axis=1)


def test_a_prospect_searches_each_option_by_itself(model):
    conditions = C[np.abs(np.abs(C[:, 0]) - 0.4) > 0.05]
    found = prospect(model, Policy(Snapshot(0, MODES, labelled(MODES))), conditions, np.random.default_rng(0))
    assert (found.knobs[:, 0] == best_of(conditions)[:, 0]).all()
    assert found.knobs[:, 1] == pytest.approx(best_of(conditions)[:, 1], abs=0.05)


def test_a_prospect_of_one_label_stays_with_it(model):
    policy = Policy(Snapshot(0, MODES, labelled(MODES)))
    for label, trim in ((-1.0, -0.5), (1.0, 0.5)):
        found = prospect(model, policy, C, np.random.default_rng(0), np.array([[label]]))
        assert (found.knobs[:, 0] == label).all() and found.knobs[:, 1] == pytest.approx(np.full(33, trim), abs=0.05)


def test_several_components_of_one_label_each_learn_the_best_options(model):
    """All components but one are out of use at first."""
    best, live = best_of(C), np.arange(6) == 1
    theta, components = several(Snapshot(0, MODES, labelled(MODES), live=live), model, best, C, 0.1, 30)
    means = Policy(Snapshot(0, MODES, theta)).proposals(centre_states(C, 2))
    assert (means[np.arange(33), components, 0] == best[:, 0]).all()
    assert np.abs(means[np.arange(33), components, 1] - best[:, 1]).max() < 0.05
    found = labels(MODES, theta)
    assert (found == found[:1]).all() and set(found.reshape(-1).tolist()) <= {-1.0, 0.0, 1.0}


A, B = [0.0, 0.3], [0.0, 0.9]
ONE, TWO = [-1.0, 0.3], [1.0, 0.3]


@pytest.mark.parametrize(
    ("targets", "means", "live", "components", "anew"),
    [
        # As near as can be in the other knob, but of another label: each goes to its own.
        ([ONE, TWO], [[1.0, 0.3], [-1.0, 0.9]], (1, 1), [1, 0], {}),
        # None has the label of the second, and component 1 has no target: it takes the label on.
        ([ONE, TWO], [[-1.0, 0.3], [-1.0, 0.9]], (1, 1), [0, 1], {1: TWO}),
        # Component 1 has the label, but is out of use: it is the first to start anew.
        ([ONE, TWO], [[-1.0, 0.3], [1.0, 0.9]], (1, 0), [0, 1], {1: TWO}),
        # Both have targets, and one of them has to give way: the one with fewer, for which the other can stand.
        ([ONE, ONE, [-1.0, 0.9], TWO], [[-1.0, 0.3], [-1.0, 0.9]], (1, 1), [0, 0, 0, 1], {1: TWO}),
        # The one with the fewest targets is the only one of its label: one of two of the same label gives way.
        ([TWO, A, A, B, B, ONE], [TWO, A, B], (1, 1, 1), [0, 1, 1, 1, 1, 2], {2: ONE}),
        # One that has no targets is the first to do so.
        ([ONE, ONE, [0.0, 0.3]], [[-1.0, 0.3], [0.0, 0.9], [-1.0, 0.9]], (1, 1, 1), [0, 0, 2], {2: [0.0, 0.3]}),
    ],
)
def test_targets_are_assigned_to_components_of_their_label(targets, means, live, components, anew):
    spread = np.tile(np.array(means), (len(targets), 1, 1))
    found, started = assigned(np.array(targets), spread, np.array(live, bool), (0,))
    assert found.tolist() == components
    assert {number: knobs.tolist() for number, knobs in started.items()} == anew
