"""Stable-Baselines3, the peer that benchmarks and studies compare with (the extra ``bench``)."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from threadpoolctl import threadpool_limits

from actors.pools.environment import one_thread
from env.errors import UsageError
from ppo.config import defaults


class LeanAckley(gymnasium.Env):
    """The learn-to-optimise MDP over 2-D Ackley for one row, with as little overhead as a careful user's code has.

    Episodes of two time steps end as terminated, so that Stable-Baselines3 does not have to bootstrap at a truncation.

    Args:
        cost_ms: latency of an evaluation in milliseconds, or a function that returns it.
    """

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, cost_ms: float | Callable[[], float] = 0.0):
        self.cost_ms = cost_ms

    def _f(self) -> float:
        """Waits for the latency and returns f of the state."""
        if self.cost_ms:
            time.sleep((self.cost_ms() if callable(self.cost_ms) else self.cost_ms) / 1000)
        x, c = 32.768 * self.x, 32.768 * self.c
        ripple = 0.5 * (math.cos(2 * math.pi * x) + math.cos(2 * math.pi * c))
        return -20 * math.exp(-0.2 * math.sqrt(0.5 * (x * x + c * c))) - math.exp(ripple) + 20 + math.e

    def _obs(self) -> np.ndarray:
        return np.array([self.x, self.c], np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.x, self.c = self.np_random.uniform(-1, 1, 2).tolist()
        self.left, self.value = 2, self._f()
        return self._obs(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.x = float(action[0])
        before, self.value = self.value, self._f()
        self.left -= 1
        return self._obs(), before - self.value, self.left == 0, False, {}


class LeanTempControl(gymnasium.Env):
    """``TempControl-v1`` without the load: one furnace in plain Python, with as little overhead as possible."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    @staticmethod
    def _slope(power: float, t: float) -> float:
        """Returns the rate of change of the temperature ``t``, in degrees per second."""
        d = t - 25.0
        return (power - 0.02 * d - 0.001 * d * abs(d)) / 10.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = float(self.np_random.uniform(25, 40))
        self.shocks = 0.1 * self.np_random.standard_normal(500)
        self.shocks[self.np_random.integers(200, 300)] -= 20.0
        self.shocks, self.elapsed = self.shocks.tolist(), 0
        self.sent, self.errors = [0.0] * 6, [100.0 - self.t] * 5
        return np.array([self.errors[0], 0.0], np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.sent = [min(max(float(action[0]), -1.0), 1.0), *self.sent[:5]]
        u, t, slope = self.sent[5], self.t, self._slope
        power = (12.0 if u > 0 else 4.0) * u
        k1 = slope(power, t)
        k2 = slope(power, t + 0.5 * k1)
        k3 = slope(power, t + 0.5 * k2)
        k4 = slope(power, t + k3)
        t += (k1 + 2 * k2 + 2 * k3 + k4) / 6 + self.shocks[self.elapsed]
        self.t = min(max(t, 20.0), 150.0)
        error, last = 100.0 - self.t, self.errors[0]
        self.errors = [error, *self.errors[:4]]
        mean = sum(self.errors) / 5
        spread = math.sqrt(sum((e - mean) ** 2 for e in self.errors) / 5)
        moved = self.sent[0] - self.sent[1]
        reward = -abs(error) - 0.05 * moved * moved + (abs(error) < 1) - 0.01 * spread
        self.elapsed += 1
        return np.array([error, error - last], np.float32), reward, False, self.elapsed == 500, {}


TRAINING_STEP = 128  # time steps of a training step
LEARNING_RATE = 3e-4  # the peer's default
LEARNING_STEPS: int = defaults.TUNING["training_steps"]  # training steps of a learning curve, this program's default
PEER_LABEL = "Stable-Baselines3"


def library() -> Any:
    """Imports and returns the package ``stable_baselines3``.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import stable_baselines3.common.vec_env
    except ImportError:
        raise UsageError("Stable-Baselines3 is not installed; pip install 'tuninglaw[bench]'") from None
    return stable_baselines3


def vec_env(make: Callable[[], gymnasium.Env], environments: int, processes: bool = False) -> Any:
    """Makes Stable-Baselines3's batch of environments, each in a process of its own or all in this one."""
    kinds, makers = library().common.vec_env, [make] * environments
    if not processes:
        return kinds.DummyVecEnv(makers)
    with one_thread():
        return kinds.SubprocVecEnv(makers)


@dataclass(frozen=True)
class PeerSetup:
    """Set-up of the peer, which has its own defaults otherwise.

    Attributes:
        environments: number of environments in a batch.
        processes: whether each environment is in a process of its own (``SubprocVecEnv``).
        normalise: arguments of ``VecNormalize``, which normalises observations, rewards or both by running statistics;
            None for neither.
        anneal_over: time steps over which the learning rate falls linearly to 0; None for a constant rate.
        settings: arguments of ``stable_baselines3.PPO``.
    """

    environments: int = 1
    processes: bool = False
    normalise: dict[str, Any] | None = None
    anneal_over: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class StableBaselines3PPO:
    """Trains Stable-Baselines3's PPO, and acts with its policy (``ppo.evaluation.held_out.Controller``).

    Like this program, it has one thread for torch and one for BLAS in each of its processes.

    Args:
        make: function that makes one environment.
        peer: set-up of the peer.
        seed: random seed.
    """

    def __init__(self, make: Callable[[], gymnasium.Env], peer: PeerSetup, seed: int):
        sb3 = library()
        import torch

        torch.set_num_threads(1)
        self._blas = threadpool_limits(1, "blas")
        self._env = vec_env(make, peer.environments, peer.processes)
        normalised = sb3.common.vec_env.VecNormalize
        self._normaliser = normalised(self._env, **peer.normalise) if peer.normalise is not None else None
        self._peer, self._goal = peer, 0
        settings = peer.settings | {"learning_rate": self._learning_rate}
        self.model = sb3.PPO("MlpPolicy", self._normaliser or self._env, seed=seed, device="cpu", **settings)

    def _learning_rate(self, left: float) -> float:
        """Returns the learning rate, where ``left`` is the share of all time steps up to ``_goal`` that is left."""
        first = self._peer.settings.get("learning_rate", LEARNING_RATE)
        if self._peer.anneal_over is None:
            return first
        return first * max(0.0, 1 - (1 - left) * self._goal / self._peer.anneal_over)

    def train(self, time_steps: int, each_step: Callable[[], None] | None = None) -> None:
        """Trains for further time steps, rounded up to whole batches.

        Args:
            time_steps: number of time steps.
            each_step: function that is called after each step of the environments.
        """
        self._goal = self.model.num_timesteps + time_steps
        callback = None if each_step is None else lambda variables, more: each_step() is None
        self.model.learn(time_steps, callback, reset_num_timesteps=False)

    def reset(self, rows: int) -> None:
        """Starts episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the likeliest actions ``[rows, action_dim]`` for observations ``[rows, obs_dim]``."""
        if self._normaliser is not None:
            obs = np.asarray(self._normaliser.normalize_obs(obs))
        return np.asarray(self.model.predict(obs, deterministic=True)[0])

    def close(self) -> None:
        """Ends the processes and restores the number of BLAS threads."""
        self._env.close()
        self._blas.restore_original_limits()


def ackley_peer(processes: int = 0, learning: bool = False, seed: int = 0) -> StableBaselines3PPO:
    """Makes the peer on 2-D Ackley with the benchmarks' training step: 10 epochs of a full batch of 128 time steps.

    Args:
        processes: number of worker processes with one environment each; 0 for 64 environments in this process.
        learning: whether to use the settings for learning curves: rewards are normalised, and the learning rate is
            annealed over as many training steps as this program takes by default.
        seed: random seed.
    """
    environments = processes or 64
    settings = {
        "n_steps": TRAINING_STEP // environments,
        "batch_size": TRAINING_STEP,
        "n_epochs": 10,
        "policy_kwargs": {"net_arch": {"pi": [64, 64], "vf": [64, 64]}},
    }
    normalise, over = ({"norm_obs": False}, LEARNING_STEPS * TRAINING_STEP) if learning else (None, None)
    return StableBaselines3PPO(LeanAckley, PeerSetup(environments, bool(processes), normalise, over, settings), seed)
