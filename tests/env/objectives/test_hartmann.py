"""Hartmann's functions have their known minima, and no denser search finds better knobs than ``solve``."""

import numpy as np
import pytest
from scipy.optimize import minimize

from env import UsageError
from env.objectives import Hartmann

PLACES = {
    3: [0.114614, 0.555649, 0.852547],
    4: [0.1873, 0.1906, 0.5566, 0.2647],
    6: [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
}
SPLITS = [(dims, knobs) for dims in PLACES for knobs in range(1, dims)]


def value(place, knobs):
    z = 2 * np.array([place]) - 1
    return Hartmann(z.shape[1], knobs)(z[:, :knobs], z[:, knobs:])[0]


@pytest.mark.parametrize(("dims", "knobs"), SPLITS)
def test_known_minima_with_any_split(dims, knobs):
    published = {3: -3.86278, 4: -3.135474 * 0.8387 / 0.839, 6: -3.32237}[dims]  # published with the divisor 0.8387
    assert value(PLACES[dims], knobs) == pytest.approx(published, abs=5e-6)
    c = 2 * np.array([PLACES[dims][knobs:]]) - 1
    x, f = Hartmann(dims, knobs).solve(c)
    assert 0 <= value(PLACES[dims], knobs) - f[0] < 2e-4
    assert (x[0] + 1) / 2 == pytest.approx(PLACES[dims][:knobs], abs=5e-3)


@pytest.mark.parametrize(("dims", "least"), [(3, -3.86278), (4, -3.134494), (6, -3.32237)])
def test_the_minimum_over_all_coordinates(dims, least):
    objective = Hartmann(dims, dims - 1)
    c = np.append(np.linspace(-1, 1, 101), 2 * PLACES[dims][-1] - 1)[:, None]
    assert objective.solve(c)[1].min() == pytest.approx(least, abs=1e-5)


def test_values_of_the_function_of_four_term_by_term():
    z = np.random.default_rng(0).random((20, 4))
    wells = [[10, 3, 17, 3.5], [0.05, 10, 17, 0.1], [3, 3.5, 1.7, 10], [17, 8, 0.05, 10]]
    places = [[1312, 1696, 5569, 124], [2329, 4135, 8307, 3736], [2348, 1451, 3522, 2883], [4047, 8828, 8732, 5743]]
    for row in z:
        total = 0.0
        for depth, steepness, place in zip((1.0, 1.2, 3.0, 3.2), wells, places, strict=True):
            square = sum(a * (u - p / 1e4) ** 2 for a, u, p in zip(steepness, row, place, strict=True))
            total += depth * np.exp(-square)
        assert value(row, 2) == pytest.approx((1.1 - total) / 0.839, abs=1e-12)


@pytest.mark.parametrize(("dims", "knobs"), SPLITS)
def test_no_denser_search_finds_better_knobs(dims, knobs):
    objective, rng = Hartmann(dims, knobs), np.random.default_rng(dims + knobs)
    c = rng.uniform(-1, 1, (24, dims - knobs))
    x, f = objective.solve(c)
    assert f.tobytes() == objective(x, c).tobytes()
    assert np.abs(x).max() <= 1
    candidates = rng.uniform(-1, 1, (8192, knobs))
    for row, least in zip(c, f, strict=True):
        values = objective(candidates, np.broadcast_to(row, (len(candidates), len(row))))
        assert least <= values.min()
    for row, least in zip(c[:2], f, strict=False):
        starts = candidates[np.argsort(objective(candidates, np.broadcast_to(row, (8192, len(row)))))[::400][:6]]
        for start in starts:
            found = minimize(lambda z: objective(z[None], row[None])[0], start, bounds=[(-1, 1)] * knobs)  # noqa: B023
            assert least <= found.fun + 1e-12


def test_sizes_by_default_and_those_that_are_refused():
    sizes = {(one.dims, one.knobs) for one in (Hartmann(), Hartmann(4), Hartmann(3), Hartmann(6, 1))}
    assert sizes == {(6, 4), (4, 2), (3, 2), (6, 1)}
    with pytest.raises(UsageError, match=r"^--dims 5: must be 3, 4 or 6"):
        Hartmann(5)
    with pytest.raises(UsageError, match=r"^--knobs 6: "):
        Hartmann(6, 6)
