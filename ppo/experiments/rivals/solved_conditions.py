"""Solves some conditions one by one, each from what solves others, and interpolates the knobs between them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppo.experiments.rivals.metered import Metered, RivalLaw

EACH, UP_TO = 15, 150  # evaluations at one condition, for each knob and once more, where there are up to so many in all
GROWTH = 0.25  # power of the evaluations with which those at one condition grow beyond
LEAST = 10  # evaluations at one condition where there would be too few conditions otherwise
FIRST, FIRST_SHARE = 3, 0.1  # evaluations at the first condition: times those at another one, or a share of all if more
NEIGHBOURS, OTHERS = 3, 2  # solved conditions, the nearest and random ones, whose knobs a search may start from
START_SHARE, CHECK_SHARE = 1 / 8, 1 / 5  # the most of the evaluations at one condition to choose a start, and to check
Function = Callable[[np.ndarray], np.ndarray]
"""f at one condition: knobs ``[n, knobs]`` -> values ``[n]``."""
Solver = Callable[[Function, np.ndarray | None, int, int, int], tuple[np.ndarray, float]]
"""``(f, start, evaluations, knobs, seed) -> (knobs, value)``: a search at one condition, from knobs ``[knobs]`` or
none, and the best that it evaluated."""


@dataclass(frozen=True)
class Plan:
    """What to spend where.

    Attributes:
        m: number of conditions to solve.
        each: evaluations at one condition but the first, with those of the check.
        searches: searches at the first condition, whose best one counts.
        check: evaluations at each condition after all are solved: of its neighbours' knobs and the spline's; 0 for no
            check.
    """

    m: int
    each: int
    searches: int
    check: int

    @classmethod
    def of(cls, evaluations: int, knobs: int, conditions: int) -> "Plan":
        """Returns the plan for a number of evaluations."""
        per = EACH * max(1.0, evaluations / (UP_TO * (knobs + 1))) ** GROWTH
        solvable = int(evaluations / (per * (knobs + 1))) - (FIRST - 1)
        m = max(1, solvable, min(2 * (conditions + 1), evaluations // LEAST - (FIRST - 1)))
        first = max(FIRST, int(FIRST_SHARE * m))
        m = max(1, m - (first - FIRST))
        each, check = evaluations // (m + first - 1), NEIGHBOURS + 1
        checked = m > conditions + 2 and check <= CHECK_SHARE * each  # a spline without one needs conditions + 1
        return cls(m, each, first // FIRST, check if checked else 0)


def solve_and_interpolate(objective: Metered, evaluations: int, seed: int, solve: Solver) -> RivalLaw:
    """Solves conditions of a Latin hypercube and interpolates by thin plate splines, or takes the nearest one's knobs.

    The first condition is the one nearest to the centre, and the next is always the one nearest to a solved one. When
    all are solved, each one tries the knobs of its nearest neighbours, since theirs may lie in a better valley, and
    those of a spline through all others. If the nearest neighbour's are better there than the spline's, on average, the
    law takes the nearest condition's knobs, as it does with too few conditions for a spline.

    Args:
        objective: what to ask for f.
        evaluations: what to spend, which sets the number of conditions.
        seed: seed of conditions and searches.
        solve: search at one condition.
    """
    from scipy.interpolate import RBFInterpolator
    from scipy.spatial.distance import cdist
    from scipy.stats import qmc

    plan = Plan.of(evaluations, objective.knobs, objective.conditions)
    c = 2 * qmc.LatinHypercube(objective.conditions, rng=seed).random(plan.m) - 1
    distances = cdist(c, c)
    x, f = _solved(objective, c, distances, plan, evaluations, seed, solve)
    splines = plan.m > objective.conditions + 1
    if plan.check:
        x, splines = _checked(objective, c, distances, x, f)
    if not splines:
        return lambda query: x[np.argmin(cdist(query, c), axis=1)]
    spline = RBFInterpolator(c, x)
    return lambda query: np.clip(spline(query), -1, 1)


def _solved(
    objective: Metered, c: np.ndarray, distances: np.ndarray, plan: Plan, evaluations: int, seed: int, solve: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the knobs found for the conditions, ``[m, knobs]``, and their f, ``[m]``."""
    m, knobs, rng = len(c), objective.knobs, np.random.default_rng(seed)
    x, f = np.empty((m, knobs)), np.full(m, np.inf)
    first = int(np.argmin(np.linalg.norm(c, axis=1)))
    search = (evaluations - plan.each * (m - 1) - plan.check) // plan.searches
    for number in range(plan.searches):
        found, value = solve(_at(objective, c[first]), None, search, knobs, seed + m * number)
        if value < f[first]:
            x[first], f[first] = found, value
    solved = [first]
    for number in range(1, m):
        left = np.setdiff1d(np.arange(m), solved)
        at = left[np.argmin(distances[left][:, solved].min(axis=1))]
        order = np.array(solved)[np.argsort(distances[at, solved], kind="stable")]
        others = rng.permutation(order[NEIGHBOURS:])[:OTHERS]
        starts = np.concatenate([order[:NEIGHBOURS], others])[: max(1, int(START_SHARE * plan.each))]
        here = _at(objective, c[at])
        values = here(x[starts])
        start = x[starts[np.argmin(values)]]
        found, value = solve(here, start, plan.each - len(starts) - plan.check, knobs, seed + number)
        x[at], f[at] = (found, value) if value < values.min() else (start, values.min())
        solved.append(at)
    return x, f


def _checked(
    objective: Metered, c: np.ndarray, distances: np.ndarray, x: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Returns the knobs ``[m, knobs]`` after each condition has tried others', and whether splines are better."""
    from scipy.interpolate import RBFInterpolator

    better, nearest, spline = x.copy(), 0.0, 0.0
    for at, order in enumerate(np.argsort(distances, axis=1, kind="stable")):
        others = np.setdiff1d(np.arange(len(c)), at)
        between = np.clip(RBFInterpolator(c[others], x[others])(c[[at]]), -1, 1)
        tried = np.concatenate([x[order[order != at][:NEIGHBOURS]], between])
        values = _at(objective, c[at])(tried)
        nearest, spline = nearest + values[0], spline + values[-1]
        if values.min() < f[at]:
            better[at] = tried[values.argmin()]
    return better, spline <= nearest


def _at(objective: Metered, c: np.ndarray) -> Function:
    return lambda x: objective(x, np.tile(c, (len(x), 1)))
