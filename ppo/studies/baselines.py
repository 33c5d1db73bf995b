"""Stable-Baselines3's PPO on any environment of this program (the extra ``bench``), for studies beside it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from env.errors import UsageError
from env.make import Problem


@dataclass(frozen=True)
class Peer:
    """How the peer is set up; otherwise it has its own defaults.

    Attributes:
        environments: side by side.
        processes: each in a process of its own (``SubprocVecEnv``).
        normalise: observations, rewards or both by running statistics: arguments of ``VecNormalize``; None for neither.
        settings: arguments of its PPO.
    """

    environments: int = 1
    processes: bool = False
    normalise: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class Baselines:
    """A training under way, and afterwards a policy that acts (``ppo.held_out.Actor``).

    Args:
        problem: the environment; what its episodes look like is its own business.
        peer: the set-up.
        seed: of its randomness.
    """

    def __init__(self, problem: Problem, peer: Peer, seed: int):
        try:
            from stable_baselines3 import PPO
            from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
        except ImportError:
            raise UsageError("ppo.study: Stable-Baselines3 is not installed; pip install 'tuninglaw[bench]'") from None
        import torch

        torch.set_num_threads(1)
        makers: list[Callable[[], gymnasium.Env]] = [problem.make_single] * peer.environments
        self.env: Any = SubprocVecEnv(makers, "forkserver") if peer.processes else DummyVecEnv(makers)
        self._normaliser = VecNormalize(self.env, **peer.normalise) if peer.normalise is not None else None
        self.model = PPO("MlpPolicy", self._normaliser or self.env, seed=seed, device="cpu", **peer.settings)

    def train(self, time_steps: int) -> None:
        """Collects and learns for so many more time steps, rounded up to whole batches."""
        self.model.learn(time_steps, reset_num_timesteps=False)

    def reset(self, rows: int) -> None:
        """Starts episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Its likeliest actions."""
        if self._normaliser is not None:
            obs = np.asarray(self._normaliser.normalize_obs(obs))
        return np.asarray(self.model.predict(obs, deterministic=True)[0])

    def close(self) -> None:
        """Ends its processes."""
        self.env.close()
