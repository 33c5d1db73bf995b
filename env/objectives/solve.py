"""Finds the minimum of an objective that is cheap to evaluate."""

import numpy as np

from env.objectives.base import Objective
from env.objectives.evaluation import evaluate

GRID_POINTS = 4001  # on the grid of a single knob; two knobs have 201 each
SOBOL_POINTS = 4096
POLISHED = 16  # number of best candidates, for each condition, from which a local search starts


def solve_numerically(objective: Objective, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimises ``objective`` over its knobs for each row of ``c``.

    Candidates are a dense grid for one or two knobs, and a Sobol set for more. SciPy's L-BFGS-B then searches from the
    best of them, inside the bounds, which takes a smooth f to about 1e-12 of its minimum. The result is deterministic.
    A row costs thousands of evaluations, so this is not meant for an expensive black box.

    Args:
        objective: the objective f; these evaluations are not counted and have no added latency.
        c: conditions, ``[m, conditions]``.

    Returns:
        Best knobs ``[m, knobs]`` and their f ``[m]``.
    """
    candidates = _candidates(objective.knobs)
    starts = []
    for row in c:
        values = evaluate(objective, candidates, np.broadcast_to(row, (len(candidates), len(row))))
        starts.append(candidates[np.argsort(values, kind="stable")[:POLISHED]])
    return polish(objective, np.stack(starts), c)


def polish(objective: Objective, starts: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimises f locally from each of the starts of each row.

    Args:
        objective: the objective f.
        starts: knobs to start from, ``[m, s, knobs]``.
        c: conditions, ``[m, conditions]``.

    Returns:
        Best knobs ``[m, knobs]`` and their f ``[m]``.
    """
    from scipy.optimize import minimize  # imported here, since it is slow to load and rarely needed

    best_x, best_f = starts[:, 0].copy(), evaluate(objective, starts[:, 0], c)
    for i, row in enumerate(c):

        def f(x: np.ndarray, row: np.ndarray = row) -> float:
            return float(evaluate(objective, x[None], row[None])[0])

        for start in starts[i]:
            bounds = [(-1, 1)] * objective.knobs
            found = minimize(f, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 0, "gtol": 1e-9})
            if found.fun < best_f[i]:
                best_x[i], best_f[i] = found.x, found.fun
    return best_x, best_f


def _candidates(knobs: int) -> np.ndarray:
    """Returns candidates ``[points, knobs]`` that fill [-1, 1]^knobs."""
    if knobs <= 2:
        side = GRID_POINTS if knobs == 1 else 201
        axes = np.meshgrid(*[np.linspace(-1, 1, side)] * knobs, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)
    from scipy.stats import qmc

    return 2 * qmc.Sobol(knobs, scramble=False).random(SOBOL_POINTS) - 1
