"""The region of failures is that of the nearest evaluation, and a model expects the worst value within."""

import dataclasses

import numpy as np
import pytest

from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.planning import plan_round
from ppo.algorithm.model.region import MARGIN, RIM, Region
from ppo.algorithm.model.search import prospect
from ppo.algorithm.model.surrogate import Surrogate
from tests.ppo.algorithm.model.processes import fitted, policy_of
from tests.problems import Quadratic

SOUND, FAILED = np.array([[0.0, 0.0], [0.0, 0.5]]), np.array([[0.6, 0.0], [0.6, 0.5]])
POLICY = policy_of([[0.0, 0.3], [-0.5, -0.9]])


def bordered_model():
    """Returns a model of the quadratic function with failures where the first knob is above 0."""
    model = fitted(Quadratic(), 60)
    states = np.random.default_rng(1).uniform(-1, 1, (400, 3))
    model.region = Region(states[states[:, 0] <= 0], states[states[:, 0] > 0])
    return model


def test_a_state_is_in_the_region_of_the_nearest_evaluation():
    region = Region(SOUND, FAILED)
    states = np.array([[0.29, 0.0], [0.31, 0.0], [0.29, 0.4], [0.9, 0.9], [-1.0, 0.0]])
    assert region.holds(states).tolist() == [False, True, False, True, False]
    assert region.holds(states, 1.5).tolist() == [True, True, True, True, False]
    assert region.outside(states).tolist() == [True, False, True, False, True]
    assert region.outside(states[[1, 3]]).tolist() == [True, True]


def test_the_worst_value_is_expected_within_and_what_the_model_says_outside():
    region, targets = Region(SOUND, FAILED), np.array([-1.0, 4.0])
    line = np.column_stack([np.linspace(0, 0.6, 601), np.zeros(601)])
    raised = region.raised(np.full(601, 1.0), line, targets)
    depth = line[:, 0] + np.minimum(line[:, 0], MARGIN) - (0.6 - line[:, 0])
    assert raised[depth <= 0].tolist() == [1.0] * int((depth <= 0).sum())
    assert abs(line[depth <= 0, 0].max() - 0.25) < 2e-3  # 0.1 farther from the failure than from the success
    deep = depth >= RIM
    assert raised[deep] == pytest.approx(4.0 + targets.std() * depth[deep])
    assert (np.diff(raised) >= 0).all()


@pytest.mark.parametrize("mean", [1.0, 9.0])
def test_its_slope_is_that_of_differences(mean):
    region, targets, step = Region(SOUND, FAILED), np.array([-1.0, 4.0]), 1e-7
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.uniform(-1, 1, (60, 2)), np.column_stack([np.linspace(0.2, 0.22, 20), np.zeros(20)])])

    def expected(at):
        return region.raised(mean + at[:, 0] ** 2, at, targets)

    found, slope = region.raised_with_slope(mean + states[:, 0] ** 2, 2 * states[:, :1], states, targets)
    assert found.tobytes() == expected(states).tobytes()
    offset = np.array([step, 0.0])
    by_differences = (expected(states + offset) - expected(states - offset)) / (2 * step)
    smooth = np.abs(by_differences - slope[:, 0]) < 1e-4
    assert smooth.mean() > 0.95  # but for the kinks


def test_searches_and_plans_keep_away_from_failures():
    model = bordered_model()
    conditions = np.linspace(-1, 1, 32)[:, None]
    found = prospect(model, POLICY, conditions, np.random.default_rng(0))
    assert not model.region.holds(np.concatenate([found.knobs, conditions], axis=1)).any()
    assert (found.knobs[:, 0] < 0.25).all()  # where the best one is up to 0.5
    left = conditions[:, 0] < -0.6
    assert found.knobs[left] == pytest.approx(Quadratic().best(conditions[left]), abs=0.02)
    plan = plan_round(model, POLICY, 32, np.random.default_rng(0))
    planned = np.concatenate([plan.actions, plan.starts[:, 2:]], axis=1)
    assert not model.region.holds(planned).any()


def test_failures_are_no_evidence_of_a_value():
    evidence = Evidence(3, 10)
    states = np.arange(12.0).reshape(4, 3)
    evidence.add(states, np.array([1.0, np.nan, 3.0, np.nan]))
    assert evidence.values.tolist() == [1, 3]
    assert evidence.states.tolist() == states[[0, 2]].tolist()
    assert evidence.failures.tolist() == states[[1, 3]].tolist()
    other = Evidence(3, 10)
    other.restore(evidence.state())
    assert other.failures.tolist() == evidence.failures.tolist()


def test_there_is_no_model_of_less_than_a_few_successes():
    surrogate = Surrogate(dataclasses.replace(POLICY.spec), 50)
    states = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    values = np.where(np.arange(20) < 3, 1.0, np.nan)
    surrogate.evidence.add(states, values)
    surrogate.fit(POLICY, 0.1)
    assert not surrogate.fitted
    assert surrogate.score(states, values) == {}
    surrogate.evidence.add(states[3:6], Quadratic()(states[3:6, :2], states[3:6, 2:]))
    surrogate.fit(POLICY, 0.1)
    assert surrogate.fitted and surrogate.process.region is not None
    assert surrogate.score(states[:1], np.array([np.nan])) == {}
