"""The rival ``law`` is what ``ppo.train --evaluations N`` trains, and polishing it costs evaluations at each query."""

import numpy as np
import pytest

from actors.law import Law
from ppo import Config
from ppo.experiments.rivals.law import law, law_and_polish
from ppo.experiments.rivals.metered import Metered
from ppo.experiments.workloads import training
from tests.ppo.experiments.rivals.learning import CONDITIONS, QUADRATIC, learned_share


@pytest.mark.usefixtures("little_effort")
def test_the_law_is_that_of_a_training_with_the_defaults():
    objective = Metered(QUADRATIC, 32)
    learned = law(objective, 32, 3)
    assert objective.spent == 32
    with training(Config(env=QUADRATIC.env, evaluations=32, seed=3, drivers=0, eval_every=0)) as trainer:
        for _ in trainer:
            pass
        same = Law(trainer.learner.snapshot())
    np.testing.assert_array_equal(learned(CONDITIONS), same(CONDITIONS))


@pytest.mark.usefixtures("little_effort")
def test_a_search_at_each_query_ends_nearer_to_the_optimum():
    plain, _ = learned_share(law, 20)  # with more, nothing is left to find
    polished, objective = learned_share(law_and_polish, 20)
    assert 10 * polished < plain < 0.1
    assert objective.spent - 20 <= 30 * len(CONDITIONS)
