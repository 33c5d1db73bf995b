"""Stable-Baselines3 is given the same problems, one thread in each process, and a rate that falls over all training."""

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest

from actors.pools.environment import THREAD_LIMITS
from env import Problem, TempControlEnv, UsageError
from ppo.experiments.stable_baselines3 import LeanAckley, LeanTempControl, PeerSetup, StableBaselines3PPO


def test_the_lean_furnace_is_the_same_process():
    lean, ours = LeanTempControl(), TempControlEnv(plant="controllable", load_rounds=0)
    lean.reset(seed=1)
    ours.reset(seed=1, options={"start": np.array([lean.t])})
    ours._batch._shocks[0] = lean.shocks
    rng = np.random.default_rng(0)
    for _ in range(500):
        action = rng.uniform(-1.1, 1.1, 1)
        obs, reward, _, truncated, _ = lean.step(action)
        expected, expected_reward, _, expected_truncated, _ = ours.step(action)
        np.testing.assert_allclose(obs, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(reward, expected_reward, rtol=1e-9)
        assert truncated == expected_truncated
    assert truncated


def test_the_lean_ackley_is_the_same_problem():
    env = LeanAckley()
    obs, _ = env.reset(seed=3)
    objective = Problem("ackley").objective()
    start = objective(np.array([[env.x]]), np.array([[env.c]]))[0]
    assert env.value == pytest.approx(start)
    obs, reward, terminated, _, _ = env.step(np.array([0.25], np.float32))
    after = objective(np.array([[0.25]]), np.array([[env.c]]))[0]
    assert reward == pytest.approx(start - after)
    assert obs.tolist() == pytest.approx([0.25, env.c])
    assert not terminated
    assert env.step(np.array([0.0], np.float32))[2]


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[bench\]'"):
        StableBaselines3PPO(LeanTempControl, PeerSetup(), 0)


def test_its_learning_rate_falls_over_all_training_however_cut():
    settings = {"n_steps": 20, "batch_size": 20, "n_epochs": 1}
    for over, rates in ((80, [3e-4 * left for left in (0.75, 0.5, 0.25, 0.0)]), (None, [3e-4] * 4)):
        with contextlib.closing(
            StableBaselines3PPO(LeanTempControl, PeerSetup(anneal_over=over, settings=settings), 0)
        ) as baselines:
            seen = []
            for _ in range(4):
                baselines.train(20)
                seen.append(baselines.model.policy.optimizer.param_groups[0]["lr"])
        assert seen == pytest.approx(rates)


THREADS = """
import os
import gymnasium, numpy as np
from actors.pools.environment import THREAD_LIMITS
from ppo.experiments.stable_baselines3 import vec_env


class Threads(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.array([all(os.environ.get(name) == "1" for name in THREAD_LIMITS)], np.float32), {}


if __name__ == "__main__":
    env = vec_env(Threads, 2, processes=True)
    print(env.reset().tolist(), any(name in os.environ for name in THREAD_LIMITS))
    env.close()
"""


@pytest.mark.slow
def test_its_processes_have_one_thread_each_as_ours(tmp_path):
    """In a program of its own: here a fork server runs already, with one thread for whatever it starts."""
    (tmp_path / "threads.py").write_text(THREADS)
    free = {name: value for name, value in os.environ.items() if name not in THREAD_LIMITS}
    command = [sys.executable, str(tmp_path / "threads.py")]
    environment = free | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[1.0], [1.0]] False"
