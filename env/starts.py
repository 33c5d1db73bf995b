"""Start states that can be set: a protocol of two lines, and Gymnasium's classic control made to follow it.

An environment whose start state can be set has an attribute ``start_space``, a bounded ``Box`` of start states, and
takes one of them as ``options["start"]`` of its ``reset``. Then start samplers say where the first episode of each slot
starts; the one that asks the policy, ``uncertainty``, only where such a state is what the policy observes. A natively
batched environment has the same attribute, and takes ``options["starts"]``, one for each row.
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
"""Where an episode may start: far wider than Gymnasium's own starts."""
OBSERVERS = ("_get_obs", "_get_ob")  # where the observation is not the state itself


class ClassicStart(gymnasium.Wrapper):
    """One of Gymnasium's classic control environments, whose start state can be set."""

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        low, high = np.array(STATES[type(env.unwrapped)]).T
        self.start_space = spaces.Box(low, high, dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        others = dict(options or {})
        start = others.pop("start", None)
        obs, info = self.env.reset(seed=seed, options=others or None)
        if start is None:
            return obs, info
        state: Any = self.env.unwrapped
        state.state = np.array(start)
        observers = [getattr(state, name) for name in OBSERVERS if hasattr(state, name)]
        return (observers[0]() if observers else np.array(start, np.float32)), info


class _NextStart(gymnasium.Wrapper):
    """Passes a start that was left here on to the next reset."""

    next_start: np.ndarray | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self.next_start is not None:
            options = dict(options or {}) | {"start": self.next_start}
            self.next_start = None
        return self.env.reset(seed=seed, options=options)


def _with_next_start(make: Callable[[], gymnasium.Env]) -> gymnasium.Env:
    return _NextStart(make())


class RowsVectorEnv(SyncVectorEnv):
    """Environments side by side that never reset by themselves, and whose starts can be set where each one's can.

    Args:
        makers: of the environments.

    Attributes:
        start_space: of each row; None where the starts cannot be set.
    """

    def __init__(self, makers: list[Callable[[], gymnasium.Env]]):
        wrapped: list[Any] = [functools.partial(_with_next_start, make) for make in makers]
        super().__init__(wrapped, autoreset_mode=AutoresetMode.DISABLED)
        one = self.envs[0]
        self.start_space = one.get_wrapper_attr("start_space") if one.has_wrapper_attr("start_space") else None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets all rows, with ``options["starts"]`` from these, or with ``options["reset_mask"]`` some."""
        if options and "starts" in options:
            for env, start in zip(self.envs, options["starts"], strict=True):
                env.next_start = start  # type: ignore[attr-defined]
            options = None
        return super().reset(seed=seed, options=options)
