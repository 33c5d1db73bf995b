"""Warps are standardised, keep the order of f whatever its sign, and know their slopes."""

import numpy as np
import pytest

from ppo.experiments.rivals.warp import Warp

F = np.array([-3.0, 40.0, 5.0, -2.5, 900.0, 0.0, 17.0])


@pytest.mark.parametrize("warp", [Warp.of(F, 7), Warp.of(F, 3), Warp.identity(F)])
def test_warped_values_are_standardised_and_ordered(warp):
    y = warp(F)
    assert y.mean() == pytest.approx(0, abs=1e-12)
    assert y.std() == pytest.approx(1)
    np.testing.assert_array_equal(np.argsort(y), np.argsort(F))


@pytest.mark.parametrize("warp", [Warp.of(F, 7), Warp.identity(F)])
def test_slopes_are_those_of_the_warp(warp):
    step = 1e-6
    numeric = (warp(F + step) - warp(F)) / step
    assert warp.log_slopes(F) == pytest.approx(np.log(numeric).sum(), rel=1e-5)


def test_the_unit_is_set_by_the_first_evaluations_alone():
    near = np.concatenate([F, np.full(100, -2.99)])
    assert Warp.of(near, 7).unit == Warp.of(F, 7).unit == 8.0  # the median of F is 5 and its least -3


def test_what_is_below_the_least_counts_as_the_least():
    warp = Warp.of(F, 7)
    assert warp(np.array([-100.0])) == warp(np.array([-3.0]))


def test_equal_values_are_warped_to_0():
    np.testing.assert_array_equal(Warp.of(np.full(4, 2.0), 4)(np.full(4, 2.0)), np.zeros(4))
