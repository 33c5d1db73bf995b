"""Laws are judged at a grid on a line, or at the first points of a Sobol sequence, every time the same."""

import numpy as np
import pytest

from ppo.algorithm.conditions import fixed_conditions


def test_one_condition_is_a_grid_with_both_ends():
    assert fixed_conditions(1, 5, 64) == pytest.approx(np.array([[-1], [-0.5], [0], [0.5], [1]]))


def test_several_conditions_fill_the_cube_evenly():
    points = fixed_conditions(2, 21, 4)
    # The first four points of the sequence in [0, 1]^2: (0, 0), (1/2, 1/2), (3/4, 1/4), (1/4, 3/4).
    assert points.tolist() == [[-1, -1], [0, 0], [0.5, -0.5], [-0.5, 0.5]]
    assert fixed_conditions(3, 21, 64).mean(axis=0) == pytest.approx([0, 0, 0], abs=0.05)
