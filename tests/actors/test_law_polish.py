"""A law is polished by a user's function, which is called by name, in units."""

import asyncio

import numpy as np
import pytest

from env import Range, objective
from tests.actors.test_law_in_units import CONDITIONS, KNOBS, LAWS

LAW = LAWS["one"]
GIVEN = {"vin": 12.0, "load": 2, "chip": "b"}


def cost(gain, taps, mode, vin, load, chip, asked=None):
    """Least at the law's own knobs, but for gain and taps, which are best a little beside them."""
    knobs = LAW(**GIVEN)
    if asked is not None:
        asked.append({"gain": gain, "taps": taps, "mode": mode, "vin": vin, "load": load, "chip": chip})
    return (gain - knobs["gain"] - 0.3) ** 2 + (taps - knobs["taps"] + 1) ** 2


def test_a_function_is_called_in_units_and_choices_stay():
    asked = []
    found = LAW.polish(lambda **named: cost(**named, asked=asked), budget=20, **GIVEN)
    knobs = LAW(**GIVEN)
    assert {name: asked[0][name] for name in KNOBS} == knobs
    assert all({name: one[name] for name in CONDITIONS} == GIVEN for one in asked)
    assert {one["mode"] for one in asked} == {knobs["mode"]} and {type(one["taps"]) for one in asked} == {int}
    assert len(asked) == found.evaluations == 20
    assert found.knobs["taps"] == knobs["taps"] - 1 and found.knobs["mode"] == knobs["mode"]
    assert found.knobs["gain"] == pytest.approx(knobs["gain"] + 0.3, abs=1e-3)
    assert found.given == cost(**knobs, **GIVEN) > found.value == cost(**found.knobs, **GIVEN)


def test_a_function_that_draws_random_numbers_is_given_a_generator():
    @objective(knobs=dict(KNOBS), conditions=dict(CONDITIONS))
    def noisy(gain, taps, mode, vin, load, chip, rng):
        return cost(gain, taps, mode, vin, load, chip) + rng.normal(0, 1e-3)

    first, second = (LAW.polish(noisy, budget=12, **GIVEN) for _ in range(2))
    assert first == second and first.value != cost(**first.knobs, **GIVEN)


def test_a_function_that_takes_arrays_is_given_arrays():
    shapes = set()

    @objective(knobs=dict(KNOBS), conditions=dict(CONDITIONS), vectorised=True)
    def many(gain, taps, mode, vin, load, chip):
        shapes.update(np.shape(value) for value in (gain, taps, mode, vin, load, chip))
        knobs = LAW(vin=vin, load=load, chip=chip)
        assert (mode == knobs["mode"]).all()
        return (gain - knobs["gain"] - 0.3) ** 2 + (taps - knobs["taps"] + 1) ** 2

    found = LAW.polish(many, budget=20, **GIVEN)
    assert shapes == {(1,)} and found == LAW.polish(cost, budget=20, **GIVEN)


def test_what_a_described_class_makes_is_polished_and_the_class_itself_refused():
    @objective(knobs=dict(KNOBS), conditions=dict(CONDITIONS))
    class Cost:
        def __call__(self, gain, taps, mode, vin, load, chip, rng):
            assert isinstance(rng, np.random.Generator)
            return cost(gain, taps, mode, vin, load, chip)

    assert LAW.polish(Cost(), budget=12, **GIVEN) == LAW.polish(cost, budget=12, **GIVEN)
    with pytest.raises(ValueError, match=r"f is the class Cost; give what it makes, Cost\(\)"):
        LAW.polish(Cost, budget=12, **GIVEN)


def test_a_function_that_has_to_be_awaited_is_refused_with_what_would_work():
    @objective(knobs=dict(KNOBS), conditions=dict(CONDITIONS))
    async def later(gain, taps, mode, vin, load, chip):
        return cost(gain, taps, mode, vin, load, chip)

    with pytest.raises(ValueError, match="f has to be awaited; give a function that does so"):
        LAW.polish(later, budget=12, **GIVEN)
    by_hand = LAW.polish(lambda **values: asyncio.run(later(**values)), budget=12, **GIVEN)
    assert by_hand == LAW.polish(cost, budget=12, **GIVEN)


@pytest.mark.parametrize(
    ("returned", "told"),
    [(None, "None"), ("3.5", "the text '3.5'"), (np.zeros(3), "an array"), (10**400, "the number")],
)
def test_what_is_no_value_of_f_is_told(returned, told):
    with pytest.raises(ValueError, match=f"f returned {told}.*; it must return a number, or f and its constraints"):
        LAW.polish(lambda **named: returned, budget=5, **GIVEN)


def test_a_function_of_another_problem_is_refused():
    @objective(knobs={"gain": Range(-3, 8, "dB")}, conditions=dict(CONDITIONS))
    def other(gain, vin, load, chip):
        return 0.0

    with pytest.raises(ValueError, match="f has other knobs or conditions than the law"):
        LAW.polish(other, budget=5, **GIVEN)


@pytest.mark.parametrize(
    ("budget", "given", "told"),
    [
        (0, GIVEN, "budget = 0: must be a whole number of at least 1"),
        (20.5, GIVEN, "budget = 20.5: must be a whole number"),
        (float("nan"), GIVEN, "budget = nan: must be a whole number"),
        ("20", GIVEN, "budget = '20': must be a whole number"),
        (5, GIVEN | {"vin": [1.0, 2.0]}, "a polish is of one condition"),
    ],
)
def test_a_polish_is_of_one_condition_with_a_budget(budget, given, told):
    with pytest.raises(ValueError, match=told):
        LAW.polish(cost, budget=budget, **given)
