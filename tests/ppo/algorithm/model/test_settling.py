"""A policy becomes the law that a model asks for: of one component where that suffices, and of several elsewhere."""

import dataclasses

import numpy as np
import pytest

from actors import Law, NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from ppo.algorithm.model import settling
from ppo.algorithm.model.frame import Frame
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters
from ppo.algorithm.model.settling import LAST_STEPS, QUICK_STEPS, Effort, followed, gate_suffices, proposed, settled
from tests.ppo.algorithm.model.processes import Crossing
from tests.problems import Quadratic

SPEC = NetworkSpec(3, (8, 8), "tanh", "gaussian", 2, components=3)
VALLEYS = NetworkSpec(2, (8,), "tanh", "gaussian", 1, components=3)
C = np.linspace(-1, 1, 50)[:, None]
EFFORT = Effort(32, 20)


@pytest.fixture
def attempts(monkeypatch):
    """Returns the steps of each attempt so far to make do with one component."""
    calls, original = [], settling.alone

    def counted(spec, theta, model, component, conditions, steps):
        calls.append(steps)
        return original(spec, theta, model, component, conditions, steps)

    monkeypatch.setattr(settling, "alone", counted)
    return calls


def of(number):
    return np.random.default_rng(number)


def snapshot(spec=SPEC, seed=0, live=None):
    theta = 0.5 * of(seed).normal(size=spec.size)
    return Snapshot(7, spec, theta, 0.1, live=None if live is None else np.array(live))


def constant(*means, live=None):
    """Returns a policy of one knob whose components have the same means everywhere."""
    policy = snapshot(VALLEYS, live=live)
    for number, mean in enumerate(means):
        VALLEYS.place(policy.theta, number, np.array([mean]), 0.1)
    return policy


def regret(policy, objective):
    """Returns how far f of the law lies above that of the best knobs, at each of the conditions C."""
    return objective(Law(policy)(C), C) - objective(objective.best(C), C)


@pytest.mark.parametrize(
    ("knobs", "conditions"), [(1, 512), (2, 512), (3, 256), (4, 256), (5, 128), (40, 32), (2000, 32)]
)
def test_the_more_knobs_the_fewer_conditions(knobs, conditions):
    assert Effort.last(knobs) == Effort(conditions, LAST_STEPS)
    quick = Effort.quick(knobs)
    assert quick.conditions == min(64, conditions) and quick.steps == QUICK_STEPS < LAST_STEPS


@pytest.mark.parametrize("seed", range(3))
def test_one_valley_takes_one_component(seed, model):
    policy = snapshot(seed=seed)
    before = policy.theta.copy()
    found = settled(policy, model, None, EFFORT, 0.1, of(0))
    assert found.live.sum() == 1 and found.version == 7
    assert regret(found, Quadratic()).max() < 1e-4
    assert np.array_equal(policy.theta, before) and policy.live is None
    anywhere = np.concatenate([of(1).uniform(-1, 1, (50, 2)), C], axis=1)  # where the knobs stand says nothing
    assert Policy(found).proposals(anywhere) == pytest.approx(Policy(found).proposals(anywhere * [0, 0, 1]))


def about(policy, objective, worse=0.0, radius=0.1):
    """Returns a process of the neighbourhood of a policy's only component, of an f that is worse by so much."""
    ours, knobs = Policy(policy), policy.spec.action_dim
    states = of(0).uniform(-1, 1, (60, policy.spec.obs_dim))
    means = np.clip(ours.proposals(centre_states(states[:, knobs:], knobs))[:, ours.live[0]], -1, 1)
    states[:, :knobs] = means + radius * states[:, :knobs]
    values = objective(states[:, :knobs], states[:, knobs:]) + worse
    hyper = Hyperparameters(np.full(states.shape[1], 3.0), 1e-6, 10.0, "low", "rbf")
    return GaussianProcess(states, values, hyper, Frame(ours, radius))


@pytest.mark.parametrize(
    ("live", "local"), [(None, False), ([True, False, False], False), ([True, False, False], True)]
)
def test_two_valleys_take_two_components(live, local, valleys):
    """Also where the process about one of them knows that one exactly."""
    policy = constant(-0.55, 0.1, 0.1, live=live)
    found = settled(policy, valleys, about(policy, Crossing()) if local else None, EFFORT, 0.1, of(0))
    assert found.live.sum() > 1
    assert regret(found, Crossing()).mean() < 1e-3
    one = dataclasses.replace(found, live=np.arange(3) == np.flatnonzero(found.live)[0])
    assert regret(one, Crossing()).mean() > 0.02


def test_where_the_first_attempt_with_one_component_is_hopeless_there_is_no_other(attempts, valleys):
    settled(constant(-0.5, 0.5, 0.0), valleys, None, EFFORT, 0.1, of(0))
    assert attempts == [QUICK_STEPS]


