"""A problem builds the environment that its name, sizes and keywords say, in any process, or says why it cannot."""

import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from env import Problem, TempControlEnv, TempControlVectorEnv, TuningVectorEnv, UsageError
from env.objectives import Sphere


@pytest.mark.parametrize(
    ("problem", "family", "length"),
    [
        (Problem("ackley"), "tuning", 2),
        (Problem("tuninglaw/Sphere-v0", time_steps=5), "tuning", 5),
        (Problem("tests.problems:Quadratic"), "tuning", 2),
        (Problem("CartPole-v1"), "control", 500),
        (Problem("tests.problems:CountdownEnv", time_steps=9), "control", 9),
    ],
)
def test_families_and_slot_lengths(problem, family, length):
    assert problem.family == family
    assert problem.slot_length() == length


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem("rosenbrok"), "--env rosenbrok: unknown .did you mean 'rosenbrock'"),
        (Problem("CartPole-v9"), "--env CartPole-v9"),
        (Problem("no.such:Thing"), "no module named 'no.such'"),
        (Problem("tests.problems:Quadratik"), "did you mean 'Quadratic'"),
        (Problem("tests.problems:np"), "subclass"),
        (Problem("rosenbrock", knobs=2), "--knobs 2"),
        (Problem("tests.problems:Quadratic", dims=3), "--dims 3: only the built-in objectives"),
        (Problem("CartPole-v1", knobs=1), "--knobs 1: only the built-in objectives"),
        (Problem("tests.problems:CountdownEnv"), "--time-steps is needed"),
        (Problem("tests.problems:MultiBinaryEnv", time_steps=3), "only Box, Discrete and MultiDiscrete are"),
        (Problem("Blackjack-v1"), "--time-steps is needed: --env Blackjack-v1 has no time limit of its own: in 5,000 "),
        (Problem("LunarLander-v3"), "--env LunarLander-v3: cannot be made"),
        (Problem("tests.problems:AbstractObjective"), "lacks __call__"),
        (Problem(":Thing"), "must be package.module:Class"),
        (Problem(".x:Thing"), "must be package.module:Class"),
        (
            Problem("TempControl-v1", env_kwargs={"levl": "high"}),
            "--env TempControl-v1 takes no keyword 'levl'",
        ),
        (Problem("TempControl-v1", env_kwargs={"level": "hard"}), "level 'hard' is none of low, medium, high"),
        (
            Problem("TempControl-v1", env_kwargs={"history": "off"}),
            "history=off: history 'off': must be true",
        ),
        (
            Problem("noisy", env_kwargs={"level": 10**400}),
            "--env-kwargs level=1000000.*: int too large to convert to float",
        ),
        (Problem("gymnasium:CartPol-v1"), "--env gymnasium:CartPol-v1: unknown .did you mean 'CartPole-v1'"),
        (Problem("no.such:Thing-v0"), "no module named 'no.such'"),
        (
            Problem("TempControl-v1", env_kwargs={"disturbance": "abc"}),
            "--env-kwargs disturbance=abc: could not convert",
        ),
        (Problem("TempControl-v1", env_kwargs={"level": [1]}), "--env-kwargs level=\\[1\\]: "),
        (Problem("CartPole-v1", env_kwargs={"id": "x"}), "--env-kwargs id=x: "),
        (Problem("sphere", dims=2, env_kwargs={"dims": 4}), "--env-kwargs dims=4: "),
    ],
)
def test_a_users_mistake_is_one_line_that_names_the_flag(problem, message):
    with pytest.raises(UsageError, match=message) as caught:
        problem.slot_length()
        problem.make_batch(1, problem.objective())
        problem.describe()
    assert "\n" not in str(caught.value)


def test_a_batch_never_resets_by_itself():
    assert isinstance(Problem("sphere").make_batch(3, Sphere()), TuningVectorEnv)
    batch = Problem("tests.problems:CountdownEnv", time_steps=9).make_batch(2, None)
    batch.reset(seed=[1, 2])
    for _ in range(3):
        obs, _, terminations, _, _ = batch.step(np.array([5, 6]))
    assert not (terminations & (obs[:, 0] > 0)).any()


