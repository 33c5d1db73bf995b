"""The process predicts what scikit-learn's does, and its slopes are those of finite differences."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, NormalizedKernelMixin

from actors.kernels import KERNEL_NAMES
from ppo.algorithm.model import gaussian_process as module
from ppo.algorithm.model.frame import Frame
from ppo.algorithm.model.gaussian_process import SIDES, GaussianProcess, Hyperparameters
from tests.actors import mixtures
from tests.ppo.algorithm.model.processes import HYPER, drawn, policy_of, process

OF_SIDES = pytest.mark.parametrize("side", SIDES)
OF_KERNELS = pytest.mark.parametrize("kernel", KERNEL_NAMES)
TEST_STATES = np.random.default_rng(9).uniform(-1, 1, (40, 3))


class OfPairs(NormalizedKernelMixin, Kernel):
    """What scikit-learn has not got."""

    def __init__(self, lengths):
        self.lengths = lengths

    def __call__(self, a, b=None, eval_gradient=False):
        found = mixtures.correlation(a, a if b is None else b, self.lengths, "pairs")
        return (found, np.empty((*found.shape, 0))) if eval_gradient else found

    def is_stationary(self):
        return True


def reference(ours, level, variance):
    """Returns scikit-learn's process with the same kernel, of the warped values without a level."""
    hyper = ours.hyperparameters
    correlations = {
        "rbf": RBF(hyper.lengths),
        "matern": Matern(hyper.lengths, nu=2.5),
        "pairs": OfPairs(hyper.lengths),
    }
    kernel = ConstantKernel(variance) * correlations[hyper.kernel]
    theirs = GaussianProcessRegressor(kernel, alpha=variance * hyper.noise, optimizer=None)
    return theirs.fit(ours.states, ours.targets - level)


def slopes_of_the_warp(ours, values):
    """Returns how fast the warped values grow with the values, as shares of their range."""
    step = 1e-6 * ours.range
    slopes = (ours.warped(values + step) - ours.warped(values - step)) / (2 * step) * ours.range
    place = (values - ours.low) / ours.range
    ends = np.isclose(place, 0 if ours.hyperparameters.side == "low" else 1)  # it goes on linearly: the same slope
    slopes[ends] = 1 / ours.hyperparameters.warp
    return slopes


@OF_SIDES
@OF_KERNELS
def test_mean_and_std_are_those_of_scikit_learn(side, kernel):
    ours = process(side, kernel=kernel)
    mean, std = reference(ours, ours.level, ours.variance).predict(TEST_STATES, return_std=True)
    found = ours.mean_and_std(TEST_STATES)
    assert np.abs(found[0] - (ours.level + mean)).max() < 1e-10
    assert np.abs(found[1] - std).max() < 1e-10
    assert np.abs(ours.mean(TEST_STATES) - found[0]).max() < 1e-12


@OF_SIDES
@OF_KERNELS
def test_the_loss_is_the_marginal_likelihood_of_the_values_and_the_prior(side, kernel):
    """The density of a value is that of its warp, times the slope of the warp; 3 coordinates have a prior."""
    ours, (_, values) = process(side, kernel=kernel), drawn()
    n, lengths = len(values), ours.hyperparameters.lengths
    likelihood = reference(ours, ours.level, ours.variance).log_marginal_likelihood_value_
    slopes = slopes_of_the_warp(ours, values)
    prior = (np.log(lengths / (2 * 3**0.5)) ** 2 / (2 * 3)).sum()
    expected = -likelihood - np.log(slopes).sum() - n / 2 * np.log(2 * np.pi * np.e) + prior
    assert ours.loss_and_slopes()[0] == pytest.approx(expected, abs=1e-7)


@OF_SIDES
@OF_KERNELS
def test_level_and_variance_are_the_likeliest(side, kernel):
    ours = process(side, kernel=kernel)
    best = reference(ours, ours.level, ours.variance).log_marginal_likelihood_value_
    for level, variance in ((1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.01), (0.0, 0.99)):
        other = reference(ours, ours.level + level, ours.variance * variance)
        assert other.log_marginal_likelihood_value_ < best


@OF_SIDES
@OF_KERNELS
@pytest.mark.parametrize("noise", [1e-6, 0.02, 3.0])
@pytest.mark.parametrize("warp", [1e-3, 0.3, 30.0])
def test_slopes_of_the_loss_are_those_of_finite_differences(side, kernel, noise, warp):
    states, values = drawn()
    hyper = dataclasses.replace(HYPER[side], noise=noise, warp=warp, kernel=kernel)

    def loss(logs):
        return GaussianProcess(states, values, hyper.at(logs)).loss_and_slopes()[0]

    step = 1e-5
    steps = step * np.eye(5)
    expected = [(loss(hyper.logs + one) - loss(hyper.logs - one)) / (2 * step) for one in steps]
    slopes = GaussianProcess(states, values, hyper).loss_and_slopes()[1]
    assert slopes == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("knobs", [1, 2, 3])