def test_where_one_component_may_suffice_it_is_tried_to_the_end(attempts, model, monkeypatch):
    """More components than one are used at first, each about the knobs where it started anew."""
    monkeypatch.setattr(settling, "QUICK_STEPS", 4)
    far = snapshot()
    for number in range(3):
        SPEC.place(far.theta, number, np.full(2, 0.9), 0.1)
    found = settled(far, model, None, EFFORT, 0.1, of(0))
    assert attempts == [4, 20]
    assert found.live.sum() == 1 and regret(found, Quadratic()).max() < 1e-4


def test_a_component_that_is_as_good_as_it_gets_is_kept(attempts, model):
    good = settled(snapshot(), model, None, EFFORT, 0.1, of(0))
    attempts.clear()
    kept = settled(good, model, about(good, Quadratic()), EFFORT, 0.1, of(1))
    assert np.array_equal(kept.theta, good.theta) and np.array_equal(kept.live, good.live)
    assert not attempts


def test_a_component_that_is_not_good_enough_is_not_kept(model):
    bad = snapshot(live=[False, True, False])
    found = settled(bad, model, about(bad, Quadratic()), EFFORT, 0.1, of(0))
    assert not np.array_equal(found.theta, bad.theta)
    assert found.live.sum() == 1
    assert regret(found, Quadratic()).mean() < 1e-3 < regret(bad, Quadratic()).mean()


def test_a_component_is_kept_until_the_model_is_sure_of_better():
    """Of the law that it asks for the model is sure of less than f + 2 std, in its warp, and the other process says f.

    With one component the former is known without the other process.
    """
    states = of(1).uniform(-1, 1, (12, 3))
    hyper = Hyperparameters(np.full(3, 1.5), 1e-6, 0.5, "low", "rbf")
    unsure = GaussianProcess(states, Quadratic()(states[:, :2], states[:, 2:]), hyper)
    policy = snapshot(dataclasses.replace(SPEC, components=1))
    policy.spec.place(policy.theta, 0, np.array([0.1, 0.1]), 0.1)
    found = settled(policy, unsure, None, EFFORT, 0.1, of(0))
    dense = np.linspace(-1, 1, 400)[:, None]
    mean, std = unsure.mean_and_std(np.concatenate([Law(found)(dense), dense], axis=1))
    expects, bound = unsure.unwarped(mean).mean(), unsure.unwarped(mean + settling.CAUTION * std).mean()
    assert bound - expects > 0.05
    own = Quadratic()(Law(policy)(dense), dense).mean()
    for value, kept in ((expects - 0.02, True), (expects + 0.02, True), (bound - 0.02, True), (bound + 0.02, False)):
        after = settled(policy, unsure, about(policy, Quadratic(), value - own), EFFORT, 0.1, of(0))
        assert np.array_equal(after.theta, policy.theta if kept else found.theta)


@pytest.mark.parametrize(("caution", "leaves"), [(0.0, True), (2.0, False)])
def test_a_known_valley_is_not_left_for_one_that_the_model_hopes_for(caution, leaves, monkeypatch):
    """Of 44 evaluations four lie in the valley that is the better one where c > 0."""
    monkeypatch.setattr(settling, "CAUTION", caution)
    states = of(0).uniform(-1, 1, (44, 2))
    states[:40, 0], states[40:, 0] = -0.5 + 0.5 * states[:40, 0], 0.55 + 0.35 * states[40:, 0]
    hyper = Hyperparameters(np.array([0.5, 2.0]), 1e-6, 10.0, "low", "rbf")
    hopeful = GaussianProcess(states, Crossing()(states[:, :1], states[:, 1:]), hyper)
    expected, doubt = hopeful.mean_and_std(np.array([[-0.6, 1.0], [0.6, 1.0]]))
    assert expected[1] < expected[0] < expected[1] + 2 * doubt[1]
    found = settled(constant(-0.55, 0.55, 0.0, live=[True, False, False]), hopeful, None, EFFORT, 0.1, of(0))
    assert (Law(found)([[1.0]])[0, 0] > 0.5) == leaves


@pytest.mark.parametrize(("by_mean", "by_caution", "several"), [(1, 0, False), (0, 1, False), (1, 1, True)])
def test_several_components_are_worth_it_where_they_are_better_by_the_mean_and_cautiously(
    by_mean, by_caution, several, model, monkeypatch
):
    """One component suffices for this f, and here it is said to lose 1 besides."""
    original, far = settling.expected_mean, snapshot()
    for number in range(3):
        SPEC.place(far.theta, number, np.full(2, 0.9), 0.1)

    def worse(policy, predictor, conditions):
        lost = by_caution if isinstance(predictor, settling.Cautious) else by_mean
        return original(policy, predictor, conditions) + lost * (policy.live.sum() == 1)

    monkeypatch.setattr(settling, "expected_mean", worse)
    assert (settled(far, model, None, EFFORT, 0.1, of(0)).live.sum() > 1) == several


