import contextlib
import os
import sys

import gymnasium
import numpy as np
import pytest

from actors.handles import THREAD_LIMITS
from env import TempControlEnv, UsageError
from ppo import peers
from ppo.peers import Baselines, LeanTempControl, Peer


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


class Threads(gymnasium.Env):
    """Observes how many threads its process was told to use."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.array([all(os.environ.get(name) == "1" for name in THREAD_LIMITS)], np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, True, {}


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[bench\]'"):
        Baselines(LeanTempControl, Peer(), 0)


def test_its_learning_rate_falls_over_the_whole_training_however_that_is_cut():
    settings = {"n_steps": 20, "batch_size": 20, "n_epochs": 1}
    for over, rates in ((80, [3e-4 * left for left in (0.75, 0.5, 0.25, 0.0)]), (None, [3e-4] * 4)):
        with contextlib.closing(Baselines(LeanTempControl, Peer(anneal_over=over, settings=settings), 0)) as baselines:
            seen = []
            for _ in range(4):
                baselines.train(20)
                seen.append(baselines.model.policy.optimizer.param_groups[0]["lr"])
        assert seen == pytest.approx(rates)


@pytest.mark.slow
def test_its_processes_have_one_thread_each_as_ours():
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    env = peers.vec_env(Threads, 2, processes=True)
    try:
        assert env.reset().tolist() == [[1], [1]]
    finally:
        env.close()
    assert {name: os.environ.get(name) for name in THREAD_LIMITS} == before
