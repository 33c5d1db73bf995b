"""The rivals ``law``, this program with its defaults, and ``law+polish``, which searches on from it at each query."""

import numpy as np

from actors.law import Law
from env.errors import UsageError
from ppo.config import Config
from ppo.experiments.rivals.metered import Metered, RivalLaw
from ppo.experiments.workloads import training

QUERY_EVALUATIONS = 10  # of a local search at one query, for each knob and once more
REACH = 0.1  # first size of its simplex


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
    """Trains a law; at a query SciPy's Nelder-Mead searches on f itself, from the law's knobs."""
    from scipy.optimize import minimize

    start, knobs = law(objective, evaluations, seed), objective.knobs

    def polished(c: np.ndarray) -> np.ndarray:
        found = start(c)
        for i, (x, row) in enumerate(zip(found.copy(), c, strict=True)):
            simplex = np.concatenate([[x], x + REACH * np.diag(np.where(x > 0, -1.0, 1.0))])
            found[i] = minimize(
                lambda x, row=row: float(objective(x[None], row[None])[0]),
                x,
                method="Nelder-Mead",
                bounds=[(-1, 1)] * knobs,
                options={
                    "maxfev": QUERY_EVALUATIONS * (knobs + 1),
                    "initial_simplex": simplex,
                    "xatol": 1e-7,
                    "fatol": 0,
                },
            ).x
        return found

    return polished
