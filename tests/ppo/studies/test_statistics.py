"""Statistics over seeds: the middle half, an interval that is the same every time, ratios pair by pair."""

import numpy as np
import pytest

from ppo.studies.statistics import interquartile_mean, interval, ratio, summarised


def test_the_interquartile_mean_drops_a_quarter_at_each_end():
    assert interquartile_mean(np.array([-1e9, 2.0, 4.0, 1e9])) == 3.0


def test_the_interval_holds_the_centre_and_is_reproducible():
    values = np.random.default_rng(0).normal(5, 1, 40).tolist()
    centre, low, high = interval(values)
    assert low < centre < high
    assert 0.3 < high - low < 1.2  # a mean of 20 of 40 draws of unit variance, give or take
    assert interval(values) == (centre, low, high)
    assert interval([2.0, 2.0, 2.0]) == (2.0, 2.0, 2.0)
    assert interval([3.0]) == (3.0, 3.0, 3.0)


def test_ratios_are_taken_pair_by_pair():
    b = [1.0, 1e-3, 50.0, 7.0]
    assert ratio([2 * value for value in b], b) == pytest.approx((2, 2, 2))


def test_a_summary_is_median_interquartile_mean_and_worst():
    assert summarised([1.0, 1.0, 1.0, 9.0])[0] == "1"
    assert summarised([1.0, 1.0, 1.0, 9.0])[2] == "9"
