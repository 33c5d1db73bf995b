"""How good a law or a policy is: the error over fixed conditions, or the mean return of fixed episodes."""

from dataclasses import dataclass

import numpy as np

from actors.law import centre_states
from actors.rollout import Job
from actors.trajectory import Trajectory
from ppo.config.fields import Config

LINE_POINTS = 21  # conditions -1, -0.9, .., 1, as in the thesis
SOBOL_POINTS = 64  # where there are several conditions
NAMES = {"mse": "eval/error", "msle": "eval/error", "mean_objective": "eval/objective", "mean_return": "eval/return"}


def evaluation_conditions(conditions: int) -> np.ndarray:
    """Conditions at which a law is evaluated, ``[m, conditions]``: 21 on a line, or the first 64 Sobol points."""
    if conditions == 1:
        return np.linspace(-1, 1, LINE_POINTS)[:, None]
    from scipy.stats import qmc  # here, since only who needs it should pay for it

    return 2 * qmc.Sobol(conditions, scramble=False).random(SOBOL_POINTS) - 1


@dataclass(frozen=True)
class Evaluator:
    """Scores what the pool returns for an evaluation.

    Attributes:
        metric: ``mse`` or ``msle`` of f to its minimum; ``mean_objective`` where the minimum is not known;
            ``mean_return`` outside tuning, where more is better.
        optimum: least f for each of the conditions, ``[m]``, or None.
    """

    metric: str
    optimum: np.ndarray | None = None

    @property
    def column(self) -> str:
        """Name of the score in ``metrics.csv``."""
        return NAMES[self.metric]

    def score(self, facts: Trajectory) -> float:
        """The score of merged evaluation facts."""
        if self.metric == "mean_return":
            return float(np.mean(first_episode_returns(facts)))
        values = facts.objectives[:, -1]
        if self.optimum is None:
            return float(np.mean(values))
        if self.metric == "msle":
            return float(np.mean((np.log1p(values) - np.log1p(self.optimum)) ** 2))
        return float(np.mean((values - self.optimum) ** 2))


def first_episode_returns(facts: Trajectory) -> np.ndarray:
    """Return of the first episode of each slot, ``[n]``."""
    ends = facts.terminations | facts.truncations
    before_end = np.cumsum(ends, axis=1) - ends == 0  # the step that ends it still counts
    return np.where(before_end, facts.rewards, 0.0).sum(axis=1)


def make_evaluator(config: Config) -> tuple[Evaluator, np.ndarray | None]:
    """The evaluator, and the start states at which it wants the law asked (None outside tuning)."""
    objective = config.problem().objective()
    if objective is None:
        return Evaluator("mean_return"), None
    conditions = evaluation_conditions(objective.conditions)
    solution = objective.solve(conditions) if config.eval_every else None
    starts = centre_states(conditions, objective.knobs)
    if solution is None:
        return Evaluator("mean_objective"), starts
    return Evaluator(objective.metric, solution[1]), starts


def make_job(config: Config, eval_starts: np.ndarray | None) -> Job:
    """What the drivers run, from a resolved configuration."""
    assert config.sampler is not None and config.time_steps is not None and config.episodes is not None
    problem = config.problem()
    length = 1 if eval_starts is not None else problem.episode_limit() or config.time_steps
    return Job(
        problem,
        config.sampler,
        config.candidates,
        config.seed,
        config.episodes,
        config.time_steps,
        eval_starts,
        config.advantages != "slot" and config.reward != "objective",  # no other reward needs f of the starts
        config.eval_episodes,
        length,
        mirrored=config.noise == "mirrored",
    )