@OF_SIDES
@OF_KERNELS
def test_slopes_of_the_mean_are_those_of_finite_differences(side, kernel, knobs):
    ours = process(side, kernel=kernel)
    values, slopes = ours.mean_and_slope(TEST_STATES, knobs)
    assert np.abs(values - ours.mean(TEST_STATES)).max() < 1e-12
    assert slopes.shape == (40, knobs)
    for state, slope in zip(TEST_STATES, slopes, strict=True):
        expected = approx_fprime(state, lambda at: ours.mean(at[None])[0], 1e-7)[:knobs]
        assert slope == pytest.approx(expected, abs=1e-5)


@OF_KERNELS
def test_slopes_in_a_frame_are_those_of_finite_differences(kernel):
    states, values = drawn()
    hyper = Hyperparameters(np.array([0.7, 1.5, 3.0]), 0.02, 0.3, "low", kernel)
    ours = GaussianProcess(states, values, hyper, Frame(policy_of([[0.3, -0.2]]), 0.25))
    for state, slope in zip(TEST_STATES, ours.mean_and_slope(TEST_STATES, 2)[1], strict=True):
        expected = approx_fprime(state, lambda at: ours.mean(at[None])[0], 1e-7)[:2]
        assert slope == pytest.approx(expected, abs=1e-5)


def dense(ours, states, knobs):
    """Returns mean and slopes of a process from all correlations at once."""
    offsets = states[:, None] / ours.hyperparameters.lengths - ours.scaled
    squared = offsets**2
    if ours.hyperparameters.kernel == "pairs":
        one = 1 / (1 + squared / 2)
        total = one.sum(axis=2)
        correlation = (total**2 - (one**2).sum(axis=2)) / 6
        steepness = (total[..., None] - one) * one**2 / 3
    elif ours.hyperparameters.kernel == "rbf":
        correlation = np.exp(-squared.sum(axis=2) / 2)
        steepness = correlation[..., None]
    else:
        radius = np.sqrt(5 * squared.sum(axis=2))
        correlation = (1 + radius + radius**2 / 3) * np.exp(-radius)
        steepness = (5 / 3 * (1 + radius) * np.exp(-radius))[..., None]
    slopes = -np.einsum("ijk,j->ik", steepness * offsets, ours.weights) / ours.hyperparameters.lengths
    return ours.level + correlation @ ours.weights, slopes[:, :knobs]


@OF_KERNELS
@pytest.mark.parametrize(("entries", "count"), [(200, 40), (200, 41), (200, 7), (10, 3), (40_000, 3000), (200, 0)])
def test_many_rows_are_predicted_in_blocks_as_the_dense_formula_says(kernel, entries, count, monkeypatch):
    """There are 25 evaluations: a block of 200 entries is one of 8 rows, and one of 10 entries a single row."""
    monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)
    ours, states = process(kernel=kernel), np.random.default_rng(1).uniform(-1, 1, (count, 3))
    mean, slopes = dense(ours, states, 2)
    found = ours.mean_and_slope(states, 2)
    assert ours.mean(states) == pytest.approx(mean, abs=1e-11)
    assert found[0] == pytest.approx(mean, abs=1e-11)
    assert found[1] == pytest.approx(slopes, abs=1e-10)


@OF_KERNELS
def test_the_slope_of_the_mean_at_a_point_that_was_evaluated_is_finite(kernel):
    ours = process(kernel=kernel)
    values, slopes = ours.mean_and_slope(ours.states, 3)
    nearby = ours.mean_and_slope(ours.states + 1e-9, 3)[1]
    assert np.isfinite(values).all()
    assert np.abs(slopes - nearby).max() < 1e-6


@OF_SIDES
def test_the_warp_is_monotone_and_goes_on_beyond_what_was_evaluated(side):
    ours = process(side)
    values = np.linspace(ours.low - 2 * ours.range, ours.low + 3 * ours.range, 501)
    assert (np.diff(ours.warped(values)) > 0).all()


@OF_SIDES
@OF_KERNELS
def test_a_critic_predicts_the_same_and_gives_f_back(side, kernel):
    ours, (_, values) = process(side, kernel=kernel), drawn()
    critic = ours.critic()
    mean, std = ours.mean_and_std(TEST_STATES)
    assert np.abs(critic.mean(TEST_STATES) - mean).max() < 1e-10
    assert np.abs(critic.std(TEST_STATES) - std).max() < 1e-10
    assert critic.unwarped(ours.warped(values)) == pytest.approx(values)
    outside = ours.low + ours.range * np.array([-0.5, 1.5])
    assert critic.unwarped(ours.warped(outside)) == pytest.approx(outside)


