"""Of too many evaluations the process takes some all over the range, some near the policy, and what may be better."""

import dataclasses

import numpy as np
import pytest

from ppo.algorithm.model import selection
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters
from ppo.algorithm.model.selection import Count, nearest_to, selected, spread_out
from tests.ppo.algorithm.model.processes import policy_of
from tests.problems import Quadratic

PLACES = [[0.0, 0.3], [-0.5, 0.0]]
POLICY = policy_of(PLACES)
HYPER = Hyperparameters(np.ones(3), 1e-4, 1.0, "low")


@pytest.fixture(autouse=True)
def few_points(monkeypatch):
    """Lets a process take 20 evaluations."""
    monkeypatch.setattr(selection, "POINTS", Count(20, 0))


def evidence(n=100):
    """Returns evaluations of the quadratic."""
    made, states = Evidence(3, n), np.random.default_rng(0).uniform(-1, 1, (n, 3))
    made.add(states, Quadratic()(states[:, :2], states[:, 2:]))
    return made


def test_points_that_are_spread_out_are_each_the_farthest_from_those_before():
    points = np.array([[0.0], [0.1], [1.0], [0.45], [0.9]])
    assert spread_out(points, 4).tolist() == [0, 2, 3, 1]
    assert spread_out(points, 1).tolist() == [0]


def test_the_nearest_evaluation_is_that_in_length_scales_and_is_named_once():
    made = Evidence(3, 4)
    made.add(np.array([[0.5, 0.0, 0.0], [0.0, 0.3, 0.0], [0.9, 0.9, 0.9], [0.0, -0.2, 0.1]]), np.zeros(4))
    asked = np.array([[0.0, 0.1, 0.0], [1.0, 1.0, 1.0], [0.8, 0.9, 1.0]])
    assert nearest_to(asked, made, HYPER).tolist() == [1, 2]
    assert nearest_to(asked, made, dataclasses.replace(HYPER, lengths=np.array([10.0, 0.1, 1.0]))).tolist() == [0, 2]
    assert nearest_to(made.states, made, HYPER).tolist() == [0, 1, 2, 3]


def test_up_to_the_most_all_are_taken():
    assert selected(evidence(20), POLICY, HYPER).tolist() == list(range(20))


def test_before_there_is_a_process_half_are_near_the_policy_and_half_are_not():
    made = evidence()
    taken = selected(made, POLICY, None)
    offsets = [made.states[:, :2] - mean for mean in PLACES]
    order = np.argsort(np.min([np.hypot(*offset.T) for offset in offsets], axis=0))
    assert taken.tolist() == sorted(set(taken.tolist()))
    assert len(set(taken) & set(order[:25])) == len(set(taken) & set(order[25:])) == 10


def test_only_components_in_use_say_what_is_near():
    made = evidence(60)
    policy = policy_of([[9.0, 9.0], [-0.5, 0.0], [0.9, 0.9]], live=[False, True, False])
    order = np.argsort(np.hypot(*(made.states[:, :2] - PLACES[1]).T))
    assert len(set(order[:15]) & set(selected(made, policy, None))) == 10


def promising(made, policy, before):
    """Returns the eighth of the others for which a process of those before expects most beside the policy."""
    process = GaussianProcess(made.states[before], made.values[before], HYPER)
    gains = {}
    for number in sorted(set(range(len(made))) - set(before.tolist())):
        state = made.states[number]
        by_policy = min(process.mean(np.array([[*place, state[2]]]))[0] for place in PLACES)
        gains[number] = by_policy - process.mean(state[None])[0]
    return sorted(gains, key=gains.__getitem__, reverse=True)[: max(20, len(gains) // 8)]


def test_half_are_spread_and_half_promise_more_than_the_policy(monkeypatch):
    made = evidence(400)
    taken = selected(made, POLICY, HYPER)
    assert len(set(taken.tolist())) == 20 and np.array_equal(taken, np.sort(taken))
    monkeypatch.setattr(selection, "POINTS", Count(10, 0))
    spread = selected(made, POLICY, None)
    assert set(spread) <= set(taken)
    first = set(promising(made, POLICY, spread)) & set(taken)
    assert len(first) >= 5
    monkeypatch.setattr(selection, "POINTS", Count(20, 0))
    monkeypatch.setattr(selection, "TURNS", 1)
    assert set(selected(made, POLICY, HYPER)) - set(spread) <= set(promising(made, POLICY, spread))


def test_what_was_found_there_has_no_say_in_what_promises_more(monkeypatch):
    monkeypatch.setattr(selection, "TURNS", 1)
    made = evidence(400)
    taken = selected(made, POLICY, HYPER)
    monkeypatch.setattr(selection, "POINTS", Count(10, 0))
    spread = selected(made, POLICY, None)
    monkeypatch.setattr(selection, "POINTS", Count(20, 0))
    made.values[np.setdiff1d(np.arange(400), spread)] += 100.0
    assert np.array_equal(selected(made, POLICY, HYPER), taken)


def test_no_more_are_considered_than_is_quick(monkeypatch):
    monkeypatch.setattr(selection, "TURNS", 1)
    monkeypatch.setattr(selection, "CONSIDERED", 130)
    made = evidence(400)
    taken = selected(made, POLICY, HYPER)
    monkeypatch.setattr(selection, "POINTS", Count(10, 0))
    spread = selected(made, POLICY, None)
    considered = np.setdiff1d(np.arange(400), spread)[::3]
    assert len(considered) == 130 and set(taken) - set(spread) <= set(considered)
