"""The critic of a law: predicts f(x, c), so that the best of several proposals can be told. It needs NumPy alone.

It is the posterior of a Gaussian process with a warp of f, as the learner fitted it;
``ppo.algorithm.model.gaussian_process`` describes it.
"""

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from actors.kernels import KERNEL_NAMES, correlation


@dataclass(frozen=True)
class Critic:
    """Predicts the warped f, which orders knobs as f does.

    Attributes:
        states: where f was evaluated, knobs and conditions, ``[n, dims]``.
        weights: what the kernel at each of them is multiplied with, ``[n]``.
        lengths: length scale of each coordinate, ``[dims]``.
        scalars: level and variance of the warped f, noise as a share of the variance, warp, side that it stretches (1:
            the low values, -1: the high ones), lowest value of f, range of the values and the kernel's number in
            ``KERNEL_NAMES``, ``[8]``.
    """

    ARRAYS: ClassVar = ("states", "weights", "lengths", "scalars")
    states: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray
    scalars: np.ndarray

    def check(self, dims: int) -> None:
        """Checks a critic that was read, whose numbers are finite, for states of ``dims`` coordinates.

        Raises:
            ValueError: its arrays do not belong together, or a number is one that no fit gives.
        """
        n = len(self.weights) if self.weights.ndim else 0
        shapes = {"states": (n, dims), "weights": (n,), "lengths": (dims,), "scalars": (8,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"a critic whose {name} are {getattr(self, name).shape}, where they must be {shape}")
        _, variance, noise, warp, side, _, spread, kernel = self.scalars.tolist()
        sound = variance >= 0 and noise >= 0 and warp > 0 and abs(side) == 1 and spread > 0
        if not (sound and (self.lengths > 0).all() and kernel in range(len(KERNEL_NAMES))):
            raise ValueError("a critic with a length, a warp or another number that no fit gives")

    def mean(self, states: np.ndarray) -> np.ndarray:
        """Predicts the warped f at ``[m, dims]``, ``[m]``; a row's bits do not depend on the other rows."""
        return self.scalars[0] + (self._kernel(states) * self.weights).sum(axis=1)

    def std(self, states: np.ndarray) -> np.ndarray:
        """Returns the standard deviation of the prediction at ``[m, dims]``, ``[m]``."""
        solved = np.linalg.solve(self._factor, self._kernel(states).T)
        return np.sqrt(self.scalars[1] * np.maximum(1 - (solved * solved).sum(axis=0), 0.0))

    def unwarped(self, warped: np.ndarray) -> np.ndarray:
        """Returns f, in the objective's own unit, for its warped values."""
        warp, side, low, spread = self.scalars[3:7]
        return unwarped(warped, warp, side > 0, low, spread)

    def _kernel(self, states: np.ndarray) -> np.ndarray:
        return correlation(KERNEL_NAMES[int(self.scalars[7])], states / self.lengths, self._scaled)

    @functools.cached_property
    def _scaled(self) -> np.ndarray:
        return self.states / self.lengths

    @functools.cached_property
    def _factor(self) -> np.ndarray:
        """Lower Cholesky factor of the covariance of the evaluations, as a share of the variance, ``[n, n]``."""
        return np.linalg.cholesky(self._kernel(self.states) + self.scalars[2] * np.eye(len(self.states)))


def stretched(place: np.ndarray, warp: float) -> np.ndarray:
    """Returns log(1 + place / warp); below 0 it goes on with the slope it has there."""
    return np.where(place > 0, np.log1p(np.maximum(place, 0) / warp), place / warp)


def shrunk(value: np.ndarray, warp: float) -> np.ndarray:
    """Returns the place whose ``stretched`` value is given."""
    return warp * np.where(value > 0, np.expm1(np.maximum(value, 0)), value)


def unwarped(warped: np.ndarray, warp: float, from_low: bool, low: float, spread: float) -> np.ndarray:
    """Returns f for its warped values, from the lowest value, the range and the end that the warp stretches."""
    if from_low:
        return low + spread * shrunk(warped, warp)
    return low + spread * (1 - shrunk(-warped, warp))
