"""The process predicts what scikit-learn's does, and its slopes are those of finite differences."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from ppo.algorithm.model.gaussian_process import GaussianProcess
from tests.ppo.algorithm.model.processes import HYPER, drawn, process

SIDES = ("low", "high")
TEST_STATES = np.random.default_rng(9).uniform(-1, 1, (40, 3))


def reference(ours, level, variance):
    """Returns scikit-learn's process with the same kernel, of the warped values without a level."""
    hyper = ours.hyperparameters
    kernel = ConstantKernel(variance) * Matern(hyper.lengths, nu=2.5)
    theirs = GaussianProcessRegressor(kernel, alpha=variance * hyper.noise, optimizer=None)
    return theirs.fit(ours.states, ours.targets - level)


@pytest.mark.parametrize("side", SIDES)
def test_mean_and_std_are_those_of_scikit_learn(side):
    ours = process(side)
    mean, std = reference(ours, ours.level, ours.variance).predict(TEST_STATES, return_std=True)
    found = ours.mean_and_std(TEST_STATES)
    assert np.abs(found[0] - (ours.level + mean)).max() < 1e-10
    assert np.abs(found[1] - std).max() < 1e-10
    assert np.abs(ours.mean(TEST_STATES) - found[0]).max() < 1e-12


@pytest.mark.parametrize("side", SIDES)
def test_the_loss_is_the_marginal_likelihood_of_the_values_and_the_prior(side):
    """The density of a value is that of its warp, times the slope of the warp; 3 coordinates have a prior."""
    ours, (_, values) = process(side), drawn()
    n, lengths = len(values), ours.hyperparameters.lengths
    likelihood = reference(ours, ours.level, ours.variance).log_marginal_likelihood_value_
    step = 1e-6 * ours.range
    slopes = (ours.warped(values + step) - ours.warped(values - step)) / (2 * step) * ours.range
    place = (values - ours.low) / ours.range
    ends = np.isclose(place, 0 if side == "low" else 1)  # where the warp goes on linearly: the same slope
    slopes[ends] = 1 / ours.hyperparameters.warp
    prior = (np.log(lengths / (2 * 3**0.5)) ** 2 / (2 * 3)).sum()
    expected = -likelihood - np.log(slopes).sum() - n / 2 * np.log(2 * np.pi * np.e) + prior
    assert ours.loss_and_slopes()[0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("side", SIDES)
def test_level_and_variance_are_the_likeliest(side):
    ours = process(side)
    best = reference(ours, ours.level, ours.variance).log_marginal_likelihood_value_
    for level, variance in ((1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.01), (0.0, 0.99)):
        other = reference(ours, ours.level + level, ours.variance * variance)
        assert other.log_marginal_likelihood_value_ < best


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("noise", [1e-6, 0.02, 3.0])
@pytest.mark.parametrize("warp", [1e-3, 0.3, 30.0])
def test_slopes_of_the_loss_are_those_of_finite_differences(side, noise, warp):
    states, values = drawn()
    hyper = dataclasses.replace(HYPER[side], noise=noise, warp=warp)

    def loss(logs):
        return GaussianProcess(states, values, hyper.at(logs)).loss_and_slopes()[0]

    step = 1e-5
    steps = step * np.eye(5)
    expected = [(loss(hyper.logs + one) - loss(hyper.logs - one)) / (2 * step) for one in steps]
    slopes = GaussianProcess(states, values, hyper).loss_and_slopes()[1]
    assert slopes == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("knobs", [1, 2, 3])
@pytest.mark.parametrize("side", SIDES)
def test_slopes_of_the_mean_are_those_of_finite_differences(side, knobs):
    ours = process(side)
    values, slopes = ours.mean_and_slope(TEST_STATES, knobs)
    assert np.abs(values - ours.mean(TEST_STATES)).max() < 1e-12
    assert slopes.shape == (40, knobs)
    for state, slope in zip(TEST_STATES, slopes, strict=True):
        expected = approx_fprime(state, lambda at: ours.mean(at[None])[0], 1e-7)[:knobs]
        assert slope == pytest.approx(expected, abs=1e-5)


def test_the_slope_of_the_mean_at_a_point_that_was_evaluated_is_finite():
    ours = process()
    values, slopes = ours.mean_and_slope(ours.states, 3)
    nearby = ours.mean_and_slope(ours.states + 1e-9, 3)[1]
    assert np.isfinite(values).all()
    assert np.abs(slopes - nearby).max() < 1e-6


@pytest.mark.parametrize("side", SIDES)
def test_the_warp_is_monotone_and_goes_on_beyond_what_was_evaluated(side):
    ours = process(side)
    values = np.linspace(ours.low - 2 * ours.range, ours.low + 3 * ours.range, 501)
    assert (np.diff(ours.warped(values)) > 0).all()


@pytest.mark.parametrize("side", SIDES)
def test_a_critic_predicts_the_same_and_gives_f_back(side):
    ours, (_, values) = process(side), drawn()
    critic = ours.critic()
    mean, std = ours.mean_and_std(TEST_STATES)
    assert np.abs(critic.mean(TEST_STATES) - mean).max() < 1e-10
    assert np.abs(critic.std(TEST_STATES) - std).max() < 1e-10
    assert critic.unwarped(ours.warped(values)) == pytest.approx(values)
    outside = ours.low + ours.range * np.array([-0.5, 1.5])
    assert critic.unwarped(ours.warped(outside)) == pytest.approx(outside)


def test_a_row_of_a_critic_does_not_depend_on_the_others():
    critic = process().critic()
    whole = critic.mean(TEST_STATES)
    assert [critic.mean(TEST_STATES[[row]])[0] for row in range(40)] == whole.tolist()
    assert critic.mean(TEST_STATES[7:31]).tolist() == whole[7:31].tolist()


@pytest.mark.parametrize("power", [-30, 1, 40])
@pytest.mark.parametrize("side", SIDES)
def test_f_times_a_power_of_two_gives_the_same_bits(side, power):
    states, values = drawn()
    ours, scaled = (GaussianProcess(states, f, HYPER[side]) for f in (values, values * 2.0**power))
    assert scaled.mean(TEST_STATES).tobytes() == ours.mean(TEST_STATES).tobytes()
    assert scaled.loss_and_slopes()[0] == ours.loss_and_slopes()[0]
    assert scaled.loss_and_slopes()[1].tobytes() == ours.loss_and_slopes()[1].tobytes()
    unwarped = [one.critic().unwarped(ours.mean(TEST_STATES)) for one in (ours, scaled)]
    assert unwarped[1].tobytes() == (unwarped[0] * 2.0**power).tobytes()


def test_without_noise_the_process_meets_what_was_evaluated():
    states, values = drawn()
    ours = GaussianProcess(states, values, dataclasses.replace(HYPER["low"], noise=1e-9))
    mean, std = ours.mean_and_std(states)
    assert mean == pytest.approx(ours.targets, abs=1e-5)
    assert (std < 1e-3).all()
    assert ours.critic().unwarped(mean) == pytest.approx(values, rel=1e-3)
