"""The scale of the value network follows the targets, and moving it moves no value."""

import numpy as np
import pytest

from ppo.algorithm.value_scale import LATEST, LEAST_STD, ValueScale


def scale_after(*steps):
    """A scale, and a layer of three inputs whose outputs it scales, after the targets of training steps."""
    scale, weight, bias = ValueScale(), np.array([[1.0], [-2.0], [0.5]]), np.array([0.25])
    for targets in steps:
        scale.update(np.array(targets), weight, bias)
    return scale, weight, bias


def test_the_first_step_sets_it():
    scale, weight, bias = scale_after([[1.0, 3.0], [5.0, 7.0]])
    assert (scale.steps, scale.mean, scale.std) == (1, 4.0, pytest.approx(5**0.5))
    assert weight[:, 0].tolist() == [1.0, -2.0, 0.5]
    assert bias.tolist() == [0.25]


def test_few_steps_count_alike_and_later_ones_a_tenth():
    scale, _, _ = scale_after([0.0, 2.0], [10.0, 12.0])
    assert scale.mean == pytest.approx(6.0)
    assert scale.std**2 == pytest.approx(np.var([0.0, 2.0, 10.0, 12.0]))
    many, _, _ = scale_after(*[[0.0, 2.0]] * 50, [101.0, 101.0])
    assert many.mean == pytest.approx(1.0 + LATEST * 100)
    assert many.std**2 == pytest.approx((1 - LATEST) * 1.0 + LATEST * (1 - LATEST) * 100**2)


def test_no_value_moves_with_it():
    scale, weight, bias = scale_after([1.0, 3.0])
    inputs = np.random.default_rng(0).normal(size=(7, 3))
    before = scale.values((inputs @ weight + bias)[:, 0])
    scale.update(np.array([400.0, -100.0, 7.0]), weight, bias)
    assert scale.std > 50
    assert scale.values((inputs @ weight + bias)[:, 0]) == pytest.approx(before, rel=1e-12)


def test_outputs_are_what_gives_the_values():
    scale, _, _ = scale_after([1.0, 3.0, 8.0])
    values = np.array([[1.0, 2.0], [-5.0, 0.0]])
    assert scale.values(scale.outputs(values)) == pytest.approx(values)
    assert scale.outputs(np.array([1.0, 3.0, 8.0])).std() == pytest.approx(1.0)


def test_targets_that_are_all_alike_leave_a_std():
    scale, _, _ = scale_after([3.0, 3.0])
    assert (scale.mean, scale.std) == (3.0, LEAST_STD)
    assert np.isfinite(scale.outputs(np.array([3.0, 4.0]))).all()


def test_it_goes_on_from_its_state():
    scale, weight, bias = scale_after([1.0, 3.0], [2.0, 9.0])
    taken = ValueScale()
    taken.restore(scale.state())
    other = weight.copy(), bias.copy()
    for one, layer in ((scale, (weight, bias)), (taken, other)):
        one.update(np.array([7.0, 20.0]), *layer)
    assert (taken.steps, taken.mean, taken.std) == (scale.steps, scale.mean, scale.std)
    assert other[0].tolist() == weight.tolist()
