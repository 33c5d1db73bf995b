"""Student's interval is that of tables and of SciPy's tests; numbers that differ are not printed alike."""

import numpy as np
import pytest
from scipy import stats

from ppo.evaluation.statistics import student_interval, told_apart


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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((4.625, 6.5), ["4.625", "6.5"]),
        ((1.0, 1.0), ["1", "1"]),
        ((1e6 + 0.05, 1e6 + 0.0625), ["1000000.05", "1000000.062"]),
        ((1e6, 1e6 + 12.5), ["1000000", "1000012"]),
        ((-1e6, -1e6 + 300, -1e6), ["-1000000", "-999700", "-1000000"]),
        ((1.0, np.nextafter(1.0, 2)), ["1", "1.0000000000000002"]),
        ((0.0, 1e-300), ["0", "1e-300"]),
        ((np.inf, 1.0), ["inf", "1"]),
        ((np.nan, 1.0), ["nan", "1"]),
    ],
    ids=str,
)
def test_numbers_are_told_apart(values, words):
    assert told_apart(*values) == words


def test_of_several_numbers_a_difference_can_be_chosen():
    assert told_apart(1e6, 1e6 + 0.5, 2e6, digits=6) == ["1e+06", "1e+06", "2e+06"]
    assert told_apart(1e6, 1e6 + 0.5, 2e6, digits=6, difference=0.5) == ["1000000", "1000000.5", "2000000"]
