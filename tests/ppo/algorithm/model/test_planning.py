"""A planned round spreads over the range at first, and then goes where the model knows least, near its best knobs."""

import numpy as np
import pytest

from ppo.algorithm.model import planning
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters
from ppo.algorithm.model.planning import design, plan_of, plan_round, sampled
from ppo.algorithm.model.search import prospect
from tests.ppo.algorithm.model.processes import fitted, policy_of
from tests.problems import Quadratic

POLICY = policy_of([[0.0, 0.3], [-0.5, -0.9], [2.0, -3.0]])


@pytest.fixture(scope="module")
def model():
    return fitted(Quadratic(), 60)


def unsure(states):
    """Returns a model of evaluations at ``states`` that is not sure of what lies between them."""
    values = Quadratic()(states[:, :2], states[:, 2:])
    return GaussianProcess(states, values, Hyperparameters(np.array([1.0, 1.0, 0.5]), 1e-4, 10.0, "low"))


def of(number):
    return np.random.default_rng(number)


@pytest.mark.parametrize("slots", [3, 16, 33])
def test_a_design_is_a_latin_hypercube(slots):
    plan = design(2, 1, slots, of(0))
    points = np.concatenate([plan.actions, plan.starts[:, 2:]], axis=1)
    for column in points.T:
        assert sorted(np.floor((column + 1) / 2 * slots).astype(int).tolist()) == list(range(slots))
    assert (plan.starts[:, :2] == 0).all()


def test_a_plan_starts_at_the_centre_under_the_conditions_and_acts_at_once():
    plan = plan_of(np.array([[0.1, -0.2, 0.3], [1.0, -1.0, 0.5]]), 2)
    assert plan.starts.tolist() == [[0, 0, 0.3], [0, 0, 0.5]]
    assert plan.actions.tolist() == [[0.1, -0.2], [1.0, -1.0]]


def states_of(plan):
    return np.concatenate([plan.actions, plan.starts[:, 2:]], axis=1)


@pytest.mark.parametrize("slots", [16, 48])
def test_slots_of_a_planned_round_lie_within_bounds_and_differ(slots):
    states = states_of(plan := plan_round(unsure(of(0).uniform(-1, 1, (60, 3))), POLICY, slots, of(0)))
    assert states.shape == (slots, 3) and plan.starts.shape == (slots, 3)
    assert (np.abs(states) <= 1).all() and (plan.starts[:, :2] == 0).all()
    distances = np.linalg.norm(states[:, None] - states, axis=2) + np.eye(slots)
    assert distances.min() > 0.02
    assert len(np.unique(states[:, 2])) > slots / 3


def test_a_round_is_a_function_of_its_arguments(model):
    first, again, other = (states_of(plan_round(model, POLICY, 16, of(number))) for number in (0, 0, 1))
    assert first.tobytes() == again.tobytes()
    assert not np.isin(other[:, 2], first[:, 2]).any()


def off_best(states):
    """Returns how far the knobs of states lie from the best ones."""
    return np.linalg.norm(states[:, :2] - Quadratic().best(states[:, 2:]), axis=1)


def test_most_slots_are_near_the_best_knobs(model):
    assert np.median(off_best(states_of(plan_round(model, POLICY, 48, of(0))))) < 0.3


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (1 / 3, 5, 30), (1.0, 40, 48)])
def test_knobs_are_chosen_over_the_whole_range_in_a_share_of_the_slots(share, least, most, monkeypatch):
    """Of a model that knows hardly anything, the least certain knobs are far from those that it takes for the best."""
    monkeypatch.setattr(planning, "WHOLE_RANGE", share)
    states = of(0).uniform(-0.1, 0.1, (20, 3))
    hyper = Hyperparameters(np.full(3, 0.3), 1e-3, 10.0, "low")
    model = GaussianProcess(states, np.sin(20 * states).sum(axis=1), hyper)
    found = states_of(plan_round(model, policy_of([[0.0, 0.0]] * 2), 48, of(0)))
    bests = prospect(model, policy_of([[0.0, 0.0]] * 2), found[:, 2:], of(1)).knobs
    far = np.linalg.norm(found[:, :2] - bests, axis=1) > 0.3
    assert least <= far.sum() <= most


