"""Held-out returns are undiscounted, end with the first episode, leave the load out, and depend on their seed alone."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from env import Problem
from env.controllers import Constant
from ppo import Config
from ppo.evaluation.held_out import RandomActions, TrainedPolicy, held_out_returns

TEMPCONTROL = Problem("TempControl-v1", time_steps=50, env_kwargs={"load_rounds": 0})


def test_the_first_episode_is_all_that_counts():
    problem = Problem("tests.problems:CountdownEnv", time_steps=20)
    returns = held_out_returns(problem, RandomActions(problem), 50)
    assert set(returns) == {3, 4, 5, 6}  # a reward of 1 a step, and 3 to 6 steps
    assert returns.tolist() == held_out_returns(problem, RandomActions(problem), 50).tolist()
    assert returns[:10].tolist() == held_out_returns(problem, RandomActions(problem), 10).tolist()


def test_without_a_time_limit_an_episode_is_as_long_as_a_slot():
    problem = Problem("tests.problems:CountdownEnv", time_steps=4)
    assert set(held_out_returns(problem, RandomActions(problem), 50)) == {3, 4}


def test_other_seeds_are_other_episodes():
    a, b = (held_out_returns(TEMPCONTROL, Constant(0.0), 3, seed) for seed in (0, 1))
    assert not np.isclose(a, b).any()


def test_a_policy_is_measured_without_the_load():
    loaded = dataclasses.replace(TEMPCONTROL, env_kwargs={"level": "low", "load_rounds": 9})
    assert loaded.without_load().env_kwargs == {"level": "low", "load_rounds": 0}
    assert loaded.env_kwargs == {"level": "low", "load_rounds": 9}
    other = Config(env="CartPole-v1").problem()
    assert other.without_load() == other


def test_no_load_is_computed(monkeypatch):
    made = []
    original = Problem.make_batch

    def make_batch(self, rows, objective):
        made.append((self.env_kwargs["load_rounds"], rows))
        return original(self, rows, objective)

    monkeypatch.setattr(Problem, "make_batch", make_batch)
    loaded = dataclasses.replace(TEMPCONTROL, env_kwargs={"load_rounds": 9})
    held_out_returns(loaded, Constant(0.0), 2)
    assert [load for load, rows in made if rows == 2] == [0]  # one row is made to describe the environment


def test_a_trained_policy_takes_its_likeliest_actions():
    problem = Problem("tests.problems:CountdownEnv", time_steps=20)  # its three actions are 5, 6 and 7
    spec = NetworkSpec(2, (), "tanh", "categorical", 1, (3,))
    theta = np.zeros(spec.size)
    theta[-3:] = [0.0, 1.0, 0.5]  # the biases, behind the weights
    controller = TrainedPolicy(Policy(Snapshot(0, spec, theta, 0.0)), problem)
    controller.reset(4)
    assert controller.act(np.zeros((4, 2))).tolist() == [6, 6, 6, 6]


@pytest.mark.parametrize("rows", [1, 3])
def test_random_actions_start_again_with_the_episodes(rows):
    controller = RandomActions(TEMPCONTROL)
    controller.reset(rows)
    first = [controller.act(np.zeros((rows, 2))) for _ in range(3)]
    assert first[0].shape == (rows, 1)
    assert len({action.tobytes() for action in first}) == 3
    controller.reset(rows)
    assert [controller.act(np.zeros((rows, 2))).tolist() for _ in range(3)] == [action.tolist() for action in first]
