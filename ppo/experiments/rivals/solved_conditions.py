"""Solves some conditions one by one, each from what solves its neighbours, and interpolates the knobs between them."""

from collections.abc import Callable

import numpy as np

from ppo.experiments.rivals.metered import Metered, RivalLaw

EACH = 15  # evaluations at one condition, for each knob and once more
LEAST = 10  # evaluations at one condition where there would be too few conditions otherwise
FIRST = 3  # times as many at the first condition, which has no neighbour
NEIGHBOURS = 3  # solved conditions from whose knobs a search may start
Function = Callable[[np.ndarray], np.ndarray]
"""f at one condition: knobs ``[n, knobs]`` -> values ``[n]``."""
Solver = Callable[[Function, np.ndarray | None, int, int, int], np.ndarray]
"""``(f, start, evaluations, knobs, seed) -> knobs``: a search at one condition, from knobs ``[knobs]`` or from none."""


def solve_and_interpolate(objective: Metered, evaluations: int, seed: int, solve: Solver) -> RivalLaw:
    """Solves conditions of a Latin hypercube and interpolates by thin plate splines.

    The first condition is the one nearest to the centre, and the next is always the one nearest to a solved one. With
    too few conditions for a spline the law takes the knobs of the nearest one.

    Args:
        objective: what to ask for f.
        evaluations: what to spend, which sets the number of conditions.
        seed: seed of conditions and searches.
        solve: search at one condition.
    """
    from scipy.interpolate import RBFInterpolator
    from scipy.stats import qmc

    wanted = evaluations // (EACH * (objective.knobs + 1)) - (FIRST - 1)
    m = max(1, wanted, min(2 * (objective.conditions + 1), evaluations // LEAST - (FIRST - 1)))
    each = evaluations // (m + FIRST - 1)
    c = 2 * qmc.LatinHypercube(objective.conditions, rng=seed).random(m) - 1
    distances = np.linalg.norm(c[:, None] - c, axis=2)
    first = int(np.argmin(np.linalg.norm(c, axis=1)))
    x, solved = np.empty((m, objective.knobs)), [first]
    x[first] = solve(_at(objective, c[first]), None, evaluations - each * (m - 1), objective.knobs, seed)
    for number in range(1, m):
        left = np.setdiff1d(np.arange(m), solved)
        at = left[np.argmin(distances[left][:, solved].min(axis=1))]
        near = np.array(solved)[np.argsort(distances[at, solved], kind="stable")[:NEIGHBOURS]]
        f = _at(objective, c[at])
        start = x[near[np.argmin(f(x[near]))]]
        x[at] = solve(f, start, each - len(near), objective.knobs, seed + number)
        solved.append(at)
    if m <= objective.conditions + 1:
        return lambda query: x[np.argmin(np.linalg.norm(query[:, None] - c, axis=2), axis=1)]
    spline = RBFInterpolator(c, x)
    return lambda query: np.clip(spline(query), -1, 1)


def _at(objective: Metered, c: np.ndarray) -> Function:
    return lambda x: objective(x, np.tile(c, (len(x), 1)))
