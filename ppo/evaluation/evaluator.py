"""Scores of laws and policies in training: the error over fixed conditions, or the mean return of fixed episodes."""

from dataclasses import dataclass

import numpy as np

from actors.policy import centre_states
from actors.trajectory import Trajectory
from env.objectives import solution
from env.objectives.evaluation import kept
from ppo.algorithm.conditions import fixed_conditions
from ppo.config import ResolvedConfig

LINE_POINTS = 21  # conditions -1, -0.9, .., 1, as in the thesis
SOBOL_POINTS = 64  # points for several conditions
TRIED = 3  # conditions at which the optimum is asked for where there are no evaluations, to see that it can be later on
NAMES = {"mse": "eval/error", "msle": "eval/error", "mean_objective": "eval/objective", "mean_return": "eval/return"}


@dataclass(frozen=True)
class Evaluator:
    """Scores the trajectories of evaluations.

    Attributes:
        metric: name of the score: ``mse`` or ``msle`` of f to its minimum, ``mean_objective`` where the minimum is not
            known, or ``mean_return`` outside tuning, where more is better.
        optimum: least f for each of the conditions, ``[m]``; None where it is not known.
    """

    metric: str
    optimum: np.ndarray | None = None

    @property
    def column(self) -> str:
        """Name of the score in ``metrics.csv``."""
        return NAMES[self.metric]

    def score(self, trajectory: Trajectory) -> float:
        """Returns the score of the merged trajectory of an evaluation.

        Conditions at which f failed, or a constraint is broken, are left out; it is NaN where that leaves none. Nor is
        it finite where f is too large to be squared, or below -1 where its logarithm is asked for.
        """
        if self.metric == "mean_return":
            return float(np.mean(first_episode_returns(trajectory)))
        values, optimum = kept(trajectory.objectives[:, -1], trajectory.constraints[:, -1]), self.optimum
        if (failed := np.isnan(values)).any():  # which is allowed: failures are kept
            values, optimum = values[~failed], None if optimum is None else optimum[~failed]
        if not len(values):
            return np.nan
        if optimum is None:
            return float(np.mean(values))
        with np.errstate(all="ignore"):
            if self.metric == "msle":
                return float(np.mean((np.log1p(values) - np.log1p(optimum)) ** 2))
            return float(np.mean((values - optimum) ** 2))


def first_episode_returns(trajectory: Trajectory) -> np.ndarray:
    """Returns the undiscounted return of the first episode of each slot, ``[n]``."""
    ends = trajectory.terminations | trajectory.truncations
    before_end = np.cumsum(ends, axis=1) - ends == 0  # the time step that ends the episode is included
    return np.where(before_end, trajectory.rewards, 0.0).sum(axis=1)


def make_evaluator(config: ResolvedConfig) -> tuple[Evaluator, np.ndarray | None]:
    """Returns the evaluator, and the start states at which the law is evaluated (None outside tuning).

    Raises:
        UsageError: the objective's ``solve`` returns something else than an optimum.
    """
    objective = config.problem().objective()
    if objective is None:
        return Evaluator("mean_return"), None
    conditions = fixed_conditions(objective.conditions, LINE_POINTS, SOBOL_POINTS)
    solved = solution(objective, conditions if config.eval_every else conditions[:: -(-len(conditions) // TRIED)])
    starts = centre_states(conditions, objective.knobs)
    if solved is None or not config.eval_every:
        return Evaluator("mean_objective"), starts
    return Evaluator(objective.metric, solved[1]), starts
