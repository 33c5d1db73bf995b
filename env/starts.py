"""Start states that can be set: the protocol, and Gymnasium's classic control environments made to follow it.

An environment whose start state can be set has an attribute ``start_space``, a bounded ``Box`` of start states, and its
``reset`` takes one of them as ``options["start"]``. Start samplers then choose where the first episode of each slot
starts. The sampler ``uncertainty`` asks the policy, so it also needs start states that are observations. A natively
batched environment has the same attribute, and its ``reset`` takes ``options["starts"]``, one start for each row.
"""

import contextlib
import functools
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

from env.randomness import OWN_RANDOMNESS, key_of, set_randomness

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


class Row(gymnasium.Wrapper):
    """A single environment as a row of ``RowsVectorEnv``, of several if need be; it is closed once.

    Before each reset and step ``random`` and ``np.random`` are keyed by the seed of the last reset that had one and by
    the number of calls since then. Gymnasium's own environments are spared the time: they do not draw from them.

    Args:
        env: the environment.

    Attributes:
        next_start: start state that the next reset takes, once; None for the environment's own.
        keyed: whether its global random numbers are keyed.
        running: whether it is in the middle of a call, or its last call raised an exception.
    """

    next_start: np.ndarray | None = None
    running = False

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        self.keyed = not type(env.unwrapped).__module__.startswith("gymnasium.envs.")
        self._row_seed, self._calls = int(np.random.SeedSequence().generate_state(1)[0]), 0
        self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self.next_start is not None:
            options = dict(options or {}) | {"start": self.next_start}
            self.next_start = None
        if seed is not None:
            self._row_seed, self._calls = seed, 0
        self._key()
        self.running = True
        begun = self.env.reset(seed=seed, options=options)
        self.running = False
        return begun

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._key()
        self.running = True
        stepped = self.env.step(action)
        self.running = False
        return stepped

    def _key(self) -> None:
        if self.keyed:
            set_randomness(key_of(self._row_seed, self._calls))
            self._calls += 1

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.env.close()


class RowsVectorEnv(SyncVectorEnv):
    """Batches single environments; rows never reset by themselves, and starts can be set where each one's can.

    Args:
        rows: the environments.

    Attributes:
        start_space: space of the start states of a row; None where they cannot be set.
    """

    envs: list[Any]

    def __init__(self, rows: list[Row]):
        super().__init__([functools.partial(_same, row) for row in rows], autoreset_mode=AutoresetMode.DISABLED)
        first = self.envs[0]
        self._randomness = OWN_RANDOMNESS if first.keyed else contextlib.nullcontext()
        self.spec = first.spec  # whose time limit a keyword may have changed
        self.start_space = first.get_wrapper_attr("start_space") if first.has_wrapper_attr("start_space") else None

    @property
    def row(self) -> int:
        """The row whose turn it is, or whose call raised an exception."""
        return next((number for number, env in enumerate(self.envs) if env.running), 0)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the rows of ``options["reset_mask"]``; or all, to ``options["starts"]`` where they are given."""
        if options and "starts" in options:
            for env, start in zip(self.envs, options["starts"], strict=True):
                env.next_start = start
            options = None
        with self._randomness:
            return super().reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the rows one after the other."""
        with self._randomness:
            return super().step(actions)

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        """Drops the information of a row: nobody reads it, and Gymnasium takes as long for it as a policy to act."""
        return vector_infos

    def close_extras(self, **kwargs: Any) -> None:
        """Closes all rows, also where one of them fails to close."""
        with contextlib.ExitStack() as stack:
            for row in self.envs:
                stack.callback(row.close)


def _same(row: Row) -> Row:
    """Returns a row itself; Gymnasium asks for functions."""
    return row
