"""A critic predicts what a Gaussian process solved densely does, and undoes the warp of f."""

import numpy as np
import pytest

from actors.critic import Critic, stretched
from actors.kernels import KERNEL_NAMES
from tests.actors.mixtures import correlation, random_critic

OF_KERNELS = pytest.mark.parametrize("kernel", KERNEL_NAMES)


@OF_KERNELS
def test_mean_and_std_are_those_of_a_dense_solution(kernel):
    critic, values = random_critic(kernel=kernel)
    level, variance, noise = critic.scalars[:3]
    states = np.random.default_rng(2).uniform(-1.5, 1.5, (20, 3))
    covariance = variance * (correlation(critic.states, critic.states, critic.lengths, kernel) + noise * np.eye(9))
    cross = variance * correlation(states, critic.states, critic.lengths, kernel)
    mean = level + cross @ np.linalg.inv(covariance) @ (values - level)
    var = variance - np.einsum("ij,ji->i", cross, np.linalg.solve(covariance, cross.T))
    assert critic.mean(states) == pytest.approx(mean, rel=1e-9)
    assert critic.std(states) == pytest.approx(np.sqrt(var), rel=1e-7)


def test_the_kernel_is_the_one_of_the_number():
    states = np.array([[0.0, 0.5], [1.5, 0.0]])
    for number, kernel in enumerate(("matern", "rbf", "pairs")):
        critic = Critic(states[:1], np.ones(1), np.ones(2), np.array([0, 1, 0, 1, 1, 0, 1, number], float))
        assert critic.mean(states) == pytest.approx(correlation(states, states[:1], np.ones(2), kernel)[:, 0])


@OF_KERNELS
def test_without_noise_it_gives_what_was_evaluated_and_is_sure_of_it(kernel):
    critic, values = random_critic(noise=0.0, kernel=kernel)
    assert critic.mean(critic.states) == pytest.approx(values, abs=1e-9)
    assert critic.std(critic.states) == pytest.approx(np.zeros(9), abs=1e-6)


@OF_KERNELS
def test_far_from_all_evaluations_it_knows_level_and_variance_alone(kernel):
    critic, _ = random_critic(kernel=kernel)
    far = np.full((2, 3), 1e3)
    assert critic.mean(far) == pytest.approx([0.3, 0.3])
    assert critic.std(far) == pytest.approx(np.sqrt([2.5, 2.5]))


@OF_KERNELS
@pytest.mark.parametrize("n", [1, 2, 7, 37, 300])
@pytest.mark.parametrize("dims", [2, 3, 8])
def test_a_rows_bits_do_not_depend_on_the_other_rows(n, dims, kernel):
    rng = np.random.default_rng(3)
    scalars = np.append(np.zeros(7), KERNEL_NAMES.index(kernel))
    critic = Critic(rng.uniform(-1, 1, (n, dims)), rng.normal(size=n), 0.5 + rng.random(dims), scalars)
    states = rng.uniform(-1, 1, (53, dims))
    whole = critic.mean(states)
    for size in (1, 2, 3, 5, 16, 17, 52):
        for start in range(0, 53, size):
            assert critic.mean(states[start : start + size]).tobytes() == whole[start : start + size].tobytes()


def warped(f, warp, side, low, spread):
    """Returns the warp of one value, as it is described: a logarithm, and a line beyond the evaluated values."""
    place = (f - low) / spread
    from_end = place if side > 0 else 1 - place
    value = np.log(1 + from_end / warp) if from_end > 0 else from_end / warp
    return side * value


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["low", "high"])
@pytest.mark.parametrize("warp", [1e-3, 0.2, 50.0])
def test_unwarped_undoes_the_warp_within_the_evaluated_values_and_beyond(warp, side):
    low, spread = -3.0, 8.0
    scalars = np.array([0.0, 1.0, 0.0, warp, side, low, spread, 0.0])
    critic = Critic(np.zeros((1, 1)), np.zeros(1), np.ones(1), scalars)
    f = np.linspace(low - spread, low + 2 * spread, 61)
    values = np.array([warped(one, warp, side, low, spread) for one in f])
    assert (np.diff(values) > 0).all()  # so that the least f has the least warped f
    assert critic.unwarped(values) == pytest.approx(f, rel=1e-9, abs=1e-9)


def test_the_warp_has_no_kink_where_it_goes_on_as_a_line():
    step = 1e-6
    left, middle, right = stretched(np.array([-step, 0.0, step]), 0.1)
    assert middle == 0
    assert (right - middle) / step == pytest.approx((middle - left) / step, rel=1e-4)
