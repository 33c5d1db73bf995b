"""A budget is never exceeded and hardly wasted, and its schedules end in the defaults."""

import itertools

import numpy as np
import pytest

from env import UsageError
from ppo.config import defaults
from ppo.config.budget import (
    LEAST_SLOTS,
    LINEAR,
    LOGARITHMIC,
    MOST_SLOTS,
    SLOTS,
    model_suits_budget,
    planned_rounds,
    schedules,
    training_plan,
)

BUDGETS = [*range(1, 700), *range(700, 20_000, 97), 40_001, 300_000, 1_000_003]
FIELDS = {"std_floor", "std_floor_final", "std_floor_power", "rank_fade", "warmup", "update_damping"}


def plans(per_slot, episodes=None):
    """Yields budget, training steps and slots of a step, of all budgets for which there is a plan."""
    least = per_slot * max(episodes or 0, LEAST_SLOTS)
    for evaluations in BUDGETS:
        if evaluations >= least:
            yield evaluations, *training_plan(evaluations, per_slot, episodes)


@pytest.mark.parametrize("per_slot", range(1, 7))
def test_a_budget_is_never_exceeded_and_hardly_wasted(per_slot):
    for evaluations, steps, episodes in plans(per_slot):
        assert steps >= 1 <= episodes <= 1.25 * MOST_SLOTS + 1
        assert steps * episodes * per_slot <= evaluations
        slots = evaluations // per_slot  # what is left of a slot cannot be spent
        if slots >= 15:
            assert slots - steps * episodes <= 0.1 * slots
    assert evaluations == BUDGETS[-1]


@pytest.mark.parametrize("per_slot", [1, 2])
def test_nine_tenths_of_60_evaluations_or_more_are_spent(per_slot):
    for evaluations, steps, episodes in plans(per_slot):
        assert steps * episodes * per_slot >= 0.9 * evaluations or evaluations < 60


@pytest.mark.parametrize("per_slot", range(1, 7))
@pytest.mark.parametrize("given", [1, 2, 10, 33])
def test_given_slots_are_kept_and_what_is_left_is_less_than_a_step(per_slot, given):
    for evaluations, steps, episodes in plans(per_slot, given):
        assert episodes == given
        assert 0 <= evaluations - steps * given * per_slot < given * per_slot


def test_a_plan_that_is_made_again_with_its_own_slots_is_the_same():
    for evaluations, steps, episodes in plans(2):
        assert training_plan(evaluations, 2, episodes) == (steps, episodes)


def test_few_slots_make_few_steps_of_few_slots():
    assert training_plan(300_000, 2, None) == (5000, 30)
    for evaluations, steps, episodes in plans(2):
        if 60 <= evaluations <= 1800:
            assert 0.4 <= episodes / steps <= 2.5
        if evaluations > 3000:
            assert 0.8 * MOST_SLOTS <= episodes <= 1.25 * MOST_SLOTS + 1


@pytest.mark.parametrize(
    ("per_slot", "episodes", "least", "how"),
    [
        (1, None, 3, ""),
        (2, None, 6, ""),
        (3, 2, 9, " in steps of --episodes 2"),
        (2, 10, 20, " in steps of --episodes 10"),
    ],
)
def test_a_budget_that_is_too_small_is_told_the_least(per_slot, episodes, least, how):
    with pytest.raises(UsageError) as error:
        training_plan(least - 1, per_slot, episodes)
    message = f"--evaluations {least - 1}: the least that a law can be trained with{how} is {least}"
    assert str(error.value) == message
    steps, slots = training_plan(least, per_slot, episodes)
    assert steps * slots * per_slot <= least


def test_the_schedules_of_the_default_budget_are_the_defaults():
    tuning = defaults.TUNING | defaults.TUNING_SLOT | {"std_floor_power": 0.45}
    assert schedules(150_000) == {name: tuning[name] for name in FIELDS}
    assert schedules(10**8) == schedules(150_000)


def test_fewer_slots_than_the_first_column_have_its_schedules():
    assert schedules(LEAST_SLOTS) == schedules(SLOTS[0])


@pytest.mark.parametrize("column", range(len(SLOTS)))
def test_each_column_is_met(column):
    found = schedules(SLOTS[column])
    assert set(found) == FIELDS
    narrowing = found.pop("std_floor_final") / found["std_floor"]
    expected = {name: row[column] for name, row in (LOGARITHMIC | LINEAR).items()}
    assert found | {"narrowing": narrowing} == pytest.approx(expected, rel=1e-3)


def test_between_columns_the_schedules_are_monotone():
    for left, right in itertools.pairwise(SLOTS):
        path = [schedules(round(slots)) for slots in np.geomspace(left, right, 15)]
        for name in FIELDS:
            differences = np.diff([values[name] for values in path])
            assert (differences >= 0).all() or (differences <= 0).all(), (name, left)


def test_a_floor_never_ends_above_its_start():
    for slots in np.geomspace(1, 1e6, 60).astype(int):
        values = schedules(int(slots))
        assert 0 < values["std_floor_final"] < values["std_floor"] < 1
        assert 0 <= values["update_damping"] < 1


@pytest.mark.parametrize("dims", range(2, 13))
def test_planned_rounds_spend_the_budget(dims):
    for evaluations in BUDGETS:
        first, each, rounds = planned_rounds(evaluations, dims)
        assert first + (rounds - 1) * each == evaluations
        assert 1 <= rounds <= 40
        if rounds == 1:
            assert each == 0
            assert evaluations < 48
            continue
        assert first >= 16 <= each
        assert each % 16 == 0
        assert each <= evaluations / 40 + 16
        assert first < min(evaluations / 3, 10 * dims) + 2 * each  # rounded up, and what is left over


def test_planned_rounds_by_hand():
    assert planned_rounds(15, 2) == (15, 0, 1)
    assert planned_rounds(32, 2) == (16, 16, 2)
    assert planned_rounds(100, 2) == (36, 16, 5)  # ten for each coordinate, rounded up, and 4 over
    assert planned_rounds(100, 12) == (52, 16, 4)  # a third, rounded up
    assert planned_rounds(2000, 4) == (80, 64, 31)


def test_a_model_suits_budgets_neither_too_small_nor_too_large():
    assert not model_suits_budget(None, 2)
    for dims in (2, 6, 12):
        assert [model_suits_budget(n, dims) for n in (4 * dims - 1, 4 * dims, 10**6, 10**6 + 1)] == [0, 1, 1, 0]
