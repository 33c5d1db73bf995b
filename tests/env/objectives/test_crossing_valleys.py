"""The best of the crossing valleys changes with the condition, and a law that stays in one of them is bad."""

import numpy as np
import pytest

from env import UsageError
from env.objectives import CrossingValleys, solve_numerically

LINE = np.linspace(-1, 1, 2001)[:, None]


def test_values_by_hand():
    """At c = 0 well k is moved by 0.06 sin(2 pi k / 3) from -0.6, 0 or 0.6; w is 0.12."""
    objective, c = CrossingValleys(), np.zeros((1, 1))
    places = [-0.6, 0.06 * np.sqrt(0.75), 0.6 - 0.06 * np.sqrt(0.75)]
    assert objective.places(c)[0, :, 0] == pytest.approx(places)
    assert objective.depths(c)[0] == pytest.approx([1, 0.325, 0.325])
    expected = 1 - sum(a / (1 + ((0.1 - p) / 0.12) ** 2) for a, p in zip((1, 0.325, 0.325), places, strict=True))
    assert objective(np.array([[0.1]]), c)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("valleys", "jumps"), [(2, 4), (3, 4), (5, 8)])
def test_the_best_knob_jumps_several_times(valleys, jumps):
    objective = CrossingValleys(valleys=valleys)
    x, _ = objective.solve(LINE)
    moves = np.abs(np.diff(x[:, 0]))
    assert (moves > 0.1).sum() == jumps
    assert moves[moves < 0.1].max() < 0.002
    assert x.std() > 0.3


@pytest.mark.parametrize(("dims", "knobs", "valleys"), [(2, 1, 2), (2, 1, 3), (2, 1, 5), (4, 2, 3), (10, 5, 3)])
def test_neither_constant_knobs_nor_a_single_well_is_good(dims, knobs, valleys):
    objective = CrossingValleys(dims, knobs, valleys)
    rng = np.random.default_rng(0)
    c = LINE if dims == 2 else rng.uniform(-1, 1, (1000, dims - knobs))
    _, f = objective.solve(c)
    wells = np.moveaxis(objective.places(c), 1, 0)
    in_one_well = [np.mean(objective(np.ascontiguousarray(places), c) - f) for places in wells]
    rows = c[:: len(c) // 50]
    constants = np.concatenate([wells.reshape(-1, knobs)[::7], rng.uniform(-1, 1, (500, knobs))])
    means = [np.mean(objective(np.tile(x, (len(rows), 1)), rows)) for x in constants]
    assert min(in_one_well) > (0.15 if valleys == 2 else 0.3)
    assert min(means) - f.mean() > (0.25 if valleys == 2 else 0.45)
    assert (np.ptp(f) < 0.5) & (f.min() > -0.2)


@pytest.mark.parametrize(("dims", "knobs", "valleys"), [(3, 1, 4), (4, 2, 3), (4, 2, 8), (8, 4, 3), (10, 5, 5)])
def test_no_denser_search_finds_better_knobs(dims, knobs, valleys):
    objective, rng = CrossingValleys(dims, knobs, valleys), np.random.default_rng(dims)
    c = rng.uniform(-1, 1, (12, dims - knobs))
    x, f = objective.solve(c)
    assert f.tobytes() == objective(x, c).tobytes()
    for row, centres, best, least in zip(c, objective.places(c), x, f, strict=True):
        for middle, reach in ((0.0, 1.0), (centres[rng.integers(valleys)], 0.1), (best, 0.01), (best, 1e-4)):
            candidates = np.clip(middle + reach * rng.uniform(-1, 1, (2000, knobs)), -1, 1)
            assert least <= objective(candidates, np.tile(row, (2000, 1))).min()
    if knobs <= 2:
        assert f[:2] == pytest.approx(solve_numerically(objective, c[:2])[1], abs=1e-10)


def test_f_is_bounded_and_changes_smoothly():
    for sizes in ((2, 1, 2), (2, 1, 9), (3, 2, 3), (9, 4, 40)):
        objective = CrossingValleys(*sizes)
        z = np.random.default_rng(0).uniform(-1, 1, (2000, sizes[0]))
        x, c = z[:, : sizes[1]].copy(), z[:, sizes[1] :].copy()
        assert np.abs(objective.places(c)).max() <= 1
        for knobs in (x, objective.places(c)[:, 0].copy()):
            assert (np.abs(objective(knobs, c) - 0.4) < 0.6).all()
            assert np.abs(objective(knobs, c) - objective(knobs, c + 1e-7)).max() < 1e-4


@pytest.mark.parametrize("valleys", [1, 2.5, "3"])
def test_a_number_of_valleys_that_cannot_be_is_refused(valleys):
    with pytest.raises(UsageError, match=f"^--env-kwargs valleys={valleys}: must be a whole number of at least 2"):
        CrossingValleys(valleys=valleys)
