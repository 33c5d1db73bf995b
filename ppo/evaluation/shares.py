"""Regret as a share of that of the best constant knobs: 0 is the optimum, 1 no better than constant knobs."""

import math
from dataclasses import dataclass

import numpy as np

from env.objectives import Objective, evaluate, solution
from env.objectives.solve import polish
from ppo.evaluation.regret import with_best_constant
from ppo.evaluation.statistics import told_apart

CONDITIONS, CANDIDATES, POLISHED = 128, 4096, 2
NOTHING = 1e-9  # share of the spread of f below which the regret of the best constant knobs is that of their search
ROUNDING = 8  # units in the last place of f, by which means of it may differ that are the same


@dataclass(frozen=True)
class Scale:
    """Between which means of f, over the held-out conditions, a law is measured.

    Attributes:
        best: mean of the least f.
        constant: mean of f with the best constant knobs.
        random: mean of f with random knobs.
    """

    best: float
    constant: float
    random: float

    @property
    def constant_is_best(self) -> bool:
        """Whether constant knobs are as good as any law."""
        return self.constant - self.best <= self._nothing

    @property
    def _nothing(self) -> float:
        """What a regret is at the most that is none: of the search for the best knobs, or of the rounding of f."""
        rounding = ROUNDING * float(np.spacing(max(abs(self.best), abs(self.constant))))
        return max(NOTHING * (self.random - self.best), rounding)

    def share(self, mean: float) -> float:
        """Returns the mean regret of a law, given its mean of f, in units of that of the best constant knobs.

        Where constant knobs are as good as any law, it is 0 for a law as good as they are, and infinite otherwise.
        """
        if self.constant_is_best:
            return 0.0 if mean - self.best <= self._nothing else math.inf
        return (mean - self.best) / (self.constant - self.best)

    def words(self) -> str:
        """Returns the three means, with so many digits that they can be told apart."""
        regret = (self.random if self.constant_is_best else self.constant) - self.best
        best, constant, random = told_apart(self.best, self.constant, self.random, digits=6, difference=regret)
        return f"least {best}, best constant knobs {constant}, random knobs {random}"


def held_out_conditions(conditions: int) -> np.ndarray:
    """Returns the conditions at which laws are measured, ``[128, conditions]``: scrambled Sobol points."""
    from scipy.stats import qmc  # imported here, since it is slow to load

    return 2 * qmc.Sobol(conditions, rng=1).random(CONDITIONS) - 1


def noise_free(objective: Objective) -> Objective:
    """Returns the objective without its noise, where it offers that as ``noise_free``, and itself otherwise."""
    return getattr(objective, "noise_free", objective)


def measure_scale(objective: Objective) -> Scale:
    """Measures the least f and that of the best constant knobs over the held-out conditions.

    The least f is what the objective's ``solve`` gives; without one it is found by local searches from the best two of
    4,096 Sobol points at each condition. That is some 500,000 evaluations, and as many for the constant knobs, so it is
    not meant for an expensive black box.
    """
    from scipy.stats import qmc

    c = held_out_conditions(objective.conditions)
    constant = float(with_best_constant(objective, c).mean())
    knobs = 2 * qmc.Sobol(objective.knobs, rng=2).random(CANDIDATES) - 1
    values = np.stack([evaluate(objective, knobs, np.broadcast_to(row, (CANDIDATES, len(row)))) for row in c])
    solved = solution(objective, c)
    if solved is None:
        starts = knobs[np.argsort(values, axis=1, kind="stable")[:, :POLISHED]]
        solved = polish(objective, starts, c)
    return Scale(float(solved[1].mean()), constant, float(values.mean()))
