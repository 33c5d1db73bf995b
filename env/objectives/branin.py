"""Branin's function, with either of its two coordinates tuned."""

import numpy as np

from env.errors import UsageError
from env.objectives.benchmarks import Benchmark

CURVE, SLOPE, SWING = 5.1 / (4 * np.pi**2), 5 / np.pi, 10 * (1 - 1 / (8 * np.pi))
GRID_POINTS = 1001  # of the first coordinate; neighbouring minima lie hundreds of them apart
HALVINGS = 60  # of an interval between two of them, which end below the resolution of a float


class Branin(Benchmark):
    """Branin's function on x1 in [-5, 10] and x2 in [0, 15] (Branin 1972); one knob and one condition.

    f = (x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos(x1) + 10. Its minimum, 10 / (8 pi) =
    0.397887, lies at (-pi, 12.275), (pi, 2.275) and (3 pi, 2.475). With x2 given, the best x1 jumps twice as x2 grows;
    with x1 given, the best x2 follows it without a jump.

    Args:
        dims: number of coordinates, which is 2.
        knobs: number of knobs, which is 1.
        given: the coordinate that is given, 1 or 2; the other one is tuned.

    Raises:
        UsageError: one of them has another value.
    """

    vectorised = True

    def __init__(self, dims: int = 2, knobs: int = 1, given: int = 2):
        if dims != 2:
            raise UsageError(f"--dims {dims}: must be 2, the number of coordinates of Branin's function")
        if given not in (1, 2):
            raise UsageError(f"--env-kwargs given={given}: must be 1 or 2, the coordinate that is given")
        super().__init__(dims, knobs)
        self.given = given

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        knob, condition = x[:, 0], c[:, 0]
        x1, x2 = (knob, condition) if self.given == 2 else (condition, knob)
        first, second = 15 * (x1 + 1) / 2 - 5, 15 * (x2 + 1) / 2
        return _bowl(first, second) ** 2 + SWING * np.cos(first) + 10

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the best knobs and their f, to rounding; see ``Objective.solve``."""
        if self.given == 2:
            return self._solution(2 * (_best_first(15 * (c + 1) / 2) + 5) / 15 - 1, c)
        second = -_bowl(15 * (c + 1) / 2 - 5, np.zeros_like(c))  # where the square is 0
        return self._solution(np.clip(2 * second / 15 - 1, -1, 1), c)


def _bowl(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the term that is squared in f, of raw coordinates."""
    return second - CURVE * first**2 + SLOPE * first - 6


def _slope(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the derivative of f by its first raw coordinate."""
    return 2 * _bowl(first, second) * (SLOPE - 2 * CURVE * first) - SWING * np.sin(first)


def _best_first(second: np.ndarray) -> np.ndarray:
    """Returns the best raw x1 ``[m, 1]`` for raw x2 ``[m, 1]``.

    Each minimum inside the bounds lies where the derivative changes its sign from - to +. A grid brackets all of them,
    and halving the brackets finds them; the best of them and of the two ends is the solution.
    """
    grid = np.linspace(-5, 10, GRID_POINTS)
    slope = _slope(grid, second)
    rows, index = np.nonzero((slope[:, :-1] < 0) & (slope[:, 1:] >= 0))
    low, high, across = grid[index], grid[index + 1], second[rows, 0]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        falls = _slope(middle, across) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    count = len(second)
    rows = np.concatenate([rows, np.arange(count), np.arange(count)])
    first = np.concatenate([high, np.full(count, -5.0), np.full(count, 10.0)])
    values = _bowl(first, second[rows, 0]) ** 2 + SWING * np.cos(first)
    order = np.lexsort((values, rows))
    _, best = np.unique(rows[order], return_index=True)
    return first[order][best][:, None]
