"""Student's interval is that of tables and of SciPy's tests."""

import numpy as np
import pytest
from scipy import stats

from ppo.evaluation.statistics import student_interval


def test_a_paired_gain_and_its_interval():
    mean, half = student_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert mean == 3
    assert half == pytest.approx(1.963, abs=1e-3)  # 2.776 * sqrt(2.5 / 5)


def test_a_single_value_has_an_infinite_interval():
    assert student_interval(np.array([4.0])) == (4.0, np.inf)


def test_equal_values_have_an_interval_of_0():
    assert student_interval(np.full(7, 2.5)) == (2.5, 0)


def test_the_interval_is_that_of_a_paired_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 2, 12), rng.normal(0, 1, 12)
    mean, half = student_interval(a - b)
    low, high = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (mean - half, mean + half) == pytest.approx((low, high))
