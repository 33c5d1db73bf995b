"""The minimum of an objective that is cheap to evaluate, found numerically."""

import numpy as np

from env.objectives.base import Objective

GRID_POINTS = 4001  # along one knob; its square root along each of two
SOBOL_POINTS = 4096
POLISHED = 16  # best starts that are polished, for each condition


def solve_numerically(objective: Objective, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimises ``objective`` over its knobs for each row of ``c``.

    One or two knobs: a dense grid. More: a Sobol set. The best points of either are polished by L-BFGS-B inside
    the bounds (SciPy), which takes a smooth f to about 1e-12 of its minimum. Deterministic; costs thousands of
    evaluations a row, so it is not meant for an expensive black box.

    Args:
        objective: f, evaluated outside of any count or added cost.
        c: conditions, ``[m, conditions]``.

    Returns:
        Best knobs ``[m, knobs]`` and their f ``[m]``.
    """
    candidates = _candidates(objective.knobs)
    starts = []
    for row in c:
        values = objective(candidates, np.broadcast_to(row, (len(candidates), len(row))))
        starts.append(candidates[np.argsort(values, kind="stable")[:POLISHED]])
    return polish(objective, np.stack(starts), c)


def polish(objective: Objective, starts: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Searches locally from each of ``starts`` ``[m, s, knobs]``, and returns the best knobs and f for each row."""
    from scipy.optimize import minimize  # here, since only who needs it should pay for it

    best_x, best_f = starts[:, 0].copy(), objective(starts[:, 0], c)
    for i, row in enumerate(c):

        def f(x: np.ndarray, row: np.ndarray = row) -> float:
            return float(objective(x[None], row[None])[0])

        for start in starts[i]:
            bounds = [(-1, 1)] * objective.knobs
            found = minimize(f, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 0, "gtol": 1e-9})
            if found.fun < best_f[i]:
                best_x[i], best_f[i] = found.x, found.fun
    return best_x, best_f


def _candidates(knobs: int) -> np.ndarray:
    """Points of [-1, 1]^knobs to start from, ``[points, knobs]``."""
    if knobs <= 2:
        side = GRID_POINTS if knobs == 1 else 201
        axes = np.meshgrid(*[np.linspace(-1, 1, side)] * knobs, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)
    from scipy.stats import qmc

    return 2 * qmc.Sobol(knobs, scramble=False).random(SOBOL_POINTS) - 1
