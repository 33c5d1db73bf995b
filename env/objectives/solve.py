"""The minimum of an objective that is cheap to evaluate, found numerically."""

import numpy as np

from env.objectives.base import Objective

GRID_POINTS = 4001  # along one knob; its square root along each of two
SOBOL_POINTS = 4096
POLISHED = 8  # best starts that are polished, for each condition


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
    solutions = [_solve_row(objective, row, candidates) for row in np.atleast_2d(c)]
    return np.stack([x for x, _ in solutions]), np.array([f for _, f in solutions])


def _candidates(knobs: int) -> np.ndarray:
    """Points of [-1, 1]^knobs to start from, ``[points, knobs]``."""
    if knobs <= 2:
        side = GRID_POINTS if knobs == 1 else 201
        axes = np.meshgrid(*[np.linspace(-1, 1, side)] * knobs, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)
    from scipy.stats import qmc  # here, since it takes most of a second to load

    return 2 * qmc.Sobol(knobs, scramble=False).random(SOBOL_POINTS) - 1


def _solve_row(objective: Objective, c: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, float]:
    from scipy.optimize import minimize

    def f(x: np.ndarray) -> float:
        return float(objective(x[None], c[None])[0])

    values = objective(candidates, np.broadcast_to(c, (len(candidates), len(c))))
    best = candidates[np.argmin(values)], float(np.min(values))
    for start in candidates[np.argsort(values, kind="stable")[:POLISHED]]:
        polished = minimize(
            f, start, method="L-BFGS-B", bounds=[(-1, 1)] * objective.knobs, options={"ftol": 0, "gtol": 1e-9}
        )
        if polished.fun < best[1]:
            best = polished.x, float(polished.fun)
    return best
