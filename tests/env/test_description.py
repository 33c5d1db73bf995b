"""A problem describes the sizes, spaces and limits of one row; its environment is built once for that."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env import Description, Problem, UsageError


class CountsInstances(gymnasium.Env):
    """Counts how often it is made."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Discrete(2)
    made = 0

    def __init__(self, size=1):
        type(self).made += 1

    def reset(self, *, seed=None, options=None):
        return np.zeros(2), {}

    def step(self, action):
        return np.zeros(2), 0.0, False, False, {}


def unit_box(dims):
    return spaces.Box(-1.0, 1.0, (dims,), np.float64)


@pytest.mark.parametrize(
    ("space", "choices", "action_dim"),
    [
        (spaces.Box(-1, 1, (4,)), (), 4),
        (spaces.Box(-1, 1, (2, 3)), (), 6),
        (spaces.Discrete(3, start=5), (3,), 1),
        (spaces.MultiDiscrete([3, 2], start=[-1, 4]), (3, 2), 2),
        (spaces.MultiDiscrete([[3, 2], [4, 5]]), (3, 2, 4, 5), 4),
    ],
    ids=str,
)
def test_choices_and_size_of_an_action(space, choices, action_dim):
    described = Description(unit_box(7), space, None, None, None, {})
    assert (described.obs_dim, described.choices, described.action_dim) == (7, choices, action_dim)


@pytest.mark.parametrize(
    ("problem", "obs_dim", "action_space", "start_space", "limits"),
    [
        (Problem("rosenbrock", dims=5, knobs=2), 5, unit_box(2), unit_box(5), (None, None)),
        (
            Problem("Pendulum-v1"),
            3,
            spaces.Box(-2.0, 2.0, (1,)),
            spaces.Box(np.array([-np.pi, -8]), np.array([np.pi, 8]), dtype=np.float64),
            (200, None),
        ),
        (Problem("FrozenLake-v1"), 16, spaces.Discrete(4), None, (100, 0.7)),  # observations are one-hot
        (Problem("TempControl-v1"), 2, unit_box(1), spaces.Box(20.0, 150.0, (1,), np.float64), (500, None)),
        (Problem("tests.problems:TwoDialsEnv"), 6, spaces.MultiDiscrete([3, 2], start=[-1, 4]), None, (None, None)),
    ],
    ids=lambda value: value.env if isinstance(value, Problem) else "",
)
def test_descriptions_of_known_problems(problem, obs_dim, action_space, start_space, limits):
    described = problem.describe()
    assert described.obs_dim == obs_dim
    assert described.action_space == action_space
    assert described.start_space == start_space
    assert (described.episode_limit, described.reward_threshold) == limits


def test_an_environment_is_built_once_for_its_description():
    problem = Problem(f"{__name__}:CountsInstances", time_steps=3)
    described = problem.describe()
    assert CountsInstances.made == 1
    assert problem.describe() is described
    same = Problem(problem.env, time_steps=9, evaluation_cost_ms=5.0)  # neither changes the environment
    assert same.describe() is described
    assert CountsInstances.made == 1
    Problem(problem.env, time_steps=3, env_kwargs={"size": 2}).describe()
    assert CountsInstances.made == 2


@pytest.mark.parametrize("env", ["TempControl-v0", "TempControl-v1"])
@pytest.mark.parametrize("given", [{}, {"load_rounds": 2}, {"max_episode_steps": 9}])
def test_the_load_is_switched_off_as_the_environment_declares(env, given):
    unloaded = Problem(env, env_kwargs={"level": "low", **given}).without_load()
    assert unloaded == Problem(env, env_kwargs={"level": "low", **given, "load_rounds": 0})


@pytest.mark.parametrize("env", ["sphere", "CartPole-v1"])
def test_a_problem_without_load_stays_as_it_is(env):
    assert Problem(env, time_steps=7).without_load() == Problem(env, time_steps=7)


def test_equal_keywords_of_other_types_are_described_apart():
    assert Problem("TempControl-v1", env_kwargs={"high_precision": True}).describe().obs_dim == 2
    with pytest.raises(UsageError, match="must be true or false"):
        Problem("TempControl-v1", env_kwargs={"high_precision": 1}).describe()


def test_an_id_that_is_registered_anew_is_described_anew():
    for limit in (3, 5):
        gymnasium.register("Anew-v0", "tests.problems:CountdownEnv", max_episode_steps=limit)
        assert Problem("Anew-v0").describe().episode_limit == limit
        del gymnasium.registry["Anew-v0"]
