"""The networks learn a quadratic within the budget, the same law for the same seed."""

import numpy as np

from ppo.experiments.rivals import surrogate as module
from ppo.experiments.rivals.metered import Metered
from ppo.experiments.rivals.surrogate import surrogate
from tests.ppo.experiments.rivals.learning import CONDITIONS, QUADRATIC, learned_share


def test_it_learns_a_quadratic(monkeypatch):
    monkeypatch.setattr(module, "ITERATIONS", (40, 15, 60))
    monkeypatch.setattr(module, "DESCENT", 20)
    share, objective = learned_share(surrogate, 60)
    assert share < 0.05
    assert objective.spent == 60


def test_the_same_seed_gives_the_same_law(monkeypatch):
    monkeypatch.setattr(module, "ITERATIONS", (2, 2, 2))
    monkeypatch.setattr(module, "DESCENT", 2)
    laws = [surrogate(Metered(QUADRATIC, 20), 20, seed)(CONDITIONS) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(laws[0], laws[1])
    assert (laws[0] != laws[2]).any()
