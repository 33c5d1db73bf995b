"""Regret: how far f under a law is from its minimum, over conditions that are always the same."""

from dataclasses import dataclass

import numpy as np

from actors.law import Law
from env.objectives import Objective
from ppo.evaluation.conditions import fixed_conditions

LINE_POINTS = 201  # conditions on a line
SOBOL_POINTS = 256  # where there are several
KINDS = ("mean", "median", "p95", "worst")
CONSTANT_SEED = 0  # of the search for the best constant knobs


def regret_conditions(conditions: int) -> np.ndarray:
    """Returns the conditions at which regret is measured, ``[m, conditions]``."""
    return fixed_conditions(conditions, LINE_POINTS, SOBOL_POINTS)


@dataclass(frozen=True)
class Regret:
    """A law beside the true optimum.

    Attributes:
        conditions: ``[m, conditions]``.
        knobs: what the law sets, ``[m, knobs]``.
        values: f there, ``[m]``.
        best_knobs, best_values: the optimum, of the same shapes.
    """

    conditions: np.ndarray
    knobs: np.ndarray
    values: np.ndarray
    best_knobs: np.ndarray
    best_values: np.ndarray

    @property
    def regret(self) -> np.ndarray:
        """f under the law minus its minimum, ``[m]``; never below 0 but for the precision of the optimum."""
        return self.values - self.best_values

    def summary(self) -> dict[str, float]:
        """Returns mean, median, 95th percentile and worst regret, and the same of the minimum, to compare."""
        statistics = {}
        for name, values in (("regret", self.regret), ("minimum", self.best_values)):
            median, high = np.percentile(values, (50, 95))
            statistics[name] = (values.mean(), median, high, values.max())
        return {f"{name}_{kind}": float(statistics[name][i]) for name in statistics for i, kind in enumerate(KINDS)}


def measure_regret(objective: Objective, law: Law) -> Regret | None:
    """Measures the regret of a law; None where the optimum is not known."""
    conditions = regret_conditions(objective.conditions)
    solution = objective.solve(conditions)
    if solution is None:
        return None
    knobs = law(conditions)
    return Regret(conditions, knobs, np.asarray(objective(knobs, conditions)), *solution)


def constant_regret(objective: Objective) -> float:
    """Returns the median regret of the best constant knobs: those that minimise the mean of f over the same conditions.

    Found by differential evolution (SciPy), so it is as good as that search, and the same every time.
    """
    from scipy.optimize import differential_evolution

    conditions = regret_conditions(objective.conditions)
    solution = objective.solve(conditions)
    assert solution is not None, "asked only where the optimum is known"

    def mean_value(knobs: np.ndarray) -> float:
        return float(np.mean(objective(np.tile(knobs, (len(conditions), 1)), conditions)))

    found = differential_evolution(mean_value, [(-1, 1)] * objective.knobs, rng=CONSTANT_SEED, tol=1e-8, maxiter=300)
    return float(np.median(objective(np.tile(found.x, (len(conditions), 1)), conditions) - solution[1]))
