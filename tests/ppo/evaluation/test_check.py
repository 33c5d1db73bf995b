"""A check has fresh conditions of its own, and says of numbers worked out by hand what they say."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from actors import Law, NetworkSpec, Policy, Snapshot
from ppo.evaluation.check import check_starts, compare, constant_snapshot, mean_knobs
from ppo.evaluation.regret import regret_conditions

# Ten slots with eight conditions: the fifth and the tenth repeat the one before, so that the fourth condition of the
# law has f = 5, the mean of 4 and 6, and the last one of the constant knobs has 11.
LAW = np.array([1.0, 2, 3, 4, 6, 5, 6, 7, 8, 8])
CONSTANT = np.array([3.0, 4, 4, 6, 6, 8, 7, 9, 10, 12])
LAW_VALUES, CONSTANT_VALUES = [1.0, 2, 3, 5, 5, 6, 7, 8], [3.0, 4, 4, 6, 8, 7, 9, 11]
UNCLEAR = np.array([3.0, -2, 3, -2, -2, 3, -2, 3, -2, -2])  # a mean of 0.5 with an interval of 2.2


def found(law=LAW, constant=CONSTANT, offset=0.0, scale=1.0):
    """Compares with two constants of which the second one is better."""
    law, constant = scale * law + offset, scale * constant + offset
    return compare(law, [((0.1, 0.2), constant + scale), ((0.3, -0.4), constant)])


def test_a_larger_check_begins_with_a_smaller_one():
    largest = check_starts(3, 200, 2, 3)
    assert largest.shape == (200, 5)
    for slots in (5, 10, 11, 15, 16, 17, 32, 33, 100):
        starts = check_starts(3, slots, 2, 3)
        assert len(starts) == slots
        assert np.array_equal(starts, largest[: len(starts)])


def test_every_fifth_slot_repeats_the_one_before():
    starts = check_starts(0, 100, 1, 2)
    same = (starts[1:] == starts[:-1]).all(axis=1)
    assert np.flatnonzero(same).tolist() == list(range(3, 99, 5))
    assert len(np.unique(starts, axis=0)) == 80


def test_conditions_fill_their_range_and_knobs_stand_at_the_centre():
    starts = check_starts(1, 80, 2, 2)
    assert (starts[:, :2] == 0).all()
    distinct = np.unique(starts[:, 2:], axis=0)
    for column in distinct.T:
        assert np.histogram(column, 8, (-1, 1))[0].tolist() == [8] * 8  # 64 points of a Sobol sequence
    assert np.abs(starts).max() <= 1


def test_conditions_depend_on_the_seed_and_the_number_of_conditions_alone():
    starts = check_starts(0, 20, 1, 1)
    assert np.array_equal(check_starts(0, 20, 1, 1), starts)
    assert np.array_equal(check_starts(0, 20, 4, 1)[:, 4:], starts[:, 1:])
    others = [check_starts(seed, 20, 1, 1) for seed in (1, 2, 2**32 - 1)]
    distinct = {float(c) for drawn in [starts, *others] for c in drawn[:, 1]}
    assert len(distinct) == 4 * 16
    assert distinct.isdisjoint(regret_conditions(1)[:, 0].tolist())


@pytest.mark.parametrize("hidden_sizes", [(), (5,), (4, 3)])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("normalised", [False, True])
def test_a_constant_snapshot_has_the_same_knobs_everywhere(hidden_sizes, activation, normalised):
    rng = np.random.default_rng(0)
    spec = NetworkSpec(5, hidden_sizes, activation, "gaussian", 2)
    moments = (rng.normal(size=5), rng.uniform(0.1, 2, 5)) if normalised else (None, None)
    snapshot = Snapshot(7, spec, rng.normal(size=spec.size), 0.3, *moments)
    before, knobs = snapshot.to_bytes(), np.array([0.1, -0.9])
    constant = constant_snapshot(snapshot, knobs)
    modes = Policy(constant).mode(rng.normal(0, 100, (37, 5)))
    assert modes.tolist() == [[0.1, -0.9]] * 37
    assert mean_knobs(constant) == pytest.approx(knobs)
    assert (constant.version, constant.spec) == (7, spec)
    assert snapshot.to_bytes() == before


def test_the_mean_knobs_of_a_law_are_those_over_all_conditions():
    spec = NetworkSpec(3, (), "tanh", "gaussian", 2)
    theta = np.zeros(spec.size)
    weight, bias = spec.views(theta)[0]
    weight[2, :2], bias[:2] = [0.5, -2.0], [0.2, 0.0]  # of which the second one is clipped
    snapshot = Snapshot(0, spec, theta)
    assert mean_knobs(snapshot) == pytest.approx([0.2, 0.0])
    assert Law(snapshot)([1.0]) == pytest.approx([0.7, -1.0])


def test_numbers_by_hand():
    check = found()
    assert (check.evaluations, check.conditions) == (30, 8)
    assert (check.law_mean, check.constant_mean, check.constant_knobs) == (4.625, 6.5, [0.3, -0.4])
    assert check.gain == 1.875
    assert check.noise == pytest.approx(1)  # sqrt of half the mean of 4, 0, 0, 4, 0, 4
    low, high = stats.ttest_rel(CONSTANT_VALUES, LAW_VALUES).confidence_interval(0.95)
    assert (check.gain - check.gain_interval, check.gain + check.gain_interval) == pytest.approx((low, high))


def test_the_order_of_the_constants_does_not_matter():
    swapped = compare(LAW, [((0.3, -0.4), CONSTANT), ((0.1, 0.2), CONSTANT + 1)])
    assert swapped == found()


def test_f_without_noise_has_a_noise_of_0():
    law, constant = LAW.copy(), CONSTANT.copy()
    for f in (law, constant):
        f[[4, 9]] = f[[3, 8]]
    assert found(law, constant).noise == 0


def test_noise_is_measured_from_the_repeats():
    rng = np.random.default_rng(0)
    conditions = np.repeat(rng.normal(0, 50, 800), np.tile([1, 1, 1, 2], 200))
    f = [conditions + rng.normal(0, 0.3, 1000) for _ in range(3)]
    assert compare(f[0], [((0.0,), f[1]), ((1.0,), f[2])]).noise == pytest.approx(0.3, rel=0.1)


NO_GAIN = ": spend more, or do not use it"
OUTCOMES = {
    "better": (found(), "better by 28.8 % +- 11 than the best constant knobs", "4.625 against 6.5"),
    "tiny": (found(scale=1e-6), "better by 28.8 % +- 11 than the best constant knobs", "4.625e-06 against 6.5e-06"),
    "negative": (found(offset=-20), "better by 1.88 +- 0.7 than the best constant knobs", "-15.38 against -13.5"),
    "both signs": (found(offset=-5), "better by 1.88 +- 0.7 than the best constant knobs", "-0.375 against 1.5"),
    "worse": (found(CONSTANT, LAW), "worse than constant knobs by 40.5 % +- 15" + NO_GAIN, "6.5 against 4.625"),
    "worse, negative": (
        found(CONSTANT, LAW, -20),
        "worse than constant knobs by 1.88 +- 0.7" + NO_GAIN,
        "-13.5 against -15.38",
    ),
    "equal": (found(LAW, LAW), "no better than constant knobs" + NO_GAIN, "4.625 against 4.625"),
    "unclear": (
        found(LAW, LAW + UNCLEAR),
        "perhaps better, by 9.76 % +- 44, than constant knobs: check with more evaluations",
        "4.625 against 5.125",
    ),
    # Where f is large, and where constant knobs reach its zero, percent of f tell nothing.
    "large": (
        found(offset=1e6),
        "better by 1.88 +- 0.7 than the best constant knobs",
        "1000004.6 against 1000006.5",
    ),
    "large, small differences": (
        found(offset=1e6, scale=2**-7),
        "better by 0.0146 +- 0.0055 than the best constant knobs",
        "1000000.036 against 1000000.051",
    ),
    "nothing left to gain": (
        found(CONSTANT, 1e-17 * LAW),
        "worse than constant knobs by 6.5 +- 2.3" + NO_GAIN,
        "6.5 against 4.625e-17",
    ),
    "unclear, negative": (found(LAW + UNCLEAR, LAW), "no better than constant knobs" + NO_GAIN, "5.125 against 4.625"),
}


def test_large_amounts_have_no_exponent():
    """As where the law's f is a hundredth of what constant knobs give, or the interval wider than the gain."""
    made = dataclasses.replace(found(), constant_mean=10.0, gain=150.0, gain_interval=12.0)
    assert made.words().startswith("better by 1500 % +- 120 than the best constant knobs")


