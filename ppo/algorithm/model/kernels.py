"""What a fit of a Gaussian process asks of its kernel, beyond correlations: slopes by the points and by the lengths.

All points are in units of the length scales.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import numpy as np
import torch
from scipy.spatial.distance import cdist, pdist, squareform

from actors.kernels import KernelName, matern, pairs, rational, rbf, squared_offsets


class Kernel(Protocol):
    """A kernel of a fit."""

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Returns the correlation of points ``[m, dims]`` and ``[n, dims]``, ``[m, n]``."""

    def within(self, points: np.ndarray) -> np.ndarray:
        """Returns the correlation of points ``[n, dims]`` with each other, ``[n, n]``, without the diagonal."""

    def weighted(
        self, a: np.ndarray, b: np.ndarray, weights: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns sums over points ``b``, and their slopes by the first coordinates of points ``a``.

        Args:
            a: ``[m, dims]``.
            b: ``[n, dims]``.
            weights: what the correlation with each of ``b`` is multiplied with, ``[n]``.
            places: the weights, and their products with the first coordinates of ``b``, ``[n, 1 + coordinates]``.

        Returns:
            ``[m]`` and ``[m, coordinates]``.
        """

    def length_slopes(self, points: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """Returns the slopes of half the sum of ``outer`` times the correlation by the lengths' logarithms, ``[dims]``.

        Args:
            points: ``[n, dims]``.
            outer: symmetric, ``[n, n]``.
        """


class Radial:
    """A kernel of the distance in all coordinates.

    Args:
        function: the correlation for squared distances.
        with_steepness: the same, and its slope by an offset of two points, over that offset, negated.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        with_steepness: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    ):
        self._function, self._with_steepness = function, with_steepness

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        return self._function(cdist(a, b, "sqeuclidean"))

    def within(self, points: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        return squareform(self._function(pdist(points, "sqeuclidean")))

    def weighted(
        self, a: np.ndarray, b: np.ndarray, weights: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See ``Kernel``."""
        correlation, steepness = self._with_steepness(cdist(a, b, "sqeuclidean"))
        # One product for both sums: over the weights, and over the weighted places.
        sums = steepness @ places
        return correlation @ weights, sums[:, 1:] - sums[:, :1] * a[:, : places.shape[1] - 1]

    def length_slopes(self, points: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        steepness = squareform(self._with_steepness(pdist(points, "sqeuclidean"))[1])
        inner = outer * steepness  # d correlation / d log length: times squared offsets
        sums = inner.sum(axis=1)
        squares = points * points
        crossed = points * (inner @ points)
        return (squares * sums[:, None] - crossed).sum(axis=0)


class Pairs:
    """A sum over all pairs of coordinates."""

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        return pairs(squared_offsets(a, b))

    def within(self, points: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        return squareform(pairs(_squared_within(points)))

    def weighted(
        self, a: np.ndarray, b: np.ndarray, weights: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See ``Kernel``."""
        each = [rational(squared) for squared in squared_offsets(a, b)]
        total, squares = sum(each), sum(one * one for one in each)
        slopes = np.empty((len(a), places.shape[1] - 1))
        for number, one in enumerate(each[: slopes.shape[1]]):
            sums = ((total - one) * one * one) @ places[:, [0, number + 1]]  # the slope of one is its square
            slopes[:, number] = sums[:, 1] - sums[:, 0] * a[:, number]
        slopes *= 2 * _share(a)
        return _share(a) * ((total * total - squares) @ weights), slopes

    def length_slopes(self, points: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """See ``Kernel``."""
        weights = squareform(outer, checks=False)
        total = sum(rational(squared) for squared in _squared_within(points))
        slopes = []
        for squared in _squared_within(points):
            one = rational(squared)
            squared *= weights
            squared *= one
            squared *= one
            slopes.append(2 * _share(points) * float(squared @ (total - one)))
        return np.array(slopes)


def _share(points: np.ndarray) -> float:
    """Returns the share of one ordered pair of coordinates."""
    dims = points.shape[1]
    return 1 / (dims * (dims - 1))


def _squared_within(points: np.ndarray) -> Iterator[np.ndarray]:
    """Yields squared distances in each coordinate of two points out of ``[n, dims]``, as SciPy's ``pdist`` orders them.

    They are ``[n * (n - 1) / 2]``.
    """
    return (pdist(column[:, None], "sqeuclidean") for column in points.T)


def _exp(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Writes exponentials, float64, to ``out``.

    Without AVX-512 NumPy takes them one by one from the C library, which is most of the time of a fit.
    """
    torch.exp(torch.from_numpy(values), out=torch.from_numpy(out))
    return out


def _matern_with_steepness(squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(5 * squared)
    steepness = -radius
    _exp(steepness, out=steepness)
    radius += 1
    correlation = (5 / 3) * squared
    correlation += radius
    correlation *= steepness
    steepness *= 5 / 3
    steepness *= radius
    return correlation, steepness


def _rbf_with_steepness(squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    correlation = rbf(squared, _exp)
    return correlation, correlation


KERNELS: dict[KernelName, Kernel] = {
    "matern": Radial(partial(matern, exp=_exp), _matern_with_steepness),
    "rbf": Radial(partial(rbf, exp=_exp), _rbf_with_steepness),
    "pairs": Pairs(),
}
