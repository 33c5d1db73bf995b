"""What is believed narrows the process down as an evaluation would, and leaves its mean."""

import numpy as np
import pytest

from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.posterior import Posterior
from tests.ppo.algorithm.model.processes import drawn, process

ASKED = np.random.default_rng(3).uniform(-1, 1, (30, 3))
PLANNED = np.random.default_rng(4).uniform(-1, 1, (6, 3))


def refitted(model, planned):
    """Returns stds of the same process with points added, as a share of the std of f there."""
    states, values = drawn()
    more = np.concatenate([states, planned]), np.concatenate([values, np.full(len(planned), values.mean())])
    again = GaussianProcess(*more, model.hyperparameters)
    return again.mean_and_std(ASKED)[1] * (model.variance / again.variance) ** 0.5


@pytest.mark.parametrize("side", ["low", "high"])
@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_stds_are_those_of_a_process_with_the_points_added(side, kernel):
    model = process(side, kernel=kernel)
    posterior = Posterior(model, len(PLANNED))
    watched = posterior.watch(ASKED)
    for number, state in enumerate(PLANNED):
        posterior.believe(state)
        expected = refitted(model, PLANNED[: number + 1])
        mean, std = posterior.mean_and_std(ASKED)
        assert std == pytest.approx(expected, abs=1e-10)
        assert watched.std == pytest.approx(std, abs=1e-10)
        assert mean == pytest.approx(model.mean(ASKED), abs=1e-12)


def test_before_anything_is_believed_it_is_the_process():
    model = process()
    posterior = Posterior(model, 4)
    mean, std = posterior.mean_and_std(ASKED)
    assert (mean, std) == tuple(map(pytest.approx, model.mean_and_std(ASKED)))
    assert posterior.watch(ASKED).std == pytest.approx(std)


def test_what_is_watched_later_knows_what_was_believed_before():
    posterior = Posterior(process(), len(PLANNED))
    early = posterior.watch(ASKED)
    for state in PLANNED[:3]:
        posterior.believe(state)
    late = posterior.watch(ASKED[:7])
    for state in PLANNED[3:]:
        posterior.believe(state)
    assert late.std == pytest.approx(early.std[:7], abs=1e-10)
    assert late.std == pytest.approx(posterior.mean_and_std(ASKED[:7])[1], abs=1e-10)


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_the_same_point_can_be_believed_again_and_again(kernel):
    posterior = Posterior(process(kernel=kernel), 20)
    watched = posterior.watch(np.concatenate([PLANNED[:1], ASKED]))
    before = watched.std[0]
    for _ in range(20):
        posterior.believe(PLANNED[0])
    assert np.isfinite(watched.std).all() and (watched.std > 0).all()
    assert watched.std[0] < 0.2 * before


def test_believing_leaves_the_process_as_it_is():
    model = process()
    before = model.factor.copy(), model.mean_and_std(ASKED)[1]
    posterior = Posterior(model, 6)
    for state in PLANNED:
        posterior.believe(state)
    assert np.array_equal(model.factor, before[0])
    assert np.array_equal(model.mean_and_std(ASKED)[1], before[1])
