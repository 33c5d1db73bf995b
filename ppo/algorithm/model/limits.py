"""Where constraints are broken, by a Gaussian process of each, and what a model of f expects there.

Knobs that keep all constraints come first: beyond a limit a model expects more of f, by the square of how far beyond it
is, and soon the worst value that was found anywhere. A margin keeps a law, which is fitted to the best knobs and is not
exactly there, on the right side.
"""

import numpy as np

from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.region import Region

STEEPNESS = 1e4  # of what is expected beyond a limit, in standard deviations of f for one of the constraint
SURELY = 1.0  # standard deviations of the model by which a constraint is to be kept where it is to be kept surely


class Limits:
    """Limits of the knobs: constraints, and the region in which f is likely to fail. It stands for ``Region``.

    Args:
        constraints: a process of each constraint, at least one.
        margin: how far within the limits knobs are to be, in standard deviations of each, ``[constraints]``.
        region: where f is likely to fail; None where it never did.
    """

    def __init__(self, constraints: list[GaussianProcess], margin: np.ndarray, region: Region | None):
        self._constraints, self._margin, self._region = constraints, margin, region
        self._limits = [float(process.warped(np.zeros(1))[0]) for process in constraints]
        self._spreads = [float(process.targets.std()) or 1.0 for process in constraints]

    def beyond(self, states: np.ndarray, stds: float = 0.0) -> np.ndarray:
        """Returns how far states ``[m, dims]`` lie beyond each limit, in standard deviations, ``[m, constraints]``.

        Args:
            states: which.
            stds: by so many standard deviations of the model the constraints are expected to be larger.
        """
        found = []
        for process, limit, spread in zip(self._constraints, self._limits, self._spreads, strict=True):
            mean, std = process.mean_and_std(states) if stds else (process.mean(states), 0.0)
            found.append((mean + stds * std - limit) / spread)
        return np.stack(found, axis=1)

    def holds(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Returns whether states ``[m, dims]`` are likely to break a constraint or to fail, ``[m]`` of bool.

        Args:
            states: which.
            factor: as ``Region`` takes it; above 1 constraints are to be kept surely.
        """
        found = np.any(self.beyond(states, SURELY * (factor > 1)) > 0, axis=1)
        return found if self._region is None else found | self._region.holds(states, factor)

    def outside(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Returns which of states ``[m, dims]`` are not, ``[m]`` of bool; all where all are. See ``holds``."""
        found: np.ndarray = ~self.holds(states, factor)
        return found if found.any() else ~found

    def raised(self, mean: np.ndarray, states: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns what is expected at states ``[m, dims]`` of which a model of f expects ``mean``, ``[m]``."""
        beyond = np.maximum(self.beyond(states) + self._margin, 0.0)
        found = mean + np.minimum(*_penalties(mean, beyond, targets))
        return found if self._region is None else self._region.raised(found, states, targets)

    def raised_with_slope(
        self, mean: np.ndarray, slope: np.ndarray, states: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the same, and its slope by the knobs, given that of the mean, both ``[m, knobs]``."""
        knobs = slope.shape[1]
        parts = [process.mean_and_slope(states, knobs) for process in self._constraints]
        rows = zip(parts, self._limits, self._spreads, self._margin, strict=True)
        excess = [(g - limit) / spread + more for (g, _), limit, spread, more in rows]
        beyond = np.maximum(np.stack(excess, axis=1), 0.0)
        steepness = np.stack([each / spread for (_, each), spread in zip(parts, self._spreads, strict=True)], axis=1)
        steepness = np.where(beyond[:, :, None] > 0, steepness, 0.0)
        near, far = _penalties(mean, beyond, targets)
        std = targets.std()
        by_near = 2 * STEEPNESS * std * (beyond[:, :, None] * steepness).sum(axis=1)
        by_far = std * steepness.sum(axis=1) - np.where((targets.max() > mean)[:, None], slope, 0.0)
        found, slope = mean + np.minimum(near, far), slope + np.where((near < far)[:, None], by_near, by_far)
        if self._region is None:
            return found, slope
        return self._region.raised_with_slope(found, slope, states, targets)


def _penalties(mean: np.ndarray, beyond: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what is added near to the limits, and far beyond them, ``[m]`` each; the lesser of both counts."""
    std = targets.std()
    near = STEEPNESS * std * (beyond * beyond).sum(axis=1)
    return near, np.maximum(targets.max() - mean, 0) + std * beyond.sum(axis=1)
