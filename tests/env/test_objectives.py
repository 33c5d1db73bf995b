"""Objectives have their known values and minima; a row's value does not depend on its batch."""

import numpy as np
import pytest

from env import OBJECTIVES, UsageError
from env.objectives import Ackley, Rosenbrock, ShiftedAckley, Sphere, solve_numerically
from tests.problems import Quadratic

ONE_KNOB = {"hartmann": {"dims": 3, "knobs": 1}}  # sizes with a single knob, of those that have more by default
SIZES = {"branin": [(2, 1)], "hartmann": [(3, 1), (4, 2), (6, 4)], "noisy": [(2, 1)]}
ANY_SIZE = [(2, 1), (3, 1), (10, 5)]


def conditions(count, dims, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, dims))


@pytest.mark.parametrize(
    ("objective", "x", "c", "expected"),
    [
        (Ackley(), [0.0], [0.0], 0.0),
        # Ackley(1, 0) in raw units, worked out by hand: 20 - 20 exp(-0.2 sqrt(1/2)) + e - exp(1) = 2.6375...
        (Ackley(), [1 / 32.768], [0.0], 20 - 20 * np.exp(-0.2 * np.sqrt(0.5))),
        (Rosenbrock(), [1 / 2.048], [1 / 2.048], 0.0),
        (Rosenbrock(), [0.0], [0.0], 1.0),
        (Rosenbrock(), [-1.0], [1.0], 100 * (2.048 - 2.048**2) ** 2 + 3.048**2),
        (Sphere(), [0.5], [-1.0], 2.56**2 + 5.12**2),
        (ShiftedAckley(), [0.5 * np.sin(0.2 * np.pi)], [0.4], 0.0),
        # One raw unit off its best knob: 20 - 20 exp(-0.2) + e - e.
        (ShiftedAckley(), [0.5 * np.sin(0.2 * np.pi) + 1 / 32.768], [0.4], 20 - 20 * np.exp(-0.2)),
    ],
)
def test_known_values(objective, x, c, expected):
    assert objective(np.array([x]), np.array([c]))[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "noisy"])
def test_solve_is_never_above_a_dense_grid(name):
    objective = OBJECTIVES[name](**ONE_KNOB.get(name, {}))
    c = conditions(40, objective.conditions)
    best, least = objective.solve(c)
    grid = np.linspace(-1, 1, 20001)[:, None]
    for row, x, f in zip(c, best, least, strict=True):
        values = objective(grid, np.broadcast_to(row, (len(grid), len(row))))
        assert f <= values.min() + 1e-9
        assert f == objective(x[None], row[None])[0]
        assert np.abs(x).max() <= 1


def test_rosenbrocks_minimiser_is_on_the_positive_branch():
    c = np.linspace(-1, 1, 21)[:, None]
    x, _ = Rosenbrock().solve(c)
    assert (x > 0).all()
    raw_x, raw_y = 2.048 * x[:, 0], 2.048 * c[:, 0]
    inside = np.abs(x[:, 0]) < 1
    assert np.abs(400 * raw_x**3 + (2 - 400 * raw_y) * raw_x - 2)[inside].max() < 1e-9


def rosenbrock_by_dynamic_programming(c, knobs, points=1601):
    """Returns the least f over a grid of the knobs: exact on the grid, since each term links two neighbours only."""
    z = np.linspace(-2.048, 2.048, points)
    cost = np.zeros(points)
    for _ in range(knobs - 1):
        cost = np.min(cost[:, None] + 100 * (z[None] - z[:, None] ** 2) ** 2 + (1 - z[:, None]) ** 2, axis=0)
    tail = 2.048 * c
    rest = np.sum(100 * (tail[1:] - tail[:-1] ** 2) ** 2 + (1 - tail[:-1]) ** 2)
    return np.min(cost + 100 * (tail[0] - z**2) ** 2 + (1 - z) ** 2) + rest


@pytest.mark.parametrize(("dims", "knobs"), [(3, 2), (4, 3), (5, 4), (7, 4), (8, 6), (10, 5)])
def test_rosenbrock_of_several_knobs_by_dynamic_programming(dims, knobs):
    objective = Rosenbrock(dims, knobs)
    c = np.concatenate([conditions(4, dims - knobs), np.full((1, dims - knobs), 0.6)])
    x, f = objective.solve(c)
    assert f == pytest.approx(objective(x, c), rel=1e-12)
    for row, value in zip(c, f, strict=True):
        on_grid = rosenbrock_by_dynamic_programming(row, knobs)
        # Never above the grid's best, and below it by no more than the grid's spacing explains.
        assert value <= on_grid + 1e-9
        assert on_grid - value < 0.1
    _, searched = solve_numerically(objective, c)
    assert f == pytest.approx(np.minimum(f, searched), abs=1e-9)


def test_shifted_ackleys_best_knobs_move_and_a_constant_is_bad():
    objective = ShiftedAckley(4, 2)
    c = conditions(200, 2)
    x, f = objective.solve(c)
    assert x.std(axis=0).min() > 0.1
    assert np.abs(x).max() <= 0.5
    constant = objective(np.broadcast_to(x.mean(axis=0), x.shape), c)
    assert np.median(constant - f) > 5


def test_solve_numerically_finds_a_quadratics_minimum():
    c = conditions(5, 1)
    x, f = solve_numerically(Quadratic(), c)
    assert f == pytest.approx(np.zeros(5), abs=1e-12)
    assert x == pytest.approx(Quadratic().best(c), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "dims", "knobs"), [(name, *sizes) for name in OBJECTIVES for sizes in SIZES.get(name, ANY_SIZE)]
)
def test_a_rows_bits_do_not_depend_on_its_batch(name, dims, knobs):
    objective = OBJECTIVES[name](dims, knobs)
    z = conditions(65, dims)
    whole = objective(z[:, :knobs].copy(), z[:, knobs:].copy())
    for size in (1, 2, 3, 5, 7, 8, 13, 16, 31, 64):
        for start in range(0, 65 - size, size):
            rows = z[start : start + size]
            values = objective(rows[:, :knobs].copy(), rows[:, knobs:].copy())
            assert values.tobytes() == whole[start : start + size].tobytes()


@pytest.mark.parametrize(("dims", "knobs", "flag"), [(1, 1, "--dims"), (2, 2, "--knobs"), (3, 0, "--knobs")])
def test_impossible_sizes_are_named(dims, knobs, flag):
    with pytest.raises(UsageError, match=flag):
        Sphere(dims, knobs)