def noisy(noise, n=200):
    """Returns a smooth model of many evaluations, in which an evaluation has so much noise."""
    states = of(0).uniform(-1, 1, (n, 3))
    values = Quadratic()(states[:, :2], states[:, 2:]) + 0.1 * of(1).standard_normal(n)
    return GaussianProcess(states, values, Hyperparameters(np.full(3, 3.0), noise, 10.0, "low", "rbf"))


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.5, 9, 23), (1.0, 32, 32)])
def test_where_noise_is_what_is_not_known_slots_lie_where_the_model_is_least_certain(share, least, most, monkeypatch):
    model = noisy(0.03)
    monkeypatch.setattr(planning, "WHOLE_RANGE", 0.0)
    monkeypatch.setattr(planning, "SURE_SHARE", share)
    states = states_of(plan_round(model, POLICY, 32, of(0)))
    anywhere = off_best(states) > 0.4
    assert least <= anywhere.sum() <= most
    everywhere = model.mean_and_std(of(2).uniform(-1, 1, (500, 3)))[1]
    assert (model.mean_and_std(states[anywhere])[1] > np.quantile(everywhere, 0.9)).all()


def test_where_the_model_knows_no_more_than_an_evaluation_tells_noise_changes_nothing(monkeypatch):
    model = noisy(1e-6, n=20)
    before = states_of(plan_round(model, POLICY, 16, of(0)))
    monkeypatch.setattr(planning, "SURE", 0.0)
    assert np.array_equal(states_of(plan_round(model, POLICY, 16, of(0))), before)


@pytest.mark.parametrize("live", [[True, False, True], [False, True, False]])
def test_what_the_policy_samples_follows_its_mean_and_std_by_the_live_components_in_turn(live):
    means = np.array([[0.0, 0.3], [-0.5, -0.2], [0.5, -0.4]])
    found = sampled(policy_of(means, live=live), 4000, None, of(0))
    turns = np.flatnonzero(live)
    for turn, component in enumerate(turns):
        knobs = found[turn :: len(turns), :2]
        assert np.abs(knobs.mean(axis=0) - means[component]).max() < 0.015  # four standard errors
        assert knobs.std(axis=0) == pytest.approx([np.hypot(0.1, 0.1)] * 2, rel=0.1)  # its own, and the floor
    assert np.abs(np.histogram(found[:, 2], 4, (-1, 1))[0] - 1000).max() < 150  # conditions are uniform


def test_what_the_policy_samples_is_clipped():
    near, far = policy_of([[1.0, -1.0]]), policy_of([[2.0, -3.0]])
    some, every = (sampled(one, 400, None, of(0))[:, :2] * [1, -1] for one in (near, far))
    assert every.tolist() == [[1.0, 1.0]] * 400
    assert some.max() == 1.0 and 0.4 < (some == 1).mean() < 0.6


@pytest.mark.parametrize(("most", "chosen"), [(8, 8), (13, 13), (20, 14), (14, 14)])
def test_no_more_slots_are_chosen_than_that_and_the_policy_samples_the_others(most, chosen, model, monkeypatch):
    """Components lie in two corners, far from the best knobs, and take turns there."""
    monkeypatch.setattr(planning, "MOST_CHOSEN", most)
    policy = policy_of([[-0.9, 0.9], [0.0, 0.0], [0.9, -0.9]], live=[True, False, True])
    counts = []
    monkeypatch.setattr(planning, "sampled", lambda *args: counts.append(args[1]) or sampled(*args))
    states = states_of(plan_round(model, policy, 14, of(0)))
    assert states.shape == (14, 3) and counts == [14 - chosen]
    rest = states[chosen:]
    expected = np.array([[-0.9, 0.9], [0.9, -0.9]])[np.arange(14 - chosen) % 2]
    assert np.abs(rest[:, :2] - expected).max(initial=0.0) < 0.5
    assert len(np.unique(rest[:, 2])) == 14 - chosen
    assert off_best(states[:chosen]).mean() < 0.7


def planned_conditions(states):
    """Returns the conditions of four rounds that are planned by a model of evaluations at ``states``."""
    return np.concatenate([plan_round(unsure(states), POLICY, 16, of(number)).starts[:, 2] for number in range(4)])


def test_conditions_at_which_the_model_knows_least_are_preferred():
    states = of(0).uniform(-1, 1, (60, 3))
    assert 0.3 < (planned_conditions(states) > 0).mean() < 0.7
    conditions = planned_conditions(states * [1, 1, 0] - [0, 0, 1] * np.abs(states))
    assert (conditions > 0).mean() > 0.75
    assert set(np.floor(4 * conditions[conditions > 0])) == {0, 1, 2, 3}  # and not all at the far end


def test_there_may_be_a_single_knob_and_many_conditions():
    states = of(0).uniform(-1, 1, (30, 5))
    hyper = Hyperparameters(np.full(5, 1.0), 1e-3, 1.0, "low")
    model = GaussianProcess(states, (states**2).sum(axis=1), hyper)
    plan = plan_round(model, policy_of([[0.0], [0.5]], conditions=4), 8, of(0))
    assert plan.starts.shape == (8, 5) and plan.actions.shape == (8, 1)
