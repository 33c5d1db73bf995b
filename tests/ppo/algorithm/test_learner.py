"""Batches are those of the version that acted, values that are not finite are named, a saved state is whole."""

import dataclasses

import numpy as np
import pytest

from actors import Policy, Snapshot
from actors.job import Kind, Task
from actors.policy import normalise
from actors.rollout import Collector
from ppo import Config, resolve
from ppo.algorithm.learner import Learner, explained_variance, policy_spec, raw_rewards
from ppo.algorithm.outcomes import check_finite
from ppo.algorithm.schedules import schedule
from ppo.evaluation.evaluator import make_evaluator
from ppo.training.job import make_job


def learner_and_collector(**changes):
    config = resolve(Config(**({"env": "rosenbrock", "episodes": 20, "norm_obs": True} | changes)))
    _, starts = make_evaluator(config)
    job = make_job(config, starts)
    return Learner(config, policy_spec(config, job.description)), Collector(job)


def collect(learner, collector, snapshot=None):
    collector.update(snapshot or learner.snapshot())
    return collector.run(Task(Kind.COLLECT, learner.step, 0, learner.config.episodes))


@pytest.mark.parametrize("std", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("env", ["rosenbrock", "Pendulum-v1", "CartPole-v1"])
def test_drivers_and_learner_have_equal_logprobs(env, std):
    changes = {"init_std": std, "std_floor": std / 10, "std_floor_final": std / 10, "update_epochs": 1}
    if env != "rosenbrock":
        changes |= {"time_steps": 50, "episodes": 6}
    learner, collector = learner_and_collector(env=env, num_minibatches=1, **changes)
    for _ in range(5):
        scalars = learner.learn(collect(learner, collector))
        assert scalars["losses/initial_logratio"] < 1e-5


def test_a_warm_start_has_the_units_of_observations_rewards_and_values():
    learner, collector = learner_and_collector(env="Pendulum-v1", time_steps=50, episodes=6)
    for _ in range(2):
        learner.learn(collect(learner, collector))
    begun, _ = learner_and_collector(env="Pendulum-v1", time_steps=50, episodes=6)
    begun.warm_start(learner.state())
    rewards, ends = np.ones((1, 3)), np.array([[False, False, True]])
    given = [one._scaled(rewards, ends, one.config) for one in (learner, begun)]
    assert np.array_equal(*given)
    obs = np.ones((2, 3))
    assert np.array_equal(*(one.agent.values(normalise(obs, *one._normaliser)) for one in (learner, begun)))


def test_a_snapshot_without_the_normaliser_breaks_the_ratio():
    """What went wrong in the thesis's distributed mode: workers were sent the trainable variables alone."""
    learner, collector = learner_and_collector(init_std=0.1, std_floor=0.01, std_floor_final=0.01)
    for _ in range(3):
        learner.learn(collect(learner, collector))
    partial = dataclasses.replace(learner.snapshot(), obs_mean=None, obs_var=None)
    assert learner.learn(collect(learner, collector, partial))["losses/initial_logratio"] > 0.01
    assert learner.learn(collect(learner, collector))["losses/initial_logratio"] < 1e-5


def test_statistics_advance_after_the_version_that_acted():
    learner, collector = learner_and_collector()
    assert learner.snapshot().obs_var.tolist() == [1, 1]
    trajectory = collect(learner, collector)
    learner.learn(trajectory)
    rows = trajectory.obs.reshape(-1, 2)
    assert learner.snapshot().obs_mean == pytest.approx(rows.mean(axis=0))
    assert learner.snapshot().obs_var == pytest.approx(rows.var(axis=0))
    assert learner.snapshot().version == 1


def test_rewards_of_a_tuning_problem():
    learner, collector = learner_and_collector(reward="improvement")  # which needs f of the starts
    trajectory = collect(learner, collector)
    f = trajectory.objectives.copy()
    config = learner.config

    def rewards(reward, transform):
        return raw_rewards(trajectory, dataclasses.replace(config, reward=reward, transform=transform))

    assert rewards("improvement", "none") == pytest.approx(trajectory.rewards)
    assert rewards("objective", "none") == pytest.approx(-f[:, 1:])
    assert rewards("improvement", "symlog") == pytest.approx(np.log1p(f[:, :-1]) - np.log1p(f[:, 1:]))
    trajectory.objectives[:] = -f
    assert rewards("objective", "symlog") == pytest.approx(np.log1p(f[:, 1:]))


def test_scaled_rewards_have_returns_of_unit_variance():
    learner, _ = learner_and_collector(gamma=0.5)
    rewards = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
    ends = np.array([[False, True, True], [False, False, True]])
    # Discounted returns, forwards, starting again after an end: 1, 2.5, 4 and 3, 6.5, 10.25
    expected = rewards / np.std([1, 2.5, 4, 3, 6.5, 10.25])
    assert learner._scaled(rewards, ends, learner.config) == pytest.approx(expected)


def test_schedules_are_those_of_the_current_training_step():
    learner, _ = learner_and_collector(training_steps=10_000, learning_rate=0.5, std_floor=0.1, std_floor_final=1e-3)
    learner.step = 2143
    now = learner.schedule
    assert now == schedule(learner.config, 2143)
    assert now.std_floor == pytest.approx(0.01, rel=1e-3)  # half the way, in logarithms: 0.2143^0.45 = 0.5
    assert now.learning_rate == pytest.approx(0.5 * (1 - 0.2143) * 0.1**0.6, rel=1e-3)  # linear, and with the floor
    assert learner.snapshot().std_floor == now.std_floor
    learner.step = 0
    assert learner.schedule.learning_rate == pytest.approx(0.5 / (0.1 * 10_000 + 1))  # the first of 1,000 of warming up
    constant, _ = learner_and_collector(anneal_lr=False, learning_rate=0.5, std_floor=0.0, std_floor_final=0.0)
    constant.step = 2500
    assert constant.schedule.learning_rate == 0.5


def test_what_is_logged_is_what_the_step_was_trained_with():
    learner, collector = learner_and_collector(training_steps=10)
    for step in range(2):
        now = schedule(learner.config, step)
        scalars = learner.learn(collect(learner, collector))
        assert (scalars["charts/std_floor"], scalars["charts/learning_rate"]) == (now.std_floor, now.learning_rate)


def test_values_after_an_end_are_those_of_its_observation():
    learner, collector = learner_and_collector(
        env="tests.problems:CountdownEnv", time_steps=8, episodes=5, gamma=1.0, gae_lambda=1.0, norm_reward=False,
        norm_obs=False,
    )  # fmt: skip
    trajectory = collect(learner, collector)
    returns = learner._batch(trajectory, learner.schedule).returns.reshape(5, 8)
    value = learner.agent.values
    for slot in range(5):
        for t in range(8):
            left = int(trajectory.obs[slot, t, 0])
            if t + left <= 8:  # ends by itself within the slot, as terminated: one reward for each step left
                assert returns[slot, t] == pytest.approx(left)
            else:  # cut by the slot's end: bootstrapped
                last = value(trajectory.final_obs[slot, 7:8])[0]
                assert returns[slot, t] == pytest.approx(8 - t + last)


def test_state_round_trip_continues_in_the_same_bits():
    learner, collector = learner_and_collector()
    for _ in range(3):
        learner.learn(collect(learner, collector))
    copy, _ = learner_and_collector()
    copy.restore(learner.state())
    for _ in range(2):
        learner.learn(collect(learner, collector))
        copy.learn(collect(copy, collector))
    assert copy.snapshot().sha256 == learner.snapshot().sha256
    assert set(copy.state()) == set(learner.state())
    assert all(np.array_equal(copy.state()[name], array) for name, array in learner.state().items())


@pytest.mark.parametrize("name", ["objectives", "rewards"])
def test_values_that_are_not_finite_name_the_slot(name):
    learner, collector = learner_and_collector(reward="improvement")
    trajectory = collect(learner, collector)
    check_finite(trajectory, 0, True)
    getattr(trajectory, name)[7, 1] = np.nan
    with pytest.raises(FloatingPointError, match=f"slot 7 of step 0: the environment's {name}"):
        check_finite(trajectory, 0, True)


def test_a_start_that_is_not_finite_names_the_slot():
    learner, collector = learner_and_collector(reward="improvement")
    trajectory = collect(learner, collector)
    trajectory.obs[3, 0, 1] = np.inf
    with pytest.raises(FloatingPointError, match="slot 3 of step 0: the environment's obs are not finite"):
        check_finite(trajectory, 0, True)


def test_the_law_does_not_change_between_learner_and_driver():
    learner, _ = learner_and_collector()
    obs = np.random.default_rng(0).uniform(-1, 1, (9, 2))
    own, sent = Policy(learner.snapshot()), Policy(Snapshot.from_bytes(learner.snapshot().to_bytes()))
    assert own.mode(obs).tobytes() == sent.mode(obs).tobytes()


def test_explained_variance():
    returns = np.array([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(np.full(3, 9.0), returns) == 0.0
    assert explained_variance(-returns, returns) == -3.0
    assert explained_variance(returns, np.ones(3)) == 0.0


def test_another_shape_is_not_accepted():
    learner, _ = learner_and_collector()
    state = learner.state()
    assert learner.accepts(state)
    assert not learner_and_collector(hidden_sizes=(9,))[0].accepts(state)
    assert not learner.accepts({name: array for name, array in state.items() if name != "agent.damping.mean"})
