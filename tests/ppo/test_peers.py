import numpy as np

from env import TempControlEnv
from ppo.peers import LeanTempControl


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
