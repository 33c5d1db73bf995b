"""Where f is likely to fail: where an evaluation that failed is nearer than one that did not.

Distances are those of knobs and conditions as they are, so that no fit has a part in it. A law is to keep a margin: its
nearest failure is to be farther than its nearest success by as much as that one is away, or by ``MARGIN`` where that is
more. Where it is not, a model expects the worst value that was found anywhere.
"""

from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree


class Avoided(Protocol):
    """Where a law is not to go, and what a model of f expects there in its place."""

    def holds(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """See ``Region``."""

    def outside(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """See ``Region``."""

    def raised(self, mean: np.ndarray, states: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """See ``Region``."""

    def raised_with_slope(
        self, mean: np.ndarray, slope: np.ndarray, states: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See ``Region``."""


MARGIN = 0.1
RIM = 0.02  # of the distance that is missing, from which on only the worst is expected


class Region:
    """The region around evaluations that failed.

    Args:
        sound: states of evaluations that did not fail, ``[n, dims]``, at least one.
        failed: states of those that did, ``[m, dims]``, at least one.
    """

    def __init__(self, sound: np.ndarray, failed: np.ndarray):
        self._sound, self._failed = cKDTree(sound), cKDTree(failed)

    def holds(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Returns whether states ``[m, dims]`` lie in the region, ``[m]`` of bool.

        Args:
            states: which.
            factor: by how much farther than the nearest success the nearest failure must be outside.
        """
        return factor * self._sound.query(states)[0] > self._failed.query(states)[0]

    def outside(self, states: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Returns which of states ``[m, dims]`` lie outside, ``[m]`` of bool; all where none does. See ``holds``."""
        found = ~self.holds(states, factor)
        return found | (not found.any())

    def raised(self, mean: np.ndarray, states: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns what is expected at states ``[m, dims]`` of which a model expects ``mean``, ``[m]``.

        Args:
            mean: by the model alone.
            states: where.
            targets: all values that the model knows.
        """
        near, far = self._sound.query(states)[0], self._failed.query(states)[0]
        depth = np.maximum(near + np.minimum(near, MARGIN) - far, 0)
        return mean + _share(depth) * np.maximum(targets.max() - mean, 0) + targets.std() * depth

    def raised_with_slope(
        self, mean: np.ndarray, slope: np.ndarray, states: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the same, and its slope by the knobs, given that of the mean, both ``[m, knobs]``."""
        knobs = slope.shape[1]
        parts = [_distances(tree, states, knobs) for tree in (self._sound, self._failed)]
        (near, near_slope), (far, far_slope) = parts
        depth = np.maximum(near + np.minimum(near, MARGIN) - far, 0)
        towards = np.where(near < MARGIN, 2.0, 1.0)[:, None] * near_slope
        steepness = np.where(depth[:, None] > 0, towards - far_slope, 0.0)
        share, missing = _share(depth), np.maximum(targets.max() - mean, 0)
        rising = np.where((share < 1)[:, None], missing[:, None] * steepness / RIM, 0.0)
        kept = np.where(missing > 0, 1 - share, 1.0)[:, None]
        raised = mean + share * missing + targets.std() * depth
        return raised, kept * slope + rising + targets.std() * steepness


def _share(depth: np.ndarray) -> np.ndarray:
    return np.minimum(depth / RIM, 1.0)


def _distances(tree: cKDTree, states: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distances of states to the nearest point, ``[m]``, and their slopes by the knobs, ``[m, knobs]``."""
    distances, nearest = tree.query(states)
    offsets = states[:, :knobs] - tree.data[nearest, :knobs]
    return distances, offsets / np.maximum(distances, 1e-300)[:, None]
