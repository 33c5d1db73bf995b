"""The rivals ``law``, this program with its defaults, and ``law+polish``, which searches on from it at each query."""

import numpy as np

from actors.law import Law
from env.errors import UsageError
from ppo.config import Config
from ppo.experiments.polishing import polished
from ppo.experiments.rivals.metered import Metered, RivalLaw
from ppo.experiments.workloads import training

QUERY_EVALUATIONS = 10  # of a local search at one query, for each knob and once more


def law(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Trains as ``python -m ppo.train --evaluations N`` does."""
    problem = objective.problem
    config = Config(
        env=problem.env,
        dims=problem.dims,
        knobs=problem.knobs,
        env_kwargs=dict(problem.env_kwargs),
        evaluations=evaluations,
        seed=seed,
        drivers=0,
        eval_every=0,
    )
    try:
        with training(config) as trainer:
            for _ in trainer:
                objective.charge(trainer.learner.evaluations - objective.spent)
            return Law(trainer.learner.snapshot())
    except FloatingPointError as error:
        raise UsageError(f"--env {problem.env}: {error}") from None


def law_and_polish(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Trains a law; at a query f itself is searched near to the law's knobs, as ``Law.polish`` does."""
    start, described = law(objective, evaluations, seed), objective.problem.describe()
    assert described.coordinates is not None, "a tuning problem"
    coordinates, budget = described.coordinates[0], QUERY_EVALUATIONS * (objective.knobs + 1)

    def polished_law(c: np.ndarray) -> np.ndarray:
        found = start(c)
        for i, row in enumerate(c):

            def f(x: np.ndarray, row: np.ndarray = row) -> float:
                return objective(x[None], row[None])[0]

            found[i] = polished(f, found[i], coordinates, budget)
        return found

    return polished_law
