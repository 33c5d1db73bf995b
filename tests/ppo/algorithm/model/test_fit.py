"""A fit finds length scales, noise and the side of the warp, in any unit of f, and of whatever it is given."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from actors.kernels import KERNEL_NAMES, correlation
from env import OBJECTIVES
from ppo.algorithm.model import fitting as module
from ppo.algorithm.model.fitting import Likelihood, fit, least_warp
from ppo.algorithm.model.gaussian_process import (
    LEAST_NOISE,
    LENGTHS,
    MOST_NOISE,
    SIDES,
    WARPS,
    GaussianProcess,
    Hyperparameters,
    factored,
    first_guesses,
    nearly_polynomial,
    of_pairs,
)
from tests.ppo.algorithm.model.processes import drawn

RADIAL, CPU = ("matern", "rbf"), torch.device("cpu")
RNG_STATES = np.random.default_rng(5).uniform(-1, 1, (9, 2))


def test_a_fit_starts_from_each_kernel_and_side_and_from_a_polynomial():
    plain, polynomial = first_guesses(4), nearly_polynomial(4)
    assert {(one.kernel, one.side) for one in plain} == {(kernel, side) for kernel in RADIAL for side in SIDES}
    assert len(plain) == 4
    assert all((one.lengths == 2).all() and one.noise > LEAST_NOISE for one in plain)
    assert polynomial.kernel == "rbf"
    assert (polynomial.lengths > plain[0].lengths).all() and polynomial.noise < plain[0].noise
    for warped in (polynomial.warp, WARPS[1]):
        places = np.log1p(np.array([0, 0.5, 1]) / warped) * warped
        assert places == pytest.approx([0, 0.5, 1], abs=0.02)  # hardly a warp at all


def test_the_other_kernel_is_all_that_is_other():
    ours = first_guesses(3)[0]
    other = ours.other_kernel
    assert (ours.kernel, other.kernel) == ("matern", "rbf")
    assert other.logs.tolist() == ours.logs.tolist() and other.side == ours.side
    assert other.other_kernel.kernel == "matern"


def of_process(kernel, n, lengths, noise, seed=1):
    """Returns states and values of a draw from a process of three coordinates."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1, 1, (n, 3))
    scaled = states / np.array(lengths)
    covariance = correlation(kernel, scaled, scaled) + noise * np.eye(n)
    return states, np.linalg.cholesky(covariance) @ rng.normal(size=n)


@pytest.mark.parametrize(
    ("kernel", "lengths", "noise", "factor"),
    [
        ("matern", (0.4, 1.2, 5.0), 1e-2, 1.6),
        ("matern", (0.3, 0.8, 20.0), 1e-4, 1.6),
        ("rbf", (0.3, 0.8, 20.0), 1e-4, 1.6),
        ("rbf", (1.0, 1.0, 1.0), 0.2, 2.5),
    ],
)
def test_length_scales_and_noise_of_a_known_process_are_found_roughly(kernel, lengths, noise, factor):
    states, values = of_process(kernel, 200, lengths, noise)
    found = fit(states, values, [one for one in first_guesses(3) if one.kernel == kernel], 40)
    assert np.abs(np.log(found.lengths / lengths)).max() < np.log(factor)
    assert abs(np.log(found.noise / noise)) < np.log(4)
    assert found.warp > 1  # what is Gaussian needs hardly any


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_kernel_of_a_known_process_is_found(kernel, seed):
    states, values = of_process(kernel, 100, (0.7, 1.0, 5.0), 1e-6, seed)
    assert fit(states, values, [*first_guesses(3), of_pairs(3)], 40).kernel == kernel


def bump(x, c):
    """A plain with a deep and narrow hole."""
    return -np.exp(-((x[:, 0] - 0.2) ** 2 + (c[:, 0] - 0.2) ** 2) / (2 * 0.15**2))


