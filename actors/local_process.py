"""A Gaussian process of a few evaluations near to each other, chosen among some by its marginal likelihood.

Its kernel, its length, its noise and a stretching of the values are chosen (Rasmussen & Williams 2006, eq. 5.8). It
needs NumPy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from actors.kernels import matern, rbf, squared_distances

LENGTHS = (0.7, 1.5, 3.0, 6.0, 12.0, 25.0)  # in units of the trust region
STRETCHES = (0.0, 1.0, 3.0, 9.0)  # values over their range go through (exp(s v) - 1) / (exp(s) - 1)
NOISES = (1e-9, 1e-3, 3e-2)  # variance of the noise, as a share of that of the values


@dataclass(frozen=True)
class LocalProcess:
    """A Gaussian process of a few evaluations, in coordinates in which the trust region is [-1, 1].

    Attributes:
        likelihood: logarithm of the marginal likelihood, up to a constant.
        noise: variance of the noise, as a share of that of the values.
        correlation, length: its kernel.
        points: where values are known, ``[n, knobs]``.
        level, weights: its mean, and what the kernel at each point is multiplied with, ``[n]``.
        low, spread, stretch: what values are stretched by.
    """

    likelihood: float
    noise: float
    correlation: Callable[[np.ndarray], np.ndarray]
    length: float
    points: np.ndarray
    level: float
    weights: np.ndarray
    low: float
    spread: float
    stretch: float

    def mean(self, at: np.ndarray) -> np.ndarray:
        """Returns the stretched value expected at ``[m, knobs]``, ``[m]``."""
        squared = squared_distances(at, self.points) / self.length**2
        return self.level + self.correlation(squared) @ self.weights

    def stretched(self, value: float) -> float:
        """Returns the stretched value of a value."""
        return float(_stretched(np.array((value - self.low) / self.spread), self.stretch))


def likeliest(points: np.ndarray, values: np.ndarray) -> LocalProcess | None:
    """Returns the process of most marginal likelihood; None where none can be factored, or all values are the same.

    Args:
        points: ``[n, knobs]``, in units of the trust region.
        values: finite values there, ``[n]``.
    """
    low, spread = float(values.min()), float(np.ptp(values))
    if spread == 0:
        return None
    squared, share = squared_distances(points, points), (values - low) / spread
    targets = {stretch: (_stretched(share, stretch), _log_slope(share, stretch)) for stretch in STRETCHES}
    best: LocalProcess | None = None
    for correlation, length, noise in product((rbf, matern), LENGTHS, NOISES):
        covariance = correlation(squared / length**2) + noise * np.eye(len(values))
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            continue
        ones = np.linalg.solve(factor, np.ones(len(values)))
        for stretch, (target, log_slope) in targets.items():
            solved = np.linalg.solve(factor, target)
            level = float(ones @ solved / (ones @ ones))
            rest = solved - level * ones
            variance = max(float(rest @ rest) / len(values), 1e-300)
            likelihood = log_slope - 0.5 * len(values) * np.log(variance) - np.log(np.diag(factor)).sum()
            if best is None or likelihood > best.likelihood:
                weights, of = np.linalg.solve(factor.T, rest), (low, spread, stretch)
                best = LocalProcess(float(likelihood), noise, correlation, length, points, level, weights, *of)
    return best


def _stretched(share: np.ndarray, stretch: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # of a value that is far from all others
        return np.expm1(stretch * share) / np.expm1(stretch) if stretch else share


def _log_slope(share: np.ndarray, stretch: float) -> float:
    """Returns the sum of the logarithms of the slope of the stretching."""
    if not stretch:
        return 0.0
    return float((np.log(stretch) + stretch * share - np.log(np.expm1(stretch))).sum())