def test_noise_that_the_model_takes_for_such_lets_no_more_be_lost(valleys, monkeypatch):
    """One component that loses up to the regret of constant knobs would do, were it not for the noise."""
    monkeypatch.setattr(settling, "ONE_SUFFICES", 2.0)
    policy = constant(-0.5, 0.5, 0.0)
    assert settled(policy, valleys, None, EFFORT, 0.1, of(0)).live.sum() > 1
    monkeypatch.setattr(GaussianProcess, "noise_of", lambda self, value: 1.0)
    assert settled(policy, valleys, None, EFFORT, 0.1, of(0)).live.sum() == 1


def test_a_policy_of_one_component_gives_the_best_knobs(model):
    found = settled(snapshot(dataclasses.replace(SPEC, components=1)), model, None, EFFORT, 0.1, of(0))
    assert regret(found, Quadratic()).max() < 1e-4


def test_what_is_settled_is_a_function_of_the_arguments(valleys):
    first, again = (settled(constant(-0.5, 0.5, 0.0), valleys, None, EFFORT, 0.1, of(0)) for _ in range(2))
    assert first.sha256 == again.sha256


@pytest.mark.parametrize("live", [[True, False, False], [False, False, True]])
def test_the_only_component_follows_the_model(live, model):
    policy = snapshot(live=live)
    found = followed(policy, model, EFFORT, of(0))
    assert found.live.tolist() == live
    assert regret(found, Quadratic()).max() < 1e-4 < regret(policy, Quadratic()).max()
    own = SPEC.own_outputs(np.flatnonzero(live))[0, :2]
    others = np.setdiff1d(np.arange(15), own)
    for after, before in zip(SPEC.views(found.theta)[-1], SPEC.views(policy.theta)[-1], strict=True):
        assert np.array_equal(after[..., others], before[..., others])


def test_the_only_component_follows_a_model_about_the_law_within_its_window():
    """The law gives (0.2, 0.2), and the model knows what lies within 0.1 of it."""
    policy = snapshot(live=[False, True, False])
    SPEC.place(policy.theta, 1, np.full(2, 0.2), 0.1)
    knobs = Law(followed(policy, about(policy, Quadratic()), EFFORT, of(0)))(C)
    assert np.abs(knobs - np.clip(Quadratic().best(C), 0.1, 0.3)).max() < 0.05


def test_each_component_in_use_proposes_at_each_condition():
    policy = dataclasses.replace(constant(-0.55, 0.0, 0.55), live=np.array([True, False, True]))
    states = proposed(policy, Effort(8, 1), of(0))
    assert states.shape == (16, 2)
    assert states[:, 0].tolist() == pytest.approx([-0.55, 0.55] * 8, abs=1e-6)
    assert np.array_equal(states[::2, 1], states[1::2, 1])
    assert len(np.unique(np.floor(4 * states[::2, 1]))) == 8  # they fill the range


def gate(policy, slope):
    """Lets the gate prefer the last component to the first the more, the larger the condition is, and never others."""
    weight, bias = VALLEYS.views(policy.theta)[-1]
    first_weight, first_bias = VALLEYS.views(policy.theta)[0]
    weight[:, -3:], bias[-3:] = 0.0, [0.0, -1e3, 0.0]
    first_weight[:, 0], first_bias[0] = [0.0, 0.5], 0.0  # the first feature grows with the condition
    weight[0, -1] = slope
    return policy


@pytest.mark.parametrize(("slope", "suffices"), [(30.0, True), (-30.0, False), (0.0, False)])
def test_a_gate_suffices_that_chooses_as_a_critic_would(slope, suffices, valleys):
    policy = gate(constant(-0.55, 0.0, 0.55), slope)
    assert (regret(policy, Crossing()).mean() < 0.02) == suffices
    assert gate_suffices(policy, valleys, of(0)) == suffices


@pytest.mark.parametrize(("share", "suffices"), [(0.8, False), (1.25, True)])
def test_a_gate_may_lose_a_share_of_the_regret(share, suffices, valleys, monkeypatch):
    """The gate always chooses the first component, which loses 0.11 c where c > 0."""
    policy = gate(constant(-0.55, 0.0, 0.55), 0.0)
    by_critic = Crossing()(np.where(C > 0, 0.55, -0.55), C) - Crossing()(Crossing().best(C), C)
    lost = regret(policy, Crossing()).mean() - by_critic.mean()
    monkeypatch.setattr(settling, "GATE_LOSS", share * lost / by_critic.mean())
    assert gate_suffices(policy, valleys, of(0)) == suffices
