"""A logarithmic warp of f, which models of it may learn in place of f."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Warp:
    """f -> log1p((f - least) / unit), or f itself, then standardised.

    A negative f needs no care: the least value so far is subtracted, and what a later f is below it counts as nothing.

    Attributes:
        least: least value.
        unit: values up to about which the warp is linear; None for no logarithm.
        mean, scale: mean and standard deviation of the warped values.
    """

    least: float
    unit: float | None
    mean: float
    scale: float

    @classmethod
    def of(cls, f: np.ndarray, spread: int) -> "Warp":
        """Makes a warp for values ``[n]``; its unit is the median of f - min f among the first ``spread`` of them.

        Were it the median of all, a search that gathers near the minima would make it smaller and smaller, and the
        minima into cusps.
        """
        least = float(f.min())
        return _standardised(f, least, float(np.median(f[:spread])) - least or 1.0)

    @classmethod
    def identity(cls, f: np.ndarray) -> "Warp":
        """Makes the warp that standardises values ``[n]`` and no more."""
        return _standardised(f, 0.0, None)

    def __call__(self, f: np.ndarray) -> np.ndarray:
        return (_log(f, self.least, self.unit) - self.mean) / self.scale

    def log_slopes(self, f: np.ndarray) -> float:
        """Returns the sum of the logarithms of the warp's slope at values ``[n]``, by which densities are compared."""
        slopes = 0.0 if self.unit is None else float(np.log(self.unit + np.maximum(f - self.least, 0)).sum())
        return -slopes - len(f) * math.log(self.scale)


def _log(f: np.ndarray, least: float, unit: float | None) -> np.ndarray:
    return f if unit is None else np.log1p(np.maximum(f - least, 0) / unit)


def _standardised(f: np.ndarray, least: float, unit: float | None) -> Warp:
    warped = _log(f, least, unit)
    return Warp(least, unit, float(warped.mean()), float(warped.std()) or 1.0)
