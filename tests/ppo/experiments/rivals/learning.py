"""Learns laws of a quadratic, whose optimum is known, within a budget."""

import numpy as np

from env.make import Problem
from ppo.experiments.rivals.metered import Metered
from tests.problems import Quadratic

QUADRATIC = Problem("tests.problems:Quadratic")
CONDITIONS = np.linspace(-0.9, 0.9, 19)[:, None]
CONSTANT = Quadratic().best(np.linspace(-0.9, 0.9, 19)[:, None]).var(axis=0).sum()
"""Regret of the best constant knobs over these conditions."""


def learned_share(rival, evaluations, seed=1, objective=None):
    """Returns the regret of a rival's law, in units of that of constant knobs, and its objective."""
    objective = objective or Metered(QUADRATIC, evaluations)
    law = rival(objective, evaluations, seed)
    assert 0.5 * evaluations < objective.spent <= evaluations
    with objective.answering():
        x = law(CONDITIONS)
    assert x.shape == (len(CONDITIONS), 2)
    assert np.abs(x).max() <= 1
    return Quadratic()(x, CONDITIONS).mean() / CONSTANT, objective