@OF_KERNELS
def test_a_row_of_a_critic_does_not_depend_on_the_others(kernel):
    critic = process(kernel=kernel).critic()
    whole = critic.mean(TEST_STATES)
    assert [critic.mean(TEST_STATES[[row]])[0] for row in range(40)] == whole.tolist()
    assert critic.mean(TEST_STATES[7:31]).tolist() == whole[7:31].tolist()


@pytest.mark.parametrize("power", [-30, 1, 40])
@OF_SIDES
@OF_KERNELS
def test_f_times_a_power_of_two_gives_the_same_bits(side, kernel, power):
    states, values = drawn()
    hyper = dataclasses.replace(HYPER[side], kernel=kernel)
    ours, scaled = (GaussianProcess(states, f, hyper) for f in (values, values * 2.0**power))
    assert scaled.mean(TEST_STATES).tobytes() == ours.mean(TEST_STATES).tobytes()
    assert scaled.loss_and_slopes()[0] == ours.loss_and_slopes()[0]
    assert scaled.loss_and_slopes()[1].tobytes() == ours.loss_and_slopes()[1].tobytes()
    unwarped = [one.critic().unwarped(ours.mean(TEST_STATES)) for one in (ours, scaled)]
    assert unwarped[1].tobytes() == (unwarped[0] * 2.0**power).tobytes()


@OF_KERNELS
def test_without_noise_the_process_meets_what_was_evaluated(kernel):
    states, values = drawn()
    ours = GaussianProcess(states, values, dataclasses.replace(HYPER["low"], noise=1e-9, kernel=kernel))
    mean, std = ours.mean_and_std(states)
    assert mean == pytest.approx(ours.targets, abs=1e-5)
    assert (std < 1e-3).all()
    assert ours.critic().unwarped(mean) == pytest.approx(values, rel=1e-3)


@OF_SIDES
@OF_KERNELS
def test_the_density_of_a_left_out_value_is_that_of_a_process_of_the_others(side, kernel):
    """Level and variance are those of all values. The density of a value is that of its warp, times its slope."""
    ours, (_, values) = process(side, kernel=kernel), drawn()
    correlation = ours.kernel(ours.scaled, ours.scaled) + ours.hyperparameters.noise * np.eye(25)
    densities = []
    for left_out in range(25):
        others = np.delete(np.arange(25), left_out)
        solved = np.linalg.solve(correlation[np.ix_(others, others)], correlation[others, left_out])
        mean = ours.level + solved @ (ours.targets[others] - ours.level)
        share = correlation[left_out, left_out] - solved @ correlation[others, left_out]
        densities.append(norm.logpdf(ours.targets[left_out], mean, np.sqrt(ours.variance * share)))
    expected = np.array(densities) + np.log(slopes_of_the_warp(ours, values) / ours.range)
    assert ours.left_out_density() - expected == pytest.approx(np.full(25, np.log(2 * np.pi) / 2), abs=1e-6)


def test_the_noise_of_a_value_is_in_the_unit_of_f():
    """With hardly any warp it is the same everywhere; where the warp stretches the values it is less."""
    states, values = drawn()
    plain = GaussianProcess(states, values, dataclasses.replace(HYPER["low"], warp=100.0))
    std = (plain.hyperparameters.noise * plain.variance) ** 0.5 * 100 * plain.range
    ends = values.min(), values.max()
    assert [plain.noise_of(value) for value in ends] == pytest.approx([std] * 2, rel=0.05)
    warped = GaussianProcess(states, values, dataclasses.replace(HYPER["low"], warp=0.01))
    assert warped.noise_of(ends[0]) < 0.05 * warped.noise_of(ends[1])


@pytest.mark.parametrize("side", SIDES)
def test_the_density_of_f_has_the_same_integral_everywhere(side):
    ours = process(side)
    f = np.linspace(ours.low - 20 * ours.range, ours.low + 20 * ours.range, 100_001)
    for state in TEST_STATES[:3]:
        density = np.exp(ours.density(np.tile(state, (len(f), 1)), f))
        assert density.sum() * (f[1] - f[0]) == pytest.approx((2 * np.pi) ** 0.5, rel=1e-3)
    assert np.exp(ours.density_unknown(f)).sum() * (f[1] - f[0]) == pytest.approx((2 * np.pi) ** 0.5, rel=1e-2)
