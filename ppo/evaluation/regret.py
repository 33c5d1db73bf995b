"""Regret: f under a law minus the minimum of f, over fixed conditions."""

from dataclasses import dataclass

import numpy as np

from actors.law import Law
from actors.law_file import About
from actors.snapshot import Snapshot
from actors.step_limit import StepLimit
from env.objectives import Objective, evaluate, solution
from env.objectives.returned import Failures
from ppo.algorithm.conditions import fixed_conditions
from ppo.algorithm.outcomes import with_worst
from ppo.config import ResolvedConfig

LINE_POINTS = 201  # points for a single condition
SOBOL_POINTS = 256  # points for several conditions
KINDS = ("mean", "median", "p95", "worst")
NOTHING = 1e-6  # share of a law's regret below which that of constant knobs is due to rounding, or to their search
CONSTANT_SEED = 0  # seed of the search for the best constant knobs


def regret_conditions(conditions: int) -> np.ndarray:
    """Returns the conditions at which regret is measured, ``[m, conditions]``."""
    return fixed_conditions(conditions, LINE_POINTS, SOBOL_POINTS)


@dataclass(frozen=True)
class Regret:
    """Knobs of a law, and f at them, beside the optimum.

    Attributes:
        conditions: conditions, ``[m, conditions]``.
        knobs: knobs of the law, ``[m, knobs]``.
        values: f at the knobs of the law, ``[m]``; NaN where it failed.
        best_knobs, best_values: best knobs, ``[m, knobs]``, and f at them, ``[m]``.
    """

    conditions: np.ndarray
    knobs: np.ndarray
    values: np.ndarray
    best_knobs: np.ndarray
    best_values: np.ndarray

    @property
    def regret(self) -> np.ndarray:
        """f under the law minus its minimum, ``[m]``; below 0 only by the error of the optimum."""
        return self.values - self.best_values

    @property
    def failed(self) -> int:
        """Number of conditions at which f failed under the law."""
        return int(np.isnan(self.values).sum())

    def summary(self) -> dict[str, float]:
        """Returns mean, median, 95th percentile and maximum, both of the regret and of the minimum of f.

        Where f failed under the law the regret is left out; all are NaN where that leaves nothing.
        """
        statistics = {}
        sound = self.regret[~np.isnan(self.values)] if self.failed < len(self.values) else self.regret
        for name, values in (("regret", sound), ("minimum", self.best_values)):
            median, high = np.percentile(values, (50, 95))
            statistics[name] = (values.mean(), median, high, values.max())
        return {f"{name}_{kind}": float(statistics[name][i]) for name in statistics for i, kind in enumerate(KINDS)}


def measure_regret(objective: Objective, law: Law, keep_failures: bool = False) -> Regret | None:
    """Measures the regret of a law; returns None where the optimum is not known.

    Where failures are kept, an evaluation that fails is NaN; else its exception ends this.
    """
    conditions = regret_conditions(objective.conditions)
    solved = solution(objective, conditions)
    if solved is None:
        return None
    knobs = law(conditions)
    return Regret(conditions, knobs, _evaluated(objective, knobs, conditions, keep_failures), *solved)


def known_regret(
    config: ResolvedConfig, snapshot: Snapshot, limit: StepLimit | None = None
) -> dict[str, dict[str, float]]:
    """Returns the median regrets of a law and of the best constant knobs for the summary of a run with a budget.

    They count as no evaluations. Empty for a run without a budget, which is scored in training, and where the optimum
    is not known.
    """
    objective = config.problem().objective() if config.evaluations else None
    keep = config.on_failure == "infeasible"
    found = measure_regret(objective, Law(snapshot, About(limit=limit)), keep) if objective else None
    if objective is None or found is None:
        return {}
    constant = constant_regret(objective, found, keep)
    failed = {"failed": found.failed} if found.failed else {}
    return {"regret": {"median": found.summary()["regret_median"], "constant_median": constant} | failed}


def regret_words(law: float, constant: float) -> str:
    """Returns the median regret of a law beside that of the best constant knobs, in words.

    Where that of the constant knobs is nothing, or nothing beside that of the law, no law can be better than they are.
    """
    if constant <= NOTHING * abs(law):
        return f"median regret {law:.3g}; that of the best constant knobs is {constant:.3g}: no law is better than they"
    return f"median regret {law:.3g}, {law / constant:.3g} times that of the best constant knobs, {constant:.3g}"


def constant_regret(objective: Objective, found: Regret, keep_failures: bool = False) -> float:
    """Returns the median regret of the best constant knobs over the same conditions.

    Args:
        objective: the objective f.
        found: regret of a law on it, whose conditions and optimum are taken.
        keep_failures: as ``measure_regret`` takes it; conditions at which f fails are left out.
    """
    return float(np.nanmedian(with_best_constant(objective, found.conditions, keep_failures) - found.best_values))


def _evaluated(objective: Objective, x: np.ndarray, c: np.ndarray, keep_failures: bool) -> np.ndarray:
    return evaluate(objective, x, c, failures=Failures() if keep_failures else None)


def with_best_constant(objective: Objective, conditions: np.ndarray, keep_failures: bool = False) -> np.ndarray:
    """Returns f with the best constant knobs, which minimise its mean, at conditions ``[m, conditions]``, ``[m]``.

    The knobs are found by SciPy's differential evolution with a fixed seed: the result is deterministic, and as good as
    that search is. Where failures are kept, the worst value under the same knobs stands for each that failed in it.
    """
    from scipy.optimize import differential_evolution

    # Where f is very large, the search only compares it: that the variance of its population overflows does not matter.
    def mean_value(knobs: np.ndarray) -> float:
        values = _evaluated(objective, np.tile(knobs, (len(conditions), 1)), conditions, keep_failures)
        return float("inf") if np.isnan(values).all() else float(np.mean(with_worst(values)))

    with np.errstate(over="ignore", invalid="ignore"):  # where all fails, its differences are no numbers
        best = differential_evolution(mean_value, [(-1, 1)] * objective.knobs, rng=CONSTANT_SEED, tol=1e-8, maxiter=300)
    return _evaluated(objective, np.tile(best.x, (len(conditions), 1)), conditions, keep_failures)
