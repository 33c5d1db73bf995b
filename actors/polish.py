"""The polish of a law's knobs at one condition: a search near to them by f itself, with few evaluations.

A Gaussian process of the last evaluations gives the next one: the knobs of which it expects least within a trust
region, which narrows around the best so far. Its kernel, its length and a stretching of f are chosen by the marginal
likelihood at each step (Rasmussen & Williams 2006, eq. 5.8), so that a smooth valley is followed as if by a quadratic,
and one with a kink, or in decibels, is too. It needs NumPy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from actors.kernels import matern, rbf, squared_distances
from env.coordinates import snapped

RADIUS = 0.1
"""Half of the width of the first trust region, in [-1, 1]."""
KEPT = 12  # evaluations that the process takes at the least, the nearest ones to the best
LENGTHS = (0.7, 1.5, 3.0, 6.0, 12.0, 25.0)  # in units of the trust region
STRETCHES = (0.0, 1.0, 3.0, 9.0)  # f over its range goes through (exp(s f) - 1) / (exp(s) - 1)
NOISES = (1e-9, 1e-3, 3e-2)  # variance of the noise, as a share of that of f
NOISY = 1e-6  # above which it is the process that says which evaluation was the best
SPREAD, NEARBY, REFINEMENTS = 400, 100, 14  # of the search of the process
GROWTH, SHRINKAGE = 1.5, 0.6  # of the trust region


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


@dataclass(frozen=True)
class LocalProcess:
    """A Gaussian process of a few evaluations, in coordinates in which the trust region is [-1, 1].

    Attributes:
        likelihood: logarithm of the marginal likelihood, up to a constant.
        noise: variance of the noise, as a share of that of f.
    """

    likelihood: float
    noise: float
    correlation: Callable[[np.ndarray], np.ndarray]
    length: float
    points: np.ndarray
    level: float
    weights: np.ndarray

    def mean(self, at: np.ndarray) -> np.ndarray:
        """Returns the stretched f expected at ``[m, knobs]``, ``[m]``."""
        squared = squared_distances(at, self.points) / self.length**2
        return self.level + self.correlation(squared) @ self.weights


def polish(f: Callable[[np.ndarray], float], knobs: np.ndarray, steps: np.ndarray, budget: int) -> Found:
    """Searches for better knobs near to some, and returns the best evaluated ones: never worse than those given.

    Where f has noise, they are the best ones by the process, if it does not expect less of those given.

    Args:
        f: takes knobs ``[knobs]`` in [-1, 1]; NaN where it fails.
        knobs: to begin with.
        steps: distances between the values that each knob can have, 0 where it can have all, ``[knobs]``.
        budget: evaluations of f at the most, the first one of ``knobs`` included.
    """
    search = _Search(f, knobs, steps, budget)
    search.probe()
    while search.left:
        search.step()
    return search.found()


class _Search:
    """The state of one polish; see ``polish`` for the arguments."""

    def __init__(self, f: Callable[[np.ndarray], float], knobs: np.ndarray, steps: np.ndarray, budget: int):
        self._f, self._steps, self._budget = f, steps, budget
        self._radius, self._rng = RADIUS, np.random.default_rng(0)
        self._points, self._values = np.empty((0, len(knobs))), np.empty(0)
        self._noise = 0.0
        self._evaluate(snapped(np.clip(knobs, -1, 1), steps))

    @property
    def left(self) -> int:
        """Evaluations that are left."""
        return self._budget - len(self._values)

    def _evaluate(self, point: np.ndarray) -> float:
        value = float(self._f(point))
        self._points = np.concatenate([self._points, point[None]])
        self._values = np.append(self._values, value if np.isfinite(value) else np.inf)
        return self._values[-1]

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

    def step(self) -> None:
        """Evaluates the knobs of which the process expects least in the trust region, and changes its size."""
        best = int(self._values.argmin())
        centre, before = self._points[best], self._values[best]
        point = self._proposal(centre)
        moved = float(np.abs(point - centre).max())
        if self._evaluate(point) < before:
            far = moved >= 0.9 * self._radius
            self._radius = GROWTH * self._radius if far else max(2 * moved, self._radius / 4)
        else:
            self._radius = max(SHRINKAGE * self._radius, min(self._radius, 2 * moved) / 2)

    def _proposal(self, centre: np.ndarray) -> np.ndarray:
        """Returns the knobs to evaluate next; ones drawn at random where the best ones were evaluated before."""
        low, high = ((bound - centre) / self._radius for bound in (-1.0, 1.0))
        low, high = np.maximum(low, -1), np.minimum(high, 1)
        process = self._process(centre)
        unit = self._rng.random((SPREAD, len(centre)))
        if process is not None:
            self._noise = process.noise
            best, scale = low + (high - low) * unit, 0.3
            best = best[process.mean(best).argmin()]
            for _ in range(REFINEMENTS):
                tried = np.clip(best + scale * self._rng.standard_normal((NEARBY, len(centre))), low, high)
                tried[0] = best
                best, scale = tried[process.mean(tried).argmin()], 0.6 * scale
            point = snapped(np.clip(centre + self._radius * best, -1, 1), self._steps)
            if np.abs(self._points - point).max(axis=1).min() > 1e-6 * self._radius:
                return point
        for row in unit:
            point = snapped(np.clip(centre + self._radius * (low + (high - low) * row) / 3, -1, 1), self._steps)
            if not (self._points == point).all(axis=1).any():
                break
        return point

    def _process(self, centre: np.ndarray) -> LocalProcess | None:
        """Returns the likeliest process of the evaluations that are nearest to a point; None where they are too few."""
        distances = np.where(np.isfinite(self._values), np.abs(self._points - centre).max(axis=1), np.inf)
        near = np.argsort(distances, kind="stable")[: max(KEPT, 2 * len(centre) + 6)]
        near = near[np.isfinite(distances[near])]
        if len(near) < 3 or np.ptp(self._values[near]) == 0:
            return None
        return likeliest((self._points[near] - centre) / self._radius, self._values[near])

    def found(self) -> Found:
        """Returns the best knobs so far."""
        best = int(self._values.argmin())
        if self._noise > NOISY and (process := self._process(self._points[best])) is not None:
            expected = process.mean((self._points - self._points[best]) / self._radius)
            best = int(np.where(np.isfinite(self._values), expected, np.inf).argmin())
        return Found(self._points[best], float(self._values[best]), float(self._values[0]), len(self._values))


def likeliest(points: np.ndarray, values: np.ndarray) -> LocalProcess | None:
    """Returns the process of most marginal likelihood among some; None where none can be factored.

    Args:
        points: ``[n, knobs]``, in units of the trust region.
        values: f there, ``[n]``, finite and not all the same.
    """
    squared, share = squared_distances(points, points), (values - values.min()) / np.ptp(values)
    stretched = {0.0: (share, 0.0)}
    for stretch in STRETCHES[1:]:
        slope = np.log(stretch) + stretch * share - np.log(np.expm1(stretch))
        stretched[stretch] = np.expm1(stretch * share) / np.expm1(stretch), float(slope.sum())
    best: LocalProcess | None = None
    for correlation, length, noise in product((rbf, matern), LENGTHS, NOISES):
        covariance = correlation(squared / length**2) + noise * np.eye(len(values))
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            continue
        ones = np.linalg.solve(factor, np.ones(len(values)))
        for targets, log_slope in stretched.values():
            solved = np.linalg.solve(factor, targets)
            level = float(ones @ solved / (ones @ ones))
            rest = solved - level * ones
            variance = max(float(rest @ rest) / len(values), 1e-300)
            likelihood = log_slope - 0.5 * len(values) * np.log(variance) - np.log(np.diag(factor)).sum()
            if best is None or likelihood > best.likelihood:
                weights = np.linalg.solve(factor.T, rest)
                best = LocalProcess(float(likelihood), noise, correlation, length, points, level, weights)
    return best
