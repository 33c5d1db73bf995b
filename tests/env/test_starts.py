"""An episode begins at the start that is set; nothing else changes, and later episodes begin as they would."""

import gymnasium
import numpy as np
import pytest

from env import Problem, TempControlVectorEnv
from env.starts import STATES

IDS = ("MountainCarContinuous-v0", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "CartPole-v1")


@pytest.mark.parametrize("env", IDS)
def test_classic_control_starts_at_the_state_that_is_set(env):
    batch = Problem(env).make_batch(3, None)
    rng = np.random.default_rng(0)
    starts = rng.uniform(batch.start_space.low, batch.start_space.high, (3, len(batch.start_space.low)))
    obs, _ = batch.reset(seed=[1, 2, 3], options={"starts": starts})
    reference = gymnasium.make(env)
    for row, start in zip(obs, starts, strict=True):
        reference.reset(seed=1)
        reference.unwrapped.state = start
        if env == "Pendulum-v1":
            assert row == pytest.approx([np.cos(start[0]), np.sin(start[0]), start[1]], abs=1e-6)
        elif env == "Acrobot-v1":
            first, second = start[:2]
            angles = [np.cos(first), np.sin(first), np.cos(second), np.sin(second)]
            assert row == pytest.approx([*angles, *start[2:]], abs=1e-6)
        else:
            assert row == pytest.approx(start, abs=1e-6)
    action = batch.action_space.sample()
    stepped = batch.step(action)[0]
    expected = reference.step(action[2])[0]
    assert stepped[2] == pytest.approx(expected, abs=1e-5)
    own = batch.reset(seed=[1, 2, 3])[0]
    assert own[0] == pytest.approx(reference.reset(seed=1)[0])  # and after that, its own starts again


def test_the_cases_cover_all_of_classic_control():
    assert {type(gymnasium.make(env).unwrapped) for env in IDS} == set(STATES)


def test_temp_control_starts_at_the_temperature_that_is_set():
    env = TempControlVectorEnv(3, load_rounds=0)
    obs, _ = env.reset(seed=[1, 2, 3], options={"starts": np.array([[25.0], [30.0], [40.0]])})
    assert obs[:, 0].tolist() == [75, 70, 60]
    single = gymnasium.make("TempControl-v1", load_rounds=0)
    assert single.reset(seed=1, options={"start": np.array([30.0])})[0][0] == 70


def dice(batch, seeds, steps=0):
    """Returns what rows of ``DiceEnv`` observe after their reset and some time steps, ``[n, 2]``."""
    obs, _ = batch.reset(seed=seeds)
    for _ in range(steps):
        obs = batch.step(np.zeros(batch.num_envs, int))[0]
    return obs


@pytest.mark.parametrize("steps", [0, 1])
def test_global_random_numbers_of_a_row_depend_on_its_seed_and_on_its_time(steps):
    three, two = (Problem("tests.chance:LongDiceEnv", time_steps=9).make_batch(n, None) for n in (3, 2))
    found = dice(three, [7, 8, 9], steps)
    assert len(np.unique(found)) == 6
    assert np.array_equal(dice(three, [7, 8, 9], steps), found)
    assert np.array_equal(dice(two, [9, 7], steps), found[[2, 0]])
    assert not np.isin(dice(three, [7, 8, 9], steps + 1), found).any()


def test_a_reset_without_a_seed_goes_on_from_the_last_one():
    batch = Problem("tests.chance:LongDiceEnv", time_steps=9).make_batch(2, None)
    first, second = [[dice(batch, [7, 8]), dice(batch, None), dice(batch, None)] for _ in range(2)]
    assert np.array_equal(first, second)
    assert len(np.unique(first)) == 12
