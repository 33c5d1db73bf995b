"""Kernels give the correlation of one pair of points at a time."""

import numpy as np
import pytest

from actors.kernels import KERNEL_NAMES, correlation, matern, pairs, rational, rbf, squared_distances
from tests.actors import mixtures

RNG = np.random.default_rng(1)
A, B, LENGTHS = RNG.normal(size=(4, 3)), RNG.normal(size=(6, 3)), np.array([0.3, 1.0, 4.0])


def test_squared_distances_are_those_of_one_pair_at_a_time():
    expected = [[((one - other) ** 2).sum() for other in B] for one in A]
    assert squared_distances(A, B) == pytest.approx(np.array(expected), rel=1e-12)
    assert squared_distances(A, A).diagonal().tolist() == [0] * 4


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_the_correlation_is_that_of_one_pair_at_a_time(kernel):
    a, b = A / LENGTHS, B / LENGTHS
    before = a.tolist(), b.tolist()
    found = correlation(kernel, a, b)
    assert found == pytest.approx(mixtures.correlation(A, B, LENGTHS, kernel), rel=1e-12)
    assert (a.tolist(), b.tolist()) == before
    assert correlation(kernel, A, A).diagonal() == pytest.approx(np.ones(4), rel=1e-15)


def test_of_two_coordinates_there_is_one_pair():
    squared = RNG.random((2, 5))
    assert pairs(squared) == pytest.approx(rational(squared[0]) * rational(squared[1]))


@pytest.mark.parametrize("kernel", [matern, rational, rbf])
def test_a_kernel_leaves_the_distances_as_they_are(kernel):
    squared = RNG.random(7)
    before = squared.tolist()
    kernel(squared)
    assert squared.tolist() == before
