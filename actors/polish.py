"""The polish of a law's knobs at one condition: a search near to them by f itself, with few evaluations.

A Gaussian process of the last evaluations gives the next one: the knobs of which it expects least within a trust
region, which narrows around the best so far. So a smooth valley is followed as if by a quadratic, and one with a kink,
or in decibels, is too. Knobs that keep all constraints come first; each constraint has a process of its own. It needs
NumPy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from actors.local_process import LocalProcess, likeliest
from env.coordinates import snapped
from env.words import described

RADIUS = 0.1
"""Half of the width of the first trust region, in [-1, 1]."""
KEPT = (4, 2)  # evaluations that the process takes, those nearest to the best: so many for each knob, and more
NOISY = 1e-6  # above which it is the process that says which evaluation was the best
SPREAD, NEARBY, REFINEMENTS = 400, 100, 14  # of the search of the process
GROWTH, SHRINKAGE = 1.5, 0.6  # of the trust region
STEEPNESS = 100.0  # of what is expected beyond a constraint, in ranges of f for a range of the constraint


@dataclass(frozen=True)
class Found:
    """What a polish found.

    Attributes:
        knobs: the best ones, ``[knobs]`` in [-1, 1].
        value: f there, as it was measured.
        given: f at the knobs that it began with.
        evaluations: evaluations of f.
    """

    knobs: np.ndarray
    value: float
    given: float
    evaluations: int


def polish(f: Callable[[np.ndarray], Any], knobs: np.ndarray, steps: np.ndarray, budget: int) -> Found:
    """Searches for better knobs near to some, and returns the best evaluated ones: never worse than those given.

    Where f has noise, they are the best ones by the process, of those that were measured to be no worse than those
    given.

    Args:
        f: takes knobs ``[knobs]`` in [-1, 1] and returns f, or f and its constraints; NaN where it fails.
        knobs: to begin with.
        steps: distances between the values that each knob can have, 0 where it can have all, ``[knobs]``.
        budget: evaluations of f at the most, the first one of ``knobs`` included.
    """
    search = _Search(f, knobs, steps, budget)
    search.probe()
    while search.left and search.step():
        pass
    return search.found()


def _numbers(values: Any) -> np.ndarray:
    """Returns what a user's function returned as numbers, ``[n]``.

    Raises:
        TypeError: they are none.
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "fiub":
        raise TypeError
    return np.ravel(array).astype(np.float64)


