"""Wells that take turns at being the best one, so that the best knobs jump as the conditions change."""

import numpy as np

from env.errors import UsageError
from env.objectives.benchmarks import Benchmark

REACH = 0.6  # the wells' mean places lie in [-REACH, REACH]
SWAY, STIR = 0.25, 0.1  # movement of all wells together, and of each by itself as a share of their spacing
TURNS = 0.8  # turns of the phase of the depths for each unit of a single condition
STEPS = 60  # of the search in each well


class CrossingValleys(Benchmark):
    """f = 1 - sum_k a_k(c) / (1 + |x - p_k(c)|^2 / (knobs w^2)), with ``valleys`` wells; our own construction.

    The places p_k move smoothly with the conditions, and so do the depths a_k, between 0.1 and 1: each well in its turn
    is the deepest one. With one condition and three valleys the best knobs jump four times. Constant knobs, and a law
    that stays in the same well, are both bad under most conditions. f is smooth, above -0.2 and below 1.

    Each knob takes the wells in another order, so that two wells differ in every knob. Their distance is at least four
    times their width w, as a root mean square over the knobs, and does not depend on the number of knobs. The depths
    turn as far over the usual range of c for any number of conditions.

    Args:
        dims: number of coordinates, knobs and conditions together.
        knobs: number of knobs.
        valleys: number of wells, at least 2.

    Raises:
        UsageError: one of them has another value.
    """

    vectorised = True

    def __init__(self, dims: int = 2, knobs: int = 1, valleys: int = 3):
        super().__init__(dims, knobs)
        if not isinstance(valleys, int) or valleys < 2:
            raise UsageError(f"--env-kwargs valleys={valleys}: must be a whole number of at least 2")
        self.valleys = valleys
        self._spacing = 2 * REACH / (valleys - 1)
        self._width = self._spacing / 5

    def places(self, c: np.ndarray) -> np.ndarray:
        """Returns the places of the wells, ``[n, valleys, knobs]`` in [-1, 1]; minima lie close to them.

        Knob j follows the mean of conditions j and j + 1, counted cyclically.
        """
        j, k = np.arange(self.knobs), np.arange(self.valleys)[:, None]
        drive = 0.5 * (c[:, j % self.conditions] + c[:, (j + 1) % self.conditions])[:, None]
        mean = self._spacing * ((k + j) % self.valleys) - REACH
        stir = self._spacing * STIR * np.sin(np.pi * drive + 2 * np.pi * k / self.valleys)
        return np.ascontiguousarray(mean + SWAY * np.sin(0.5 * np.pi * drive + j) + stir)

    def depths(self, c: np.ndarray) -> np.ndarray:
        """Returns the depths of the wells, ``[n, valleys]`` in [0.1, 1]."""
        turn = TURNS * np.ascontiguousarray(c).sum(axis=1, keepdims=True) / np.sqrt(self.conditions)
        return 0.55 + 0.45 * np.cos(2 * np.pi * (turn - np.arange(self.valleys) / self.valleys))

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        return 1 - (self.depths(c) * self._shares(x, self.places(c))).sum(axis=1)

    def _shares(self, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Returns by which share of its depth each well lowers f at knobs ``[n, knobs]``, ``[n, valleys]``."""
        square = ((x[:, None] - places) ** 2).sum(axis=2) / self.knobs
        return 1 / (1 + square / self._width**2)

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the best knobs and their f, to rounding; see ``Objective.solve``.

        A search starts from the place of each well. Where the derivative of f is 0, the knobs are a mean of the places
        with weights a_k share_k^2; mean shift takes that mean again and again, with the weights at the point before.
        """
        places, depths = self.places(c), self.depths(c)
        best, least = places[:, 0], np.full(len(c), np.inf)
        for well in range(self.valleys):
            x = places[:, well]
            for _ in range(STEPS):
                weights = (depths * self._shares(x, places) ** 2)[:, :, None]
                x = (weights * places).sum(axis=1) / weights.sum(axis=1)
            value = self(x, c)
            best, least = np.where((value < least)[:, None], x, best), np.minimum(value, least)
        return self._solution(best, c)
