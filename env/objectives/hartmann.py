"""Hartmann's functions of three, four and six coordinates."""

import numpy as np

from env.errors import UsageError
from env.objectives.benchmarks import Benchmark

DEPTHS = np.array([1.0, 1.2, 3.0, 3.2])
STEEPNESS_3 = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
PLACES_3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
STEEPNESS_6 = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
PLACES_6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
PARTS = 10  # of which the weights of the starts of a search consist; 286 starts
SEARCHES, STEPS = 8, 400  # searches for each condition, and their steps


class Hartmann(Benchmark):
    """Hartmann's function on [0, 1]^dims, with the first ``knobs`` coordinates tuned and the rest given.

    With 3 and 6 coordinates (Hartmann 1973) f = -sum_i d_i exp(-sum_j a_ij (z_j - p_ij)^2), four wells of different
    shapes; its minimum is -3.86278 and -3.32237. With 4 coordinates (Picheny, Wagner and Ginsbourger 2013, "A benchmark
    of kriging-based infill criteria for noisy optimization") it has the first four of the six, and f is shifted and
    scaled to (1.1 + f) / 0.839; its minimum is -3.134494. The -3.135474 that is often given is its value at the
    minimiser to four digits with the divisor 0.8387, of which 0.839 is rounded.

    Args:
        dims: number of coordinates: 3, 4 or 6.
        knobs: number of knobs (None: two thirds of ``dims``, rounded down).

    Raises:
        UsageError: one of them has another value.
    """

    vectorised = True

    def __init__(self, dims: int = 6, knobs: int | None = None):
        if dims not in (3, 4, 6):
            raise UsageError(f"--dims {dims}: must be 3, 4 or 6, the sizes of Hartmann's function")
        super().__init__(dims, 2 * dims // 3 if knobs is None else knobs)
        steepness, places = (STEEPNESS_3, PLACES_3) if dims == 3 else (STEEPNESS_6, PLACES_6)
        self._steepness, self._places = steepness[:, :dims].copy(), places[:, :dims].copy()

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        unit = (np.concatenate([x, c], axis=1) + 1) / 2
        sums = -(DEPTHS * _wells(unit, self._steepness, self._places)).sum(axis=1)
        return (1.1 + sums) / 0.839 if self.dims == 4 else sums

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the best knobs and their f, to rounding; see ``Objective.solve``.

        Where the derivative of f is 0, each knob is a mean of the wells' places, weighted by steepness and by how much
        of f each well makes there (Ray and Lindsay 2005, "The topography of multivariate normal mixtures"). So starts
        with all combinations of four weights pass by every minimum, whatever the number of knobs. Mean shift, in which
        each step takes the weights of the point before, then descends from the best of them.
        """
        steepness, places = self._steepness[:, : self.knobs], self._places[:, : self.knobs]
        given = DEPTHS * _wells((c + 1) / 2, self._steepness[:, self.knobs :], self._places[:, self.knobs :])

        def mean_place(weights: np.ndarray) -> np.ndarray:
            return (weights @ (steepness * places)) / (weights @ steepness)

        starts = mean_place(_weights())
        depths = given @ _wells(starts, steepness, places).T
        z = starts[np.argsort(-depths, axis=1, kind="stable")[:, :SEARCHES]]
        for _ in range(STEPS):
            z = mean_place(given[:, None] * _wells(z, steepness, places))
        found = (given[:, None] * _wells(z, steepness, places)).sum(axis=2)
        return self._solution(2 * z[np.arange(len(c)), np.argmax(found, axis=1)] - 1, c)


def _wells(z: np.ndarray, steepness: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Returns each well's share of its depth, ``[..., 4]``, at some raw coordinates ``[..., k]``.

    Args:
        z: raw coordinates, in [0, 1].
        steepness, places: parameters of the wells in these coordinates, ``[4, k]``.
    """
    return np.exp(-(steepness * (z[..., None, :] - places) ** 2).sum(axis=-1))


def _weights() -> np.ndarray:
    """Returns all combinations of four weights in steps of 1 / ``PARTS`` whose sum is 1, ``[n, 4]``."""
    parts = np.stack(np.meshgrid(*[np.arange(PARTS + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    parts = parts[parts.sum(axis=1) <= PARTS]
    return np.concatenate([parts, PARTS - parts.sum(axis=1, keepdims=True)], axis=1) / PARTS