class _Search:
    """The state of one polish; see ``polish`` for the arguments."""

    def __init__(self, f: Callable[[np.ndarray], Any], knobs: np.ndarray, steps: np.ndarray, budget: int):
        self._f, self._steps, self._budget = f, steps, budget
        self._radius, self._rng, self._noise = RADIUS, np.random.default_rng(0), 0.0
        self._points, self._values = np.empty((0, len(knobs))), np.empty(0)
        self._constraints: list[np.ndarray] = []
        self._evaluate(snapped(np.clip(knobs, -1, 1), steps))

    @property
    def left(self) -> int:
        """Evaluations that are left."""
        return self._budget - len(self._values)

    def _evaluate(self, point: np.ndarray) -> None:
        returned = self._f(point)
        try:
            value, beside = returned if isinstance(returned, tuple) else (returned, ())
            (value,), constraints = _numbers(value).tolist(), _numbers(beside)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"f returned {described(returned)}; it must return a number, or f and its constraints"
            ) from None
        failed = not (np.isfinite(value) and np.isfinite(constraints).all())
        self._points = np.concatenate([self._points, point[None]])
        self._values = np.append(self._values, np.inf if failed else value)
        if not failed and np.isinf(self._values[:-1]).all():  # what failed may not have said how many there are
            self._constraints = [np.zeros(len(constraints))] * len(self._constraints)
        count = len(self._constraints[-1]) if failed and self._constraints else len(constraints)
        self._constraints.append(np.zeros(count) if failed else constraints)

    @property
    def _broken(self) -> np.ndarray:
        """By how much each evaluation breaks the constraints, ``[n]``."""
        return np.maximum(np.stack(self._constraints), 0.0).sum(axis=1)

    @property
    def _best(self) -> int:
        """Number of the best evaluation: of those that keep the constraints if there is one."""
        return int(np.lexsort([self._values, self._broken, np.isinf(self._values)])[0])

    def probe(self) -> None:
        """Evaluates both sides of the first knobs along each of them; one side where the budget is small."""
        first, knobs = self._points[0], self._points.shape[1]
        signs = (1, -1) if 2 * knobs < self._budget else (1,)
        for j, sign in product(range(knobs), signs):
            point = first.copy()
            move = max(self._radius, self._steps[j])
            point[j] += sign * move if abs(first[j] + sign * move) <= 1 else -0.5 * sign * move
            point = snapped(np.clip(point, -1, 1), self._steps)
            if self.left and not (self._points == point).all(axis=1).any():
                self._evaluate(point)

    def step(self) -> bool:
        """Evaluates the knobs of which the process expects least in the trust region, and changes its size.

        Returns:
            Whether there were any that had not been evaluated yet.
        """
        best = self._best
        centre = self._points[best]
        if (point := self._proposal(centre)) is None:
            return False
        moved = float(np.abs(point - centre).max())
        self._evaluate(point)
        if self._best != best:
            far = moved >= 0.9 * self._radius
            self._radius = GROWTH * self._radius if far else max(2 * moved, self._radius / 4)
        else:
            self._radius = max(SHRINKAGE * self._radius, min(self._radius, 2 * moved) / 2)
        return True

    def _proposal(self, centre: np.ndarray) -> np.ndarray | None:
        """Returns the knobs to evaluate next; ones drawn at random where the best ones were evaluated before.

        Where knobs have steps, it returns None if all of them were.
        """
        low, high = ((bound - centre) / self._radius for bound in (-1.0, 1.0))
        low, high = np.maximum(low, -1), np.minimum(high, 1)
        expected = self._expectation(centre)
        unit = self._rng.random((SPREAD, len(centre)))
        if expected is not None:
            best, scale = low + (high - low) * unit, 0.3
            best = best[expected(best).argmin()]
            for _ in range(REFINEMENTS):
                tried = np.clip(best + scale * self._rng.standard_normal((NEARBY, len(centre))), low, high)
                tried[0] = best
                best, scale = tried[expected(tried).argmin()], 0.6 * scale
            point = snapped(np.clip(centre + self._radius * best, -1, 1), self._steps)
            if np.abs(self._points - point).max(axis=1).min() > 1e-6 * self._radius:
                return point
        near = np.clip(centre + self._radius * (low + (high - low) * unit) / 3, -1, 1)
        steps = np.clip(centre + np.maximum(self._radius, self._steps) * (2 * unit - 1), -1, 1)
        for row in (*near, *steps):  # near to a whole number there may be no other one
            point = snapped(row, self._steps)
            if not (self._points == point).all(axis=1).any():
                return point
        return None

    def _near(self, centre: np.ndarray) -> np.ndarray:
        """Returns the numbers of the evaluations that are nearest to a point, and did not fail."""
        distances = np.where(np.isfinite(self._values), np.abs(self._points - centre).max(axis=1), np.inf)
        near = np.argsort(distances, kind="stable")[: KEPT[0] * len(centre) + KEPT[1]]
        return near[np.isfinite(distances[near])]

    def _process(self, centre: np.ndarray, values: np.ndarray) -> LocalProcess | None:
        """Returns the likeliest process of values ``[n]`` about a point; None where too few are known."""
        near = self._near(centre)
        if len(near) < 3:
            return None
        return likeliest((self._points[near] - centre) / self._radius, values[near])

    def _expectation(self, centre: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns what is expected of knobs in the trust region, ``[m, knobs]``; None where too little is known."""
        process = self._process(centre, self._values)
        limits = [self._process(centre, column) for column in np.stack(self._constraints).T]
        if process is None:
            return None
        self._noise = process.noise

        def expected(at: np.ndarray) -> np.ndarray:
            found = process.mean(at)
            for limit in limits:
                if limit is not None:
                    found = found + STEEPNESS * np.maximum(limit.mean(at) - limit.stretched(0.0), 0.0)
            return found

        return expected

    def found(self) -> Found:
        """Returns the best knobs so far."""
        best = self._best
        if self._noise > NOISY and (process := self._process(self._points[best], self._values)) is not None:
            expected = process.mean((self._points - self._points[best]) / self._radius)
            # A kink may look like noise: what was measured to be worse than the first knobs is not taken.
            same = self._broken == self._broken[0]
            worse = (self._broken > self._broken[0]) | (same & (self._values > self._values[0]))
            best = int(np.lexsort([expected, self._broken, worse | np.isinf(self._values)])[0])
        return Found(self._points[best], float(self._values[best]), float(self._values[0]), len(self._values))
