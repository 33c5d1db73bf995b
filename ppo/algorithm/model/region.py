"""Where f is likely to fail: where an evaluation that failed is nearer than one that did not.

A state is in the region if its distance to the nearest failure is less than ``MARGIN`` times that to the nearest
success, both in knobs and conditions as they are, of which a fit takes no part. The margin keeps a law on the near side
of a border that no evaluation has come closer to. A model expects the worst value there that was found anywhere.
"""

import numpy as np
from scipy.spatial import cKDTree

MARGIN = 2.0
RIM = 0.02  # distances by which a state is deep in the region, from which on only the worst is expected


class Region:
    """The region around evaluations that failed.

    Args:
        sound: states of evaluations that did not fail, ``[n, dims]``, at least one.
        failed: states of those that did, ``[m, dims]``, at least one.
    """

    def __init__(self, sound: np.ndarray, failed: np.ndarray):
        self._sound, self._failed = cKDTree(sound), cKDTree(failed)

    def holds(self, states: np.ndarray) -> np.ndarray:
        """Returns whether states ``[m, dims]`` lie in the region, ``[m]`` of bool."""
        return self._sound.query(states)[0] > self._failed.query(states)[0]

    def passed_over(self, states: np.ndarray) -> np.ndarray:
        """Returns those of states ``[m, dims]`` that lie outside; all where none does."""
        outside = ~self.holds(states)
        return states[outside] if outside.any() else states

    def raised(self, mean: np.ndarray, states: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns what is expected at states ``[m, dims]`` of which a model expects ``mean``, ``[m]``.

        Args:
            mean: by the model alone.
            states: where.
            targets: all values that the model knows.
        """
        depth = np.maximum(MARGIN * self._sound.query(states)[0] - self._failed.query(states)[0], 0)
        return mean + _share(depth) * np.maximum(targets.max() - mean, 0) + targets.std() * depth

    def raised_with_slope(
        self, mean: np.ndarray, slope: np.ndarray, states: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the same, and its slope by the knobs, given that of the mean, both ``[m, knobs]``."""
        knobs = slope.shape[1]
        parts = [_distances(tree, states, knobs) for tree in (self._sound, self._failed)]
        (near, near_slope), (far, far_slope) = parts
        depth = np.maximum(MARGIN * near - far, 0)
        steepness = np.where(depth[:, None] > 0, MARGIN * near_slope - far_slope, 0.0)
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
