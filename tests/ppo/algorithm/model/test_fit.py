"""A fit finds length scales, noise and the side of the warp, in any unit of f, and of whatever it is given."""

import numpy as np
import pytest

from env import OBJECTIVES
from ppo.algorithm.model.gaussian_process import (
    LEAST_NOISE,
    LENGTHS,
    MOST_NOISE,
    WARPS,
    GaussianProcess,
    first_guess,
    fit,
    matern,
)
from tests.ppo.algorithm.model.processes import drawn

RNG_STATES = np.random.default_rng(5).uniform(-1, 1, (9, 2))


def both(dims):
    return [first_guess(dims, "low"), first_guess(dims, "high")]


@pytest.mark.parametrize(
    ("lengths", "noise", "factor"),
    [((0.4, 1.2, 5.0), 1e-2, 1.6), ((0.3, 0.8, 20.0), 1e-4, 1.6), ((1.0, 1.0, 1.0), 0.2, 2.5)],
)
def test_length_scales_and_noise_of_a_known_process_are_found_roughly(lengths, noise, factor):
    rng = np.random.default_rng(1)
    states = rng.uniform(-1, 1, (200, 3))
    scaled = states / np.array(lengths)
    values = np.linalg.cholesky(matern(scaled, scaled) + noise * np.eye(200)) @ rng.normal(size=200)
    found = fit(states, values, both(3), 40)
    assert np.abs(np.log(found.lengths / lengths)).max() < np.log(factor)
    assert abs(np.log(found.noise / noise)) < np.log(4)
    assert found.warp > 1  # what is Gaussian needs hardly any


def bump(x, c):
    """A plain with a deep and narrow hole."""
    return -np.exp(-((x[:, 0] - 0.2) ** 2 + (c[:, 0] - 0.2) ** 2) / (2 * 0.15**2))


@pytest.mark.parametrize(("f", "side"), [(bump, "high"), (OBJECTIVES["rosenbrock"](), "low")], ids=["hole", "valley"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_warp_stretches_the_end_at_which_the_values_crowd(f, side, seed):
    states = np.random.default_rng(seed).uniform(-1, 1, (60, 2))
    found = fit(states, f(states[:, :1], states[:, 1:]), both(2), 40)
    assert found.side == side


def test_a_fit_is_better_than_its_starts_and_stays_within_the_limits():
    states, values = drawn(40)
    starts = both(3)
    found = fit(states, values, starts, 40)
    losses = [GaussianProcess(states, values, hyper).loss_and_slopes()[0] for hyper in (found, *starts)]
    assert losses[0] < min(losses[1:])
    for value, (low, high) in [*((length, LENGTHS) for length in found.lengths), (found.warp, WARPS)]:
        assert low / 1.001 < value < high * 1.001
    assert LEAST_NOISE / 1.001 < found.noise < MOST_NOISE * 1.001


def test_a_fit_that_starts_where_another_ended_stays_there():
    states, values = drawn(40)
    first = fit(states, values, both(3), 200)
    again = fit(states, values, [first], 200)
    assert again.side == first.side
    assert again.logs == pytest.approx(first.logs, abs=0.05)


@pytest.mark.parametrize("power", [-20, 1, 33])
def test_f_times_a_power_of_two_is_fitted_by_the_same_bits(power):
    states, values = drawn(30)
    ours, scaled = (fit(states, f, both(3), 40) for f in (values, values * 2.0**power))
    assert (scaled.logs.tobytes(), scaled.side) == (ours.logs.tobytes(), ours.side)


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
    for start in both(2):
        ours = GaussianProcess(states, values, fit(states, values, [start], 40))
        assert np.isfinite(ours.hyperparameters.logs).all()
        asked = np.concatenate([rng.uniform(-1, 1, (20, 2)), states])
        mean, std = ours.mean_and_std(asked)
        assert np.isfinite([mean, std]).all() and (std > 0).all()
        assert np.isfinite(ours.mean_and_slope(asked, 1)[1]).all()
        assert np.isfinite(ours.critic().unwarped(mean)).all()
        assert np.isfinite(np.append(*ours.loss_and_slopes()[::-1])).all()


def test_of_equal_values_nothing_else_is_expected():
    values = np.full(9, 3.7)
    ours = GaussianProcess(RNG_STATES, values, fit(RNG_STATES, values, both(2), 40))
    elsewhere = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    assert ours.critic().unwarped(ours.mean(elsewhere)).tolist() == [3.7] * 20


def test_of_two_equal_points_that_differ_in_f_the_mean_is_expected():
    states = np.tile(RNG_STATES[:1], (2, 1))
    ours = GaussianProcess(states, np.array([1.0, 3.0]), first_guess(2, "low"))
    assert ours.mean(states) == pytest.approx(ours.targets.mean())
