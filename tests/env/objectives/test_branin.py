"""Branin's function has its three known minima, whichever coordinate is given, and its best knobs are exact."""

import numpy as np
import pytest

from env import UsageError
from env.objectives import Branin, solve_numerically

MINIMUM = 10 / (8 * np.pi)
MINIMA = [(-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475)]


def normalised(first, second):
    return 2 * (first + 5) / 15 - 1, 2 * second / 15 - 1


@pytest.mark.parametrize("place", MINIMA)
def test_the_known_minima_are_found_from_either_coordinate(place):
    first, second = normalised(*place)
    for given, knob, condition in ((2, first, second), (1, second, first)):
        objective = Branin(given=given)
        assert objective(np.array([[knob]]), np.array([[condition]]))[0] == pytest.approx(MINIMUM, abs=1e-12)
        x, f = objective.solve(np.array([[condition]]))
        assert f[0] == pytest.approx(MINIMUM, abs=1e-12)
        assert x[0, 0] == pytest.approx(knob, abs=1e-6)


@pytest.mark.parametrize(
    ("raw", "value"),
    # 0: (0 - 6)^2 + 10 (1 - 1 / (8 pi)) + 10; the others are f at two corners, to the digits of the parameters.
    [((0.0, 0.0), 36 + 20 - 10 / (8 * np.pi)), ((-5.0, 0.0), 308.1291), ((10.0, 15.0), 145.8722)],
)
def test_values_by_hand(raw, value):
    first, second = normalised(*raw)
    assert Branin()(np.array([[first]]), np.array([[second]]))[0] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(("given", "jumps"), [(1, 0), (2, 2)])
def test_the_best_knob_is_that_of_a_search_and_jumps_twice_with_x2_given(given, jumps):
    objective, c = Branin(given=given), np.linspace(-1, 1, 2001)[:, None]
    x, f = objective.solve(c)
    _, searched = solve_numerically(objective, c[::250])
    assert f[::250] == pytest.approx(searched, abs=1e-10)
    assert (np.abs(np.diff(x[:, 0])) > 0.1).sum() == jumps


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dims": 3}, "^--dims 3: must be 2"),
        ({"knobs": 2}, "^--knobs 2: "),
        ({"given": 3}, "^--env-kwargs given=3: must be 1 or 2"),
    ],
)
def test_other_sizes_are_refused(keywords, message):
    with pytest.raises(UsageError, match=message):
        Branin(**keywords)
