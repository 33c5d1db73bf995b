"""The Gaussian process learns a smooth law from few evaluations, spends no more than it may, and is reproducible."""

import numpy as np
import pytest

from ppo.experiments.rivals.metered import Metered
from tests.ppo.experiments.rivals.learning import CONDITIONS, QUADRATIC, learned_share

pytest.importorskip("botorch", reason="the extra compare")


def test_it_learns_a_quadratic_from_few_evaluations():
    from ppo.experiments.rivals.gp import gp

    share, objective = learned_share(gp, 30)
    assert share < 5e-3
    assert objective.spent == 30


def test_the_same_seed_gives_the_same_law():
    from ppo.experiments.rivals.gp import gp

    first, second = (gp(Metered(QUADRATIC, 12), 12, 1)(CONDITIONS) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_noise_may_fall_to_its_bound():
    from ppo.experiments.rivals.gp_model import Shape, exact, fit

    z = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    with exact():
        surface, _ = fit(Shape("RBF", warped=False), z, np.sin(2 * z).sum(axis=1), 60)
    assert surface.model.likelihood.noise.item() < 2e-8


def test_the_lower_bound_is_the_mean_where_f_is_known_and_lower_elsewhere():
    import torch

    from ppo.experiments.rivals.gp_model import Shape, exact, fit

    z = np.random.default_rng(0).uniform(-1, 1, (12, 2))
    with exact():
        surface, _ = fit(Shape("Matern-5/2", warped=True), z, np.sin(4 * z).sum(axis=1), 12)
    with torch.no_grad():
        known, other = torch.as_tensor(z), torch.as_tensor(np.array([[5.0, 5.0]]))
        gaps = [(surface.mean(at) - surface.lower_bound(at, 2.0)).numpy() for at in (known, other)]
    assert gaps[0].max() < 0.05 * gaps[1]
