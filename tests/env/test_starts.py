"""Starts that are set are where an episode starts, and change nothing else."""

import gymnasium
import numpy as np
import pytest

from actors.job import Job, Kind, Task
from actors.rollout import Collector
from env import Problem, TempControlVectorEnv, UsageError
from env.starts import STATES
from tests.actors.test_rollout import collector

IDS = ("MountainCarContinuous-v0", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "CartPole-v1")


@pytest.mark.parametrize("env", IDS)
def test_classic_control_starts_where_it_is_told(env):
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


def test_all_of_classic_control_is_covered():
    assert {type(gymnasium.make(env).unwrapped) for env in IDS} == set(STATES)


def test_the_furnace_starts_at_the_temperature_it_is_given():
    env = TempControlVectorEnv(3, load_rounds=0)
    obs, _ = env.reset(seed=[1, 2, 3], options={"starts": np.array([[25.0], [30.0], [40.0]])})
    assert obs[:, 0].tolist() == [75, 70, 60]
    single = gymnasium.make("TempControl-v1", load_rounds=0)
    assert single.reset(seed=1, options={"start": np.array([30.0])})[0][0] == 70


def test_uncertainty_needs_starts_that_are_observations():
    for sampler in ("uncertainty", "heterogeneous"):
        with pytest.raises(UsageError, match=f"--sampler {sampler}: asks the policy about starts"):
            Collector(Job(Problem("TempControl-v1", time_steps=5), sampler, 8, 0, 10, 5, eval_episodes=2))
    Collector(Job(Problem("MountainCar-v0", time_steps=5), "uncertainty", 8, 0, 10, 5, eval_episodes=2))


@pytest.mark.parametrize("env", ["MountainCarContinuous-v0", "TempControl-v1"])
def test_start_samplers_work_where_starts_can_be_set(env):
    job = Job(Problem(env, time_steps=5), "lhs", 8, 0, 10, 5, eval_episodes=2, eval_time_steps=5)
    made = collector(job)
    trajectory = made.run(Task(Kind.COLLECT, 0, 0, 10))
    low, high = made.sampler.l_bounds, made.sampler.u_bounds
    first = trajectory.obs[:, 0, 0] if env.startswith("Mountain") else 100 - trajectory.obs[:, 0, 0]
    strata = np.floor((first - low[0]) / (high[0] - low[0]) * 10).astype(int)
    assert sorted(strata) == list(range(10))  # one design over the whole step
    part = Collector(job)
    part.update(made.policy.snapshot)
    assert part.run(Task(Kind.COLLECT, 0, 3, 6)).obs.tobytes() == trajectory.obs[3:6].tobytes()
