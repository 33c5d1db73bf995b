"""Objectives and environments that draw random numbers, of the process or their own, as a user's may."""

import random

import gymnasium
import numpy as np
from gymnasium import spaces

from env import Objective
from tests.problems import Quadratic


class GlobalChance(Quadratic):
    """Adds noise that ``random`` and ``np.random`` draw."""

    def __call__(self, x, c):
        return super().__call__(x, c) + 0.1 * np.random.normal(size=len(x)) + 0.1 * random.random()  # noqa: NPY002


class OwnChance(Quadratic):
    """Adds noise of the generator that it is given."""

    def __call__(self, x, c, rng):
        return super().__call__(x, c) + 0.1 * rng.standard_normal(len(x))


class SharedChance(Quadratic):
    """Asks for a generator that all rows of a call would share."""

    vectorised = True

    def __call__(self, x, c, rng=None):
        return super().__call__(x, c)


class Product(Objective):
    """A matrix product, whose last bits may depend on the number of rows; it says how many it was given."""

    knobs = 40
    conditions = 1
    weights = np.random.default_rng(0).normal(size=(40, 40))

    def __init__(self):
        self.rows = []

    def __call__(self, x, c):
        self.rows.append(len(x))
        return ((x @ self.weights) ** 2).sum(axis=1) + c[:, 0]


class DiceEnv(gymnasium.Env):
    """Observes what ``random`` and ``np.random`` draw; it ends after 3 to 6 time steps, by chance too."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(2)

    def _dice(self):
        return np.array([random.random(), np.random.random()])  # noqa: NPY002

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = random.randint(3, 6)
        return self._dice(), {}

    def step(self, action):
        self.left -= 1
        return self._dice(), random.random(), self.left == 0, False, {}


class LongDiceEnv(DiceEnv):
    """The same without an end."""

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed, options=options)
        self.left = 1000
        return obs, info


class CountedEnv(DiceEnv):
    """Notes which of it were made, and which were closed; every third one fails to close."""

    made, closed = [], []

    def __init__(self):
        self.number = len(self.made)
        self.made.append(self.number)

    def close(self):
        self.closed.append(self.number)
        if self.number % 3 == 1:
            raise OSError(f"the simulator of environment {self.number} is gone")
