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
