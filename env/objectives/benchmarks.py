"""The base class of benchmark functions, and Ackley, a shifted Ackley, Rosenbrock and Sphere, in n dimensions.

The first ``knobs`` coordinates are tuned, the rest are conditions. Raw coordinates in [-b, b] are normalised to
[-1, 1] by raw = b * x.
"""

from typing import ClassVar

import numpy as np

from env.errors import UsageError
from env.objectives.base import Objective
from env.objectives.solve import polish

CHAIN_POINTS = 801  # grid points of each knob


class Benchmark(Objective):
    """A function of ``dims`` coordinates, of which the first ``knobs`` are tuned.

    Where it is one on [-bound, bound]^dims, ``raw`` is all that it defines; else it defines ``__call__``.
    """

    bound: ClassVar[float]
    vectorised = True

    def __init__(self, dims: int = 2, knobs: int = 1):
        if dims < 2:
            raise UsageError(f"--dims {dims}: at least 2 are needed, one knob and one condition")
        if not 1 <= knobs < dims:
            raise UsageError(
                f"--knobs {knobs}: must be from 1 to {dims - 1} with --dims {dims}, which leaves a condition"
            )
        self.knobs = knobs
        self.conditions = dims - knobs

    def raw(self, z: np.ndarray) -> np.ndarray:
        """Returns f ``[n]`` of raw coordinates ``[n, dims]``."""
        raise NotImplementedError

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        return self.raw(self.bound * np.concatenate([x, c], axis=1))

    def _solution(self, x: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns knobs ``[m, knobs]`` and their f ``[m]``."""
        return x, self(x, c)


class Ackley(Benchmark):
    """Ackley's function on [-32.768, 32.768]^n; minimum 0 at 0 (Ackley 1987; a=20, b=0.2, c=2 pi).

    Whatever the other coordinates are, each of its two terms is least at z_i = 0. So the best knobs are 0 under all
    conditions: the best law is constant.
    """

    bound = 32.768

    def raw(self, z: np.ndarray) -> np.ndarray:
        dims = z.shape[1]
        radius = np.sqrt((z * z).sum(axis=1) / dims)
        ripple = np.cos(2 * np.pi * z).sum(axis=1) / dims
        return -20 * np.exp(-0.2 * radius) - np.exp(ripple) + 20 + np.e

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._solution(np.zeros((len(c), self.knobs)), c)


class ShiftedAckley(Ackley):
    """Ackley's function of the knobs alone, displaced by ``shift(c)``; minimum 0 at knobs that change with c.

    The conditions only displace the function. As its coordinates they would flatten it wherever they are not near 0,
    and a law that ignores them would have nearly the error of the best one.
    """

    vectorised = True

    def shift(self, c: np.ndarray) -> np.ndarray:
        """Returns the best knobs ``[n, knobs]``, in [-0.5, 0.5].

        Knob j follows the mean of conditions j and j + 1, counted cyclically.
        """
        j = np.arange(self.knobs)
        drive = 0.5 * (c[:, j % self.conditions] + c[:, (j + 1) % self.conditions])
        return 0.5 * np.sin(0.5 * np.pi * drive + j)

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        return self.raw(self.bound * (x - self.shift(c)))

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._solution(self.shift(c), c)


class Rosenbrock(Benchmark):
    """Rosenbrock's function on [-2.048, 2.048]^n; minimum 0 at 1 (Rosenbrock 1960)."""

    bound = 2.048
    metric = "msle"

    def raw(self, z: np.ndarray) -> np.ndarray:
        here, after = z[:, :-1], z[:, 1:]
        return np.sum(100 * (after - here * here) ** 2 + (1 - here) ** 2, axis=1)

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the best knobs and their f; see ``Objective.solve``.

        With one raw knob z and the first raw condition y, the stationary points are the real roots of
        400 z^3 + (2 - 400 y) z - 2.
        """
        if self.knobs > 1:
            return self._solve_chain(c)
        roots = [np.roots([400, 0, 2 - 400 * y, -2]) for y in self.bound * c[:, 0]]
        real = np.stack([np.where(np.abs(r.imag) < 1e-9, r.real, self.bound) for r in roots])
        candidates = np.concatenate([np.clip(real / self.bound, -1, 1), np.tile([-1.0, 1.0], (len(c), 1))], axis=1)
        values = np.stack([self(column[:, None], c) for column in candidates.T], axis=1)
        best = np.argmin(values, axis=1)
        return self._solution(candidates[np.arange(len(c)), best][:, None], c)

    def _solve_chain(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solves for several knobs, each of which is coupled to its neighbours alone.

        Dynamic programming over a grid of each knob in turn finds the valley of the global minimum, which local
        searches from elsewhere may miss; a local search then finds the minimum in it.
        """
        z = np.linspace(-self.bound, self.bound, CHAIN_POINTS)
        cost, choices = np.zeros(CHAIN_POINTS), []
        for _ in range(self.knobs - 1):  # cost[i] is the least sum of the terms before a knob whose value is z[i]
            totals = cost[:, None] + 100 * (z - z[:, None] ** 2) ** 2 + (1 - z[:, None]) ** 2
            choices.append(np.argmin(totals, axis=0))
            cost = np.min(totals, axis=0)
        starts = np.empty((len(c), self.knobs))
        index = np.argmin(cost + 100 * (self.bound * c[:, :1] - z**2) ** 2 + (1 - z) ** 2, axis=1)
        for knob in reversed(range(self.knobs)):
            starts[:, knob] = z[index] / self.bound
            index = choices[knob - 1][index] if knob else index
        return polish(self, starts[:, None], c)


class Sphere(Benchmark):
    """The sum of squares on [-5.12, 5.12]^n; minimum 0 at 0. The best knobs are 0: the best law is constant."""

    bound = 5.12

    def raw(self, z: np.ndarray) -> np.ndarray:
        return np.sum(z * z, axis=1)

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._solution(np.zeros((len(c), self.knobs)), c)
