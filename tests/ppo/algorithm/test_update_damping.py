"""Updates are scaled by the signal-to-noise ratio of the recent ones, as worked out by hand."""

import numpy as np
import pytest

from ppo.algorithm.update_damping import UpdateDamping


def moved(damping, updates, learning_rate=1.0):
    """What is left of each update."""
    left = []
    for update in updates:
        before = np.zeros(len(update))
        parameters = np.array(update, float)
        damping.damp(parameters, before, learning_rate)
        left.append(parameters)
    return np.array(left)


def test_updates_that_agree_are_left_at_any_learning_rate():
    for learning_rate in (1.0, 1e-3):
        damping = UpdateDamping(2, 0.9)
        assert moved(damping, [[0.5, -2.0]] * 20, learning_rate) == pytest.approx(np.tile([0.5, -2.0], (20, 1)))


def test_by_hand():
    left = moved(UpdateDamping(1, 0.5), [[1.0], [-1.0], [3.0]])
    # means 1/2, -1/4, 11/8 and squares 1/2, 3/4, 39/8 before the corrections by 1/2, 3/4 and 7/8
    factors = [1.0, (1 / 4) / np.sqrt(3 / 4 * 3 / 4), (11 / 8) / np.sqrt(39 / 8 * 7 / 8)]
    assert left[:, 0] == pytest.approx([1.0, -factors[1], 3.0 * factors[2]], rel=1e-6)


def test_noise_is_damped_and_a_signal_in_it_much_less():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 300))
    damped = np.abs(moved(UpdateDamping(300, 0.9), noise)[50:]).mean() / np.abs(noise[50:]).mean()
    assert 0.1 < damped < 0.3  # the root of 1 - 0.9 over 1 + 0.9 is 0.23, times the mean of a half normal
    signal = noise + 2.0
    kept = moved(UpdateDamping(300, 0.9), signal)[50:].mean() / signal[50:].mean()
    assert kept > 0.8


def test_a_restored_damping_goes_on_in_the_same_bits():
    updates = np.random.default_rng(0).normal(size=(6, 5))
    damping = UpdateDamping(5, 0.8)
    moved(damping, updates[:3])
    state = damping.state()
    kept = {name: array.copy() for name, array in state.items()}
    assert set(state) == {"steps", "mean", "square"}
    expected = moved(damping, updates[3:])
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # it is a copy
    copy = UpdateDamping(5, 0.8)
    copy.restore(state)
    assert copy.steps == 3
    assert moved(copy, updates[3:]).tobytes() == expected.tobytes()
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # and is not shared
