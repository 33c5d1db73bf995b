"""Start states that can be set: the protocol, and Gymnasium's classic control environments made to follow it.

An environment whose start state can be set has an attribute ``start_space``, a bounded ``Box`` of start states, and its
``reset`` takes one of them as ``options["start"]``. Start samplers then choose where the first episode of each slot
starts. The sampler ``uncertainty`` asks the policy, so it also needs start states that are observations. A natively
batched environment has the same attribute, and its ``reset`` takes ``options["starts"]``, one start for each row.
"""

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import (
    AcrobotEnv,
    CartPoleEnv,
    Continuous_MountainCarEnv,
    MountainCarEnv,
    PendulumEnv,
)
from gymnasium.vector import AutoresetMode, SyncVectorEnv

CAR = [(-1.2, 0.45), (-0.07, 0.07)]
STATES: dict[type, list[tuple[float, float]]] = {
    Continuous_MountainCarEnv: CAR,
    MountainCarEnv: CAR,
    PendulumEnv: [(-np.pi, np.pi), (-8.0, 8.0)],
    AcrobotEnv: [(-np.pi, np.pi), (-np.pi, np.pi), (-4 * np.pi, 4 * np.pi), (-9 * np.pi, 9 * np.pi)],
    CartPoleEnv: [(-1.2, 1.2), (-1.0, 1.0), (-0.1, 0.1), (-1.0, 1.0)],
}
"""Bounds of the start states of each environment: far wider than Gymnasium's own starts."""
OBSERVERS = ("_get_obs", "_get_ob")  # methods of the environments whose observation is not the state itself


class ClassicStart(gymnasium.Wrapper):
    """Makes the start state of one of Gymnasium's classic control environments settable.

    Args:
        env: environment whose class is a key of ``STATES``.

    Attributes:
        start_space: space of start states.
    """

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        low, high = np.array(STATES[type(env.unwrapped)]).T
        self.start_space = spaces.Box(low, high, dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, at the state ``options["start"]`` where it is given."""
        remaining = dict(options or {})
        start = remaining.pop("start", None)
        obs, info = self.env.reset(seed=seed, options=remaining or None)
        if start is None:
            return obs, info
        unwrapped: Any = self.env.unwrapped
        unwrapped.state = np.array(start)
        observers = [getattr(unwrapped, name) for name in OBSERVERS if hasattr(unwrapped, name)]
        return (observers[0]() if observers else np.array(start, np.float32)), info


class _NextStart(gymnasium.Wrapper):
    """Passes the start state in ``next_start`` on to the next reset, once."""

    next_start: np.ndarray | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self.next_start is not None:
            options = dict(options or {}) | {"start": self.next_start}
            self.next_start = None
        return self.env.reset(seed=seed, options=options)


def _with_next_start(make: Callable[[], gymnasium.Env]) -> gymnasium.Env:
    """Makes an environment to whose next reset a start state can be passed."""
    return _NextStart(make())


class RowsVectorEnv(SyncVectorEnv):
    """Batches single environments; rows never reset by themselves, and starts can be set where each one's can.

    Args:
        makers: functions that make the environments, one for each row.

    Attributes:
        start_space: space of the start states of a row; None where they cannot be set.
    """

    def __init__(self, makers: list[Callable[[], gymnasium.Env]]):
        wrapped: list[Any] = [functools.partial(_with_next_start, make) for make in makers]
        super().__init__(wrapped, autoreset_mode=AutoresetMode.DISABLED)
        first = self.envs[0]
        self.spec = first.spec  # whose time limit a keyword may have changed
        self.start_space = first.get_wrapper_attr("start_space") if first.has_wrapper_attr("start_space") else None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the rows of ``options["reset_mask"]``; or all, to ``options["starts"]`` where they are given."""
        if options and "starts" in options:
            for env, start in zip(self.envs, options["starts"], strict=True):
                env.next_start = start  # type: ignore[attr-defined]
            options = None
        return super().reset(seed=seed, options=options)
