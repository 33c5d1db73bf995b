"""Objectives, environments and samplers that tests hand to drivers by name, as a user would."""

import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces

from actors.samplers import Sampler
from env import Objective


class Quadratic(Objective):
    """f = |x - best(c)|^2: the minimiser moves with c and the minimum is 0."""

    knobs = 2
    conditions = 1

    def best(self, c):
        return np.concatenate([0.5 * c, 0.3 - 0.4 * c * c], axis=1)

    def __call__(self, x, c):
        return np.sum((x - self.best(c)) ** 2, axis=1)

    def solve(self, c):
        return self.best(c), np.zeros(len(c))


class UnknownOptimum(Quadratic):
    """The same with a minimum that nobody knows."""

    def solve(self, c):
        return None


class RaisesForSomeConditions(Quadratic):
    """Raises for a part of the conditions."""

    def __call__(self, x, c):
        if (c > 0.5).any():
            raise ValueError("the probe lost contact")
        return super().__call__(x, c)


class UnevenCost(Quadratic):
    """Takes from nothing to 60 ms a row, as its condition says."""

    def __call__(self, x, c):
        time.sleep(0.03 * float(np.sum(c + 1)))
        return super().__call__(x, c)


class RaisesConnectionError(Quadratic):
    """Fails as an instrument on a socket would."""

    def __call__(self, x, c):
        raise ConnectionResetError("the instrument hung up")


class AbstractObjective(Objective):
    """Is not finished."""


class ReturnsNaN(Quadratic):
    """Returns NaN for a part of the conditions."""

    def __call__(self, x, c):
        return np.where(c[:, 0] > 0.5, np.nan, super().__call__(x, c))


def first_to_ask():
    """True for one caller alone, in whatever process: who makes the file named by TUNINGLAW_TEST_FLAG."""
    try:
        os.close(os.open(os.environ["TUNINGLAW_TEST_FLAG"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class KillsDriverOnce(Quadratic):
    """Kills the driver it runs in, once."""

    def __call__(self, x, c):
        if first_to_ask():
            os.kill(os.getpid(), 9)
        return super().__call__(x, c)


class KillsEveryDriver(Quadratic):
    """Kills every driver that evaluates it."""

    def __call__(self, x, c):
        os.kill(os.getpid(), 9)


class HangsOnce(Quadratic):
    """Hangs, once."""

    def __call__(self, x, c):
        if first_to_ask():
            time.sleep(3600)
        return super().__call__(x, c)


class CornerSampler(Sampler):
    """Starts in the corners of the box: a user's own sampler."""

    def sample(self, n, rng, policy, rows):
        return self.scale(rng.integers(0, 2, (n, self.dims)).astype(float))[rows]


class UnslicedSampler(Sampler):
    """Forgets to slice."""

    def sample(self, n, rng, policy, rows):
        return self.scale(rng.random((n, self.dims)))


class CountdownEnv(gymnasium.Env):
    """Ends as terminated after as many steps as its seed says (3 to 6); the observation counts down. Rewards: 1."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(3, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total = self.left = int(self.np_random.integers(3, 7))
        return np.array([self.left, self.total], np.float32), {}

    def step(self, action):
        assert self.left > 0, "stepped past its end"
        assert self.action_space.contains(action)
        self.left -= 1
        return np.array([self.left, self.total], np.float32), 1.0, self.left == 0, False, {}


class WideEnv(gymnasium.Env):
    """Observations and actions large enough for trajectory and snapshot to exceed a pipe's buffer. Never ends."""

    observation_space = spaces.Box(-1, 1, (2000,), np.float64)
    action_space = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2000), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.np_random.uniform(-1, 1, 2000), float(action.sum()), False, False, {}


class MultiBinaryEnv(gymnasium.Env):
    """Has actions that are not supported."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.MultiBinary(3)


class ScaledQuadratic(Quadratic):
    """1,024 f: the same bits in another unit."""

    def __call__(self, x, c):
        return 1024 * super().__call__(x, c)


class OffsetQuadratic(Quadratic):
    """A small f above a large floor, as black boxes have."""

    def __call__(self, x, c):
        return 1e-3 * super().__call__(x, c) + 500


class TwoDialsEnv(gymnasium.Env):
    """Two dials to be set to what the observation shows: a reward of 1 for each that is right, at each of 8 steps."""

    observation_space = spaces.Discrete(6)
    action_space = spaces.MultiDiscrete([3, 2], start=[-1, 4])

    def _shown(self):
        self.wanted = int(self.np_random.integers(6))
        return self.wanted

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 8
        return self._shown(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.left -= 1
        right = int(action[0] == self.wanted % 3 - 1) + int(action[1] == self.wanted // 3 + 4)
        return self._shown(), float(right), False, self.left == 0, {}