@pytest.mark.parametrize(("check", "outcome", "means"), OUTCOMES.values(), ids=OUTCOMES)
def test_the_outcome_in_words(check, outcome, means):
    where = f"8 fresh conditions, 95 %; noise of f {check.noise:.2g}"
    assert check.words() == f"{outcome} (mean of f {means}; {where})"


def test_what_is_stored_is_json():
    check = found()
    stored = json.loads(json.dumps(check.as_json(), allow_nan=False))
    assert stored == dataclasses.asdict(check) | {"words": check.words()}
    assert stored["constant_knobs"] == [0.3, -0.4]


def test_what_failed_is_left_out_and_told():
    """The law fails at the third condition, and in one of two evaluations of the fourth."""
    law, constant = LAW.copy(), CONSTANT.copy()
    law[[2, 3]] = np.nan
    constant[0] = np.nan
    made = found(law, constant)
    gain = np.array([4.0 - 2, 6 - 6, 8 - 5, 7 - 6, 9 - 7, 11 - 8])
    assert (made.failed, made.constant_failed, made.conditions) == (2, 1, 6)
    assert made.law_mean == pytest.approx(np.mean([2, 6, 5, 6, 7, 8]))
    assert made.gain == pytest.approx(gain.mean())
    assert made.gain_interval == pytest.approx(stats.t.ppf(0.975, 5) * gain.std(ddof=1) / 6**0.5)
    pairs = [0.0, 0.0, 2.0, 0.0, 2.0]  # of the law's last condition, and of both of each constant
    assert made.noise == pytest.approx(np.sqrt(np.mean(np.square(pairs)) / 2))
    told = "; f failed in 2 of 10 evaluations under the law and in 1 under the constant knobs, which are left out"
    assert made.words().endswith(told)
    of_limits = dataclasses.replace(made, constrained=True).words()
    assert of_limits.endswith(told.replace("f failed", "f failed or broke a constraint"))