def test_keywords_reach_the_environment_single_or_batched():
    keywords = {"level": "high", "load_rounds": 0, "history": False}
    native = Problem("TempControl-v1", env_kwargs=keywords).make_batch(2, None)
    assert native.single_observation_space.shape == (2,)
    assert len(native.windows) == 3
    stacked = Problem("CartPole-v1", env_kwargs={"sutton_barto_reward": True}).make_batch(2, None)
    stacked.reset(seed=[0, 1])
    assert stacked.step(np.array([0, 1]))[1].tolist() == [0, 0]  # without it, 1 a step


def test_a_keyword_of_gymnasiums_wrappers_needs_single_rows():
    problem = Problem("TempControl-v1", env_kwargs={"max_episode_steps": 7, "load_rounds": 0})
    assert problem.describe().episode_limit == 7
    assert problem.slot_length() == 7
    batch = problem.make_batch(2, None)
    batch.reset(seed=[0, 1])
    assert [batch.step(np.zeros((2, 1)))[3].tolist() for _ in range(7)][5:] == [[False, False], [True, True]]


def test_discrete_observations_become_one_hot():
    batch = Problem("FrozenLake-v1").make_batch(2, None)
    obs, _ = batch.reset(seed=[0, 1])
    assert obs.shape == (2, 16)
    assert obs.sum() == 2


def test_an_id_of_the_users_program_is_pickled_with_a_problem():
    gymnasium.register("Late-v0", "tests.problems:CountdownEnv", max_episode_steps=4)
    sent = pickle.dumps(Problem("Late-v0"))
    del gymnasium.registry["Late-v0"]
    assert pickle.loads(sent) == Problem("Late-v0")
    assert Problem("Late-v0").slot_length() == 4


@pytest.mark.parametrize("entry_point", ["__main__:Mine", lambda: None])
def test_an_id_that_no_other_process_can_make_is_refused(entry_point):
    gymnasium.register("Mine-v0", entry_point)
    try:
        with pytest.raises(UsageError, match="driver processes cannot make it"):
            pickle.dumps(Problem("Mine-v0"))
    finally:
        del gymnasium.registry["Mine-v0"]


FRESH = """
import pickle, sys
from env import Problem

problem = Problem("tests.late_ids:OnImport-v0") if len(sys.argv) == 1 else pickle.loads(bytes.fromhex(sys.argv[1]))
assert problem.slot_length() == 4
assert problem.make_batch(2, None).single_observation_space.shape == (2,)
print(pickle.dumps(problem).hex())
"""


def test_an_id_that_a_module_registers_works_in_any_process():
    command = [sys.executable, "-W", "error", "-c", FRESH]
    sent = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([*command, sent], check=True)


class Native(TempControlVectorEnv):
    """A native batch that suits a rollout."""


class SelfResetting(Native):
    """Resets rows by itself."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "keyed_rows": True}


class Unkeyed(Native):
    """Does not declare that a row depends on its own seed alone."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}


class Endless(Native):
    """Takes no ``max_episode_steps``."""

    def __init__(self, num_envs, load_rounds, level):
        super().__init__(num_envs, level=level, load_rounds=load_rounds)


class Square(Native):
    """Observes a matrix."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.single_observation_space = spaces.Box(-1, 1, (2, 2))


@pytest.mark.parametrize(
    ("native", "used"),
    [(Native, True), (Endless, False), (SelfResetting, False), (Unkeyed, False), (Square, False)],
)
def test_a_native_batch_is_used_only_where_it_suits_a_rollout(native, used):
    entries = {"entry_point": TempControlEnv, "vector_entry_point": native}
    gymnasium.register("Batched-v0", **entries, kwargs={"level": "high"}, max_episode_steps=3)
    try:
        for level, size in (({}, 12), ({"level": "low"}, 2)):  # a user's keyword goes before a registered one
            batch = Problem("Batched-v0", env_kwargs={**level, "load_rounds": 0}).make_batch(2, None)
            assert isinstance(batch, native) == used
            assert batch.reset(seed=[1, 2])[0].shape == (2, size)
            cut = [batch.step(np.zeros((2, 1)))[3].tolist() for _ in range(3)]
            assert cut == [[False, False], [False, False], [True, True]]
        with pytest.raises(UsageError, match="--env Batched-v0: driver processes cannot make it"):
            pickle.dumps(Problem("Batched-v0"))
    finally:
        del gymnasium.registry["Batched-v0"]
