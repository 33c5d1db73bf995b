"""Actions of a policy become those of an environment: choices, or numbers clipped to [-1, 1] and scaled to bounds."""

import numpy as np
import pytest
from gymnasium import spaces

from actors.action_map import ActionMap


@pytest.mark.parametrize(
    ("space", "actions", "expected"),
    [
        (spaces.Discrete(3, start=5), [[0.0], [2.0]], [5, 7]),
        (spaces.MultiDiscrete([3, 2], start=[-1, 4]), [[0.0, 1.0], [2.0, 0.0]], [[-1, 5], [1, 4]]),
        (spaces.MultiDiscrete([[3, 2]]), [[1.0, 0.0]], [[[1, 0]]]),
        (spaces.Box(-1, 1, (2,)), [[0.25, -3.0]], [[0.25, -1.0]]),
        (spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), dtype=np.float64), [[0.5, -9.0]], [[1.0, 0.0]]),
        (spaces.Box(np.array([-np.inf, 0.0]), np.array([np.inf, 10.0]), dtype=np.float64), [[7.5, 0]], [[7.5, 5.0]]),
        (spaces.Box(0, 8, (1, 2), np.float64), [[-0.5, 1.0]], [[[2.0, 8.0]]]),
    ],
    ids=str,
)
def test_known_actions_of_each_space(space, actions, expected):
    taken = ActionMap(space)(np.array(actions))
    assert taken.tolist() == expected
    assert all(space.contains(action) for action in taken)


def test_scaled_actions_stay_within_bounds_in_single_precision():
    low, width = np.random.default_rng(0).normal(size=(2, 4000))
    space = spaces.Box(low.astype(np.float32), (low + np.abs(width) + 1).astype(np.float32))
    for end in (-1.0, 1.0, 7.0):
        assert space.contains(ActionMap(space)(np.full((1, 4000), end))[0])


def test_actions_that_are_whole_numbers_are_rounded():
    for low, high in ((0, 10), (-1, 1)):
        space = spaces.Box(low, high, (1,), np.int64)
        taken = ActionMap(space)(np.linspace(-1, 1, 2001)[:, None])[:, 0]
        assert taken.dtype == np.int64
        shares = np.bincount(taken - low) / len(taken)
        inside = 1 / (high - low)
        assert shares == pytest.approx([inside / 2, *[inside] * (high - low - 1), inside / 2], abs=0.002)