@pytest.mark.parametrize(("f", "side"), [(bump, "high"), (OBJECTIVES["rosenbrock"](), "low")], ids=["hole", "valley"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_warp_stretches_the_end_at_which_the_values_crowd(f, side, seed):
    states = np.random.default_rng(seed).uniform(-1, 1, (60, 2))
    found = fit(states, f(states[:, :1], states[:, 1:]), first_guesses(2), 40)
    assert found.side == side


def test_a_fit_is_better_than_its_start_and_stays_within_the_limits():
    states, values = drawn(40)
    for start in first_guesses(3):
        found = fit(states, values, [start], 40)
        assert (found.kernel, found.side) == (start.kernel, start.side)
        after, before = (GaussianProcess(states, values, one).loss_and_slopes()[0] for one in (found, start))
        assert after < before
        for value, (low, high) in [*((length, LENGTHS) for length in found.lengths), (found.warp, WARPS)]:
            assert low / 1.001 < value < high * 1.001
        assert LEAST_NOISE / 1.001 < found.noise < MOST_NOISE * 1.001


@pytest.mark.parametrize("seed", range(3))
def test_of_what_the_starts_led_to_the_likeliest_is_chosen(seed):
    states, values = drawn(25, seed=seed)
    alone = [fit(states, values, [start], 40) for start in first_guesses(3)]
    losses = [factored(states, values, one).loss_and_slopes()[0] for one in alone]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0]):
        found = fit(states, values, [first_guesses(3)[number] for number in order], 40)
        best = min(order, key=losses.__getitem__)
        assert (found.kernel, found.side, *found.logs) == (alone[best].kernel, alone[best].side, *alone[best].logs)


def quartic(states):
    """A narrow valley that winds through three coordinates."""
    x, y, z = states.T
    return 10 * (x - y * y) ** 2 + (y - z) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_a_polynomial_is_predicted_nearly_exactly(seed):
    rng = np.random.default_rng(seed)
    states, asked = rng.uniform(-1, 1, (60, 3)), rng.uniform(-1, 1, (200, 3))
    errors = []
    for starts in ([nearly_polynomial(3)], [one for one in first_guesses(3) if one.kernel != "rbf"]):
        ours = factored(states, quartic(states), fit(states, quartic(states), starts, 40))
        errors.append(np.abs(ours.unwarped(ours.mean(asked)) - quartic(asked)).max() / ours.range)
    assert errors[0] < 5e-3 and errors[1] > 10 * errors[0]


def test_what_sums_functions_of_two_coordinates_is_predicted_from_few_evaluations():
    """There are 28 pairs of the eight coordinates, and 6 evaluations for each."""
    rng = np.random.default_rng(0)
    states, asked = rng.uniform(-1, 1, (160, 8)), rng.uniform(-1, 1, (200, 8))

    def f(states):
        return (10 * (states[:, 1:] - states[:, :-1] ** 2) ** 2).sum(axis=1)

    errors = []
    for starts in ([of_pairs(8)], [*first_guesses(8), nearly_polynomial(8)]):
        ours = factored(states, f(states), fit(states, f(states), starts, 40))
        errors.append(np.abs(ours.unwarped(ours.mean(asked)) - f(asked)).mean() / f(asked).std())
    assert errors[0] < 0.1 and errors[1] > 4 * errors[0]


def test_a_fit_that_starts_where_another_ended_stays_there():
    states, values = drawn(40)
    first = fit(states, values, first_guesses(3), 200)
    again = fit(states, values, [first], 200)
    assert (again.side, again.kernel) == (first.side, first.kernel)
    assert again.logs == pytest.approx(first.logs, abs=0.05)


@pytest.mark.parametrize("power", [-20, 1, 33])
def test_f_times_a_power_of_two_is_fitted_by_the_same_bits(power):
    states, values = drawn(30)
    ours, scaled = (fit(states, f, first_guesses(3), 40) for f in (values, values * 2.0**power))
    assert (scaled.logs.tobytes(), scaled.side, scaled.kernel) == (ours.logs.tobytes(), ours.side, ours.kernel)


def repeated(states, values):
    """Returns the same with two equal points."""
    return np.concatenate([states, states[:1]]), np.concatenate([values, values[:1]])


