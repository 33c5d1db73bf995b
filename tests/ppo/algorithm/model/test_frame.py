"""Coordinates relative to a law, and which evaluations are near it."""

import numpy as np
import pytest

from ppo.algorithm.model.frame import LEAST_RADIUS, Frame, nearest
from tests.ppo.algorithm.model.processes import policy_of

LAW = policy_of([[0.9, 0.9], [-0.5, 0.9]], live=[False, True])  # (-0.5, 0.9) under all conditions
STATES = np.array([[-0.5, 0.9, 0.3], [-0.3, 0.9, -1.0], [-0.5, 0.5, 0.0], [0.5, 0.9, 1.0]])  # 0, 0.2, 0.4, 1 away


def test_coordinates_are_knobs_relative_to_the_law_and_conditions_as_they_are():
    found = Frame(LAW, 0.4).coordinates(STATES)
    assert found == pytest.approx(np.array([[0, 0, 0.3], [0.5, 0, -1], [0, -1, 0], [2.5, 0, 1]]))
    assert STATES[1, 0] == -0.3  # they are left as they were


def test_a_window_ends_at_the_bounds():
    low, high = Frame(LAW, 0.4).window(STATES[:1, 2:])
    assert low == pytest.approx(np.array([[-0.9, 0.5]])) and high == pytest.approx(np.array([[-0.1, 1.0]]))


def test_a_window_holds_what_is_within_its_radius_in_each_knob():
    assert Frame(LAW, 0.4).inside(STATES).tolist() == [True, True, True, False]
    rim = np.array([[-0.9, 0.5, 0.0], [-0.9, 0.49, 0.0], [-0.91, 0.5, 0.0]])
    assert Frame(LAW, 0.4).inside(rim).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("least", "least_radius", "taken", "radius"),
    [
        (1, 0.0, [0], LEAST_RADIUS),
        (2, 0.0, [0, 1], 0.2),
        (3, 0.0, [0, 1, 2], 0.4),
        (2, 0.5, [0, 1, 2], 0.5),  # what lies within the least window belongs to it
        (3, 0.3, [0, 1, 2], 0.4),
    ],
)
def test_the_nearest_are_within_the_largest_of_their_distances(least, least_radius, taken, radius):
    found, reach = nearest(LAW, STATES, least, 4, least_radius)
    assert found.tolist() == taken and reach == pytest.approx(radius)


def test_of_many_within_the_least_window_some_are_taken():
    states = np.repeat(STATES[:2], 50, axis=0)
    found, _ = nearest(LAW, states, 3, 11, 0.25)
    assert found.tolist() == sorted(set(found.tolist())) and len(found) == 11
    assert found[0] == 0 and found[-1] == 99
