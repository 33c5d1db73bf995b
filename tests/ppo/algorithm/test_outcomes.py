"""Evaluations that failed enter no mean; rewards take the worst value of the batch in their place."""

import warnings

import numpy as np
import pytest

from actors.job import Kind
from actors.trajectory import Layout, Trajectory
from ppo import Config, resolve
from ppo.algorithm.outcomes import check_finite, collected, raw_rewards, sound_mean, with_worst
from ppo.algorithm.valleys import ComponentsLearner
from tests.ppo.algorithm.several import collect, learner_and_collector

NAN = np.nan


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def trajectory(objectives):
    made = Trajectory.empty(Layout(len(objectives[0]) - 1, 2, 1, True), len(objectives))
    made.objectives[:] = objectives
    made.rewards[:] = made.objectives[:, :-1] - made.objectives[:, 1:]
    return made


def test_means_by_hand():
    assert sound_mean(np.array([[1.0, 3.0], [NAN, 5.0], [NAN, NAN]])).tolist() == [2, 5, np.inf]
    assert sound_mean(np.array([[1.0, NAN], [NAN, 5.0]]), axis=None) == 3
    assert with_worst(np.array([[1.0, NAN], [np.inf, 5.0]])).tolist() == [[1, 5], [5, 5]]
    assert with_worst(np.array([NAN, NAN])).tolist() == [0, 0]


def test_what_was_collected_is_the_mean_of_what_did_not_fail():
    assert collected(trajectory([[NAN, 2.0, NAN], [9.0, 4.0, 6.0]])) == {"charts/objective": 4.0}
    assert np.isnan(collected(trajectory([[1.0, NAN, NAN]]))["charts/objective"])


@pytest.mark.parametrize(
    ("reward", "expected"),
    [("objective", [[-2.0, -7.0], [-7.0, -1.0]]), ("improvement", [[5.0, -5.0], [-4.0, 6.0]])],
)
def test_the_reward_of_a_failure_is_that_of_the_worst_value_of_the_batch(reward, expected):
    config = resolve(Config(reward=reward, transform="none", advantages="gae"))
    assert raw_rewards(trajectory([[7.0, 2.0, NAN], [3.0, NAN, 1.0]]), config).tolist() == expected
    assert raw_rewards(trajectory([[NAN, NAN, NAN]]), config).tolist() == [[0, 0]]


def test_a_failure_is_an_error_unless_it_is_kept():
    failed = trajectory([[NAN, 2.0, NAN]])
    check_finite(failed, 0, False, keep_failures=True)
    with pytest.raises(FloatingPointError, match="objectives are not finite"):
        check_finite(failed, 0, False)
    failed.obs[0, 1] = NAN
    with pytest.raises(FloatingPointError, match="obs are not finite"):
        check_finite(failed, 0, False, keep_failures=True)


@pytest.mark.parametrize("count", [2, 3])
def test_components_learn_beside_failures(count):
    """Component 0 always fails: the gate of the law does not choose it, and dropping it costs nothing."""
    learner, collector = learner_and_collector(count, training_steps=40)
    assert isinstance(learner, ComponentsLearner)
    for number in range(16):
        one = collect(learner, collector)
        one.objectives[:, 1:][one.actions[..., -1] == 0] = NAN
        one.objectives[number % len(one)] = NAN  # a slot in which all failed
        learner.learn(one)
    assert np.isfinite(learner.agent.parameters).all()
    assert learner.step == 16 and learner.kind == Kind.COLLECT
    assert not learner.live[0]
    assert learner.live.any()