NINE = np.sin(3 * RNG_STATES).sum(axis=1)
DEGENERATE = {
    **{f"{n} points": (RNG_STATES[:n], NINE[:n]) for n in range(1, 6)},
    **{f"{n} equal values": (RNG_STATES[:n], np.full(n, 3.7)) for n in (1, 2, 5, 9)},
    "zeros": (RNG_STATES, np.zeros(9)),
    "two equal points": repeated(RNG_STATES, NINE),
    "two points that differ in f alone": (repeated(RNG_STATES, NINE)[0], np.append(NINE, NINE[0] + 1)),
    "the same point again and again": (np.tile(RNG_STATES[0], (9, 1)), NINE),
    "the same point and value": (np.tile(RNG_STATES[0], (9, 1)), np.ones(9)),
    "a coordinate that stands": (np.column_stack([RNG_STATES[:, 0], np.full(9, 0.3)]), NINE),
    "two values": (RNG_STATES, (NINE > 0).astype(float)),
    "one low value": (RNG_STATES, (np.arange(9) > 0).astype(float)),
    "one high value": (RNG_STATES, np.where(np.arange(9) == 4, 1e12, NINE)),
    "differences in the last bit": (RNG_STATES, 1 + 2.0**-52 * np.arange(9)),
    "huge values": (RNG_STATES, 1e300 * NINE),
    "tiny values": (RNG_STATES, 1e-305 * NINE),
}


@pytest.mark.parametrize(("states", "values"), DEGENERATE.values(), ids=DEGENERATE)
def test_whatever_is_given_what_is_predicted_is_finite(states, values):
    rng = np.random.default_rng(0)
    for start in [*first_guesses(2), of_pairs(2)]:
        ours = factored(states, values, fit(states, values, [start], 40))
        assert np.isfinite(ours.hyperparameters.logs).all()
        asked = np.concatenate([rng.uniform(-1, 1, (20, 2)), states])
        mean, std = ours.mean_and_std(asked)
        assert np.isfinite([mean, std]).all() and (std > 0).all()
        assert np.isfinite(ours.mean_and_slope(asked, 1)[1]).all()
        assert np.isfinite(ours.critic().unwarped(mean)).all()
        assert np.isfinite(np.append(*ours.loss_and_slopes()[::-1])).all()


def test_of_equal_values_nothing_else_is_expected():
    values = np.full(9, 3.7)
    ours = factored(RNG_STATES, values, fit(RNG_STATES, values, first_guesses(2), 40))
    elsewhere = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    assert ours.critic().unwarped(ours.mean(elsewhere)).tolist() == [3.7] * 20


def test_of_two_equal_points_that_differ_in_f_the_mean_is_expected():
    states = np.tile(RNG_STATES[:1], (2, 1))
    for start in first_guesses(2):
        ours = factored(states, np.array([1.0, 3.0]), start)
        assert ours.mean(states) == pytest.approx(ours.targets.mean())


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("noise", "warp"), [(1e-6, 1e-3), (0.02, 0.3), (3.0, 30.0)])
def test_torch_computes_the_loss_and_the_slopes_that_numpy_does(noise, warp, side, kernel):
    states, values = repeated(*drawn(40))
    hyper = Hyperparameters(np.array([0.7, 1.5, 3.0]), noise, warp, side, kernel)
    loss, slopes = GaussianProcess(states, values, hyper).loss_and_slopes()
    found, by_torch = Likelihood(states, values, CPU).loss_and_slopes(hyper)
    assert found == pytest.approx(loss, rel=1e-8)
    assert by_torch == pytest.approx(slopes, rel=1e-6, abs=1e-6)


def test_where_torch_cannot_factor_a_covariance_a_fit_goes_on_from_elsewhere(monkeypatch):
    monkeypatch.setattr(module, "LEAST_NOISE", 1e-25)
    states, values = drawn(20)
    states, values = np.tile(states, (3, 1)), np.tile(values, 3)
    hyper = Hyperparameters(np.full(3, 1.5), 1e-19, 1.0, "low")
    with pytest.raises(torch.linalg.LinAlgError):
        Likelihood(states, values, CPU).loss_and_slopes(hyper)
    assert fit(states, values, [hyper, first_guesses(3)[2]], 3, CPU).side == "high"


