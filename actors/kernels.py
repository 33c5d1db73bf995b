"""Kernels of a Gaussian process: how f at two points is correlated, by distances in units of the length scales.

They need NumPy alone.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, get_args

import numpy as np

KernelName = Literal["matern", "rbf", "pairs"]
KERNEL_NAMES: tuple[KernelName, ...] = get_args(KernelName)


def correlation(kernel: KernelName, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the correlation of f at points ``[m, dims]`` and ``[n, dims]``, ``[m, n]``, by a kernel."""
    if kernel == "pairs":
        return pairs(squared_offsets(a, b))
    return (matern if kernel == "matern" else rbf)(squared_distances(a, b))


def matern(squared: np.ndarray, exp: Callable[..., np.ndarray] = np.exp) -> np.ndarray:
    """Returns the Matern-5/2 correlation for squared distances in units of the lengths, ``[m, n]``.

    Source: Rasmussen & Williams 2006, eq. 4.17.

    Args:
        squared: the squared distances.
        exp: the exponential function; it may be another one to the last bit.
    """
    radius = np.sqrt(5 * squared)
    decay = -radius
    exp(decay, out=decay)
    radius += 1
    radius += (5 / 3) * squared
    decay *= radius
    return decay


def rbf(squared: np.ndarray, exp: Callable[..., np.ndarray] = np.exp) -> np.ndarray:
    """Returns the correlation of the squared exponential kernel, also called RBF, likewise.

    Source: Rasmussen & Williams 2006, eq. 4.9.
    """
    halves = -0.5 * squared
    return exp(halves, out=halves)


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns squared distances of points ``[m, dims]`` and ``[n, dims]``, ``[m, n]``, one coordinate at a time."""
    total = np.zeros((len(a), len(b)))
    for offset in squared_offsets(a, b):
        total += offset
    return total


def squared_offsets(a: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the squared distances of the same points in each coordinate, ``[m, n]``."""
    for left, right in zip(a.T, b.T, strict=True):
        offset = left[:, None] - right
        offset *= offset
        yield offset


def rational(squared: np.ndarray) -> np.ndarray:
    """Returns the correlation of the rational quadratic kernel with alpha = 1, likewise; it takes no exponential.

    Source: Rasmussen & Williams 2006, eq. 4.19.
    """
    below = 0.5 * squared
    below += 1
    return np.reciprocal(below, out=below)


def pairs(squared: Iterable[np.ndarray]) -> np.ndarray:
    """Returns the mean rational correlation of all pairs of coordinates, for the squared distances of each coordinate.

    A function with this correlation is a sum of functions of two coordinates each, and needs far fewer evaluations.
    Source: the additive kernel of second order, Duvenaud, Nickisch & Rasmussen 2011.
    """
    each = map(rational, squared)
    total = next(each)
    squares, count = total * total, 1
    for one in each:
        total += one
        one *= one
        squares += one
        count += 1
    total *= total
    total -= squares
    total /= count * (count - 1)
    return total