def test_constant_knobs_that_fail_less_are_the_better_ones():
    often = np.where(np.arange(10) < 5, np.nan, 0.0)
    assert compare(LAW, [((0.1,), often), ((0.2,), CONSTANT)]).constant_knobs == [0.2]


def test_what_was_not_measured_is_left_out_and_is_no_failure():
    law, constant = LAW.copy(), CONSTANT.copy()
    law[0], constant[3] = np.inf, np.inf
    made, (whole, other) = found(law, constant), (found(), found(LAW[1:], CONSTANT[1:]))
    assert (made.conditions, made.failed, made.constant_failed) == (whole.conditions - 1, 0, 0)
    assert made.law_mean == pytest.approx(np.mean(LAW_VALUES[1:])) and np.isfinite(made.noise) and other.conditions
    assert made.constant_knobs == [0.3, -0.4]


def test_two_constants_that_are_the_same_knobs_are_both_counted():
    made = compare(LAW, [((0.3,), np.full(10, np.nan)), ((0.3,), CONSTANT)])
    assert (made.evaluations, made.constant_failed, made.constant_knobs) == (30, 0, [0.3])


def test_a_law_that_always_fails_cannot_be_told_from_constants():
    made = found(np.full(10, np.nan))
    assert made.words().startswith("not to be told from constant knobs")
    assert "failed in 10 of 10 evaluations under the law" in made.words()
    assert json.loads(json.dumps(made.as_json(), allow_nan=False))["gain"] is None