@pytest.mark.parametrize("seed", range(2))
def test_a_fit_by_torch_finds_what_one_by_numpy_does(seed):
    states, values = of_process("matern", 80, (0.4, 1.2, 5.0), 1e-2, seed)
    ours, theirs = (fit(states, values, first_guesses(3), 200, device) for device in (None, CPU))
    assert (ours.side, ours.kernel) == (theirs.side, theirs.kernel)
    losses = [GaussianProcess(states, values, one).loss_and_slopes()[0] for one in (ours, theirs)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-3)


@pytest.mark.parametrize(("states", "values"), DEGENERATE.values(), ids=DEGENERATE)
def test_whatever_is_given_a_fit_by_torch_is_finite(states, values):
    for start in [*first_guesses(2), of_pairs(2)]:
        assert np.isfinite(fit(states, values, [start], 15, CPU).logs).all()


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("copies", [2, 30])
def test_where_points_are_equal_the_noise_is_raised_until_the_covariance_can_be_factored(kernel, copies):
    states, values = drawn(20)
    states, values = np.tile(states, (copies, 1)), np.tile(values, copies)
    hyper = Hyperparameters(np.full(3, 1.5), 1e-19, 1.0, "low", kernel)
    with pytest.raises(np.linalg.LinAlgError):
        GaussianProcess(states, values, hyper)
    ours = factored(states, values, hyper)
    raised = ours.hyperparameters
    assert hyper.noise < raised.noise < 1e-9
    assert (raised.lengths.tolist(), raised.warp, raised.side, raised.kernel) == ([1.5] * 3, 1.0, "low", kernel)
    powers = np.log10(raised.noise / hyper.noise)
    assert powers == pytest.approx(round(powers))
    with pytest.raises(np.linalg.LinAlgError):
        GaussianProcess(states, values, hyper.at(hyper.logs + np.log([1, 1, 1, raised.noise / hyper.noise / 10, 1])))
    assert np.isfinite(np.append(ours.mean(states), ours.left_out_density())).all()


def test_a_process_that_can_be_factored_keeps_its_noise():
    states, values = drawn(20)
    hyper = first_guesses(3)[0]
    assert factored(states, values, hyper).hyperparameters is hyper


@pytest.mark.parametrize("starts", [first_guesses(3), first_guesses(3)[-1:]], ids=["all", "polynomial"])
@pytest.mark.parametrize("least", [LEAST_NOISE, 1e-25], ids=["", "too little noise"])
def test_a_fit_to_equal_points_does_not_raise(starts, least, monkeypatch):
    monkeypatch.setattr(module, "LEAST_NOISE", least)
    states, values = drawn(30)
    states, values = np.tile(states, (3, 1)), np.tile(values, 3)
    ours = factored(states, values, fit(states, values, starts, 15))
    assert np.abs(ours.unwarped(ours.mean(states)) - values).max() < 0.02 * ours.range


@pytest.mark.parametrize("seed", range(3))
def test_of_a_clipped_f_the_values_above_are_still_told_apart(seed):
    """Were the warp free, a smaller one would be ever likelier, since a third of the values are the least one."""
    rng, branin = np.random.default_rng(seed), OBJECTIVES["branin"]()
    states, others = rng.uniform(-1, 1, (60, 2)), rng.uniform(-1, 1, (500, 2))
    f, others_f = (branin(z[:, :1], z[:, 1:]) for z in (states, others))
    values = np.maximum(f, np.quantile(f, 0.3))
    found = fit(states, values, first_guesses(2), 40)
    above = others_f > values.min()
    expected = factored(states, values, found).mean(others)[above]
    assert spearmanr(expected, others_f[above]).statistic > 0.98


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (np.linspace(0, 1, 10), -10, -10),
        (np.array([3.0, 3, 3, 5, 7, 7]), -2, -3),
        (np.r_[np.zeros(2), np.linspace(1, 2, 98)], np.log(WARPS[0]), np.log(WARPS[0])),
        (np.ones(4), -1, -1),
    ],
)
def test_the_least_warp_is_that_of_the_ties_at_its_end(values, low, high):
    assert np.log([least_warp(values, side) for side in SIDES]) == pytest.approx([low, high])
