"""A plain function stays what it is, and is an objective that is asked in units by name; mistakes are told at once."""

import functools

import numpy as np
import pytest

from env import Choice, Integer, Log, Objective, Problem, Range, UsageError, bench, objective
from env.objectives.evaluation import evaluate, solution
from env.objectives.given import objective_class
from tests.problems import CONDITIONS, KNOBS, amplifier, many_at_once

GAIN, VIN = {"gain": Range(0, 1)}, {"vin": Range(0, 10)}
Z = np.random.default_rng(0).uniform(-1, 1, (50, 5))


def made_of(described):
    return objective_class("--env x", described)()


def test_the_function_stays_callable():
    assert amplifier(gain=1.0, taps=3, mode="fast", vin=10) == 1
    assert amplifier(gain=2.0, taps=5, mode="slow", vin=10, hot=True) == pytest.approx(1 + 1 + 0.4)
    assert amplifier.__name__ == "amplifier" and amplifier.__doc__.startswith("A plain function")


def test_it_describes_itself():
    made = Problem("tests.problems:amplifier").objective()
    assert isinstance(made, Objective) and (made.knobs, made.conditions, made.dims) == (3, 2, 5)
    assert made.coordinates == (KNOBS, CONDITIONS)
    assert (made.vectorised, made.takes_rng, made.at_once) == (False, False, None)
    assert type(made).__name__ == "amplifier" and type(made).__module__ == "tests.problems"
    assert type(made).__doc__ == amplifier.__doc__


def test_f_is_what_the_function_gives_in_units():
    made = made_of(amplifier)
    x, c = made.knob_coordinates.in_units(Z[:, :3]), made.condition_coordinates.in_units(Z[:, 3:])
    rows = [{name: values[i] for name, values in (x | c).items()} for i in range(len(Z))]
    assert evaluate(made, Z[:, :3], Z[:, 3:]).tolist() == [amplifier(**row) for row in rows]


def test_a_row_is_given_as_pythons_own_values():
    seen = []

    @objective(
        knobs={"a": Range(0, 1), "n": Integer(0, 3), "mode": Choice("u", 2, 0.5, True)},
        conditions={"hz": Log(1, 2), "k": Integer(1, 5)},
    )
    def watched(a, n, mode, hz, k):
        seen.append([a, n, mode, hz, k])
        return 0

    evaluate(made_of(watched), np.array([[0, 0, z] for z in (-1, -0.4, 0.3, 1)]), np.zeros((4, 2)))
    assert [list(map(type, row)) for row in seen] == [
        [float, int, kind, float, int] for kind in (str, int, float, bool)
    ]
    assert seen[0][:3] == [0.5, 2, "u"] and seen[0][4] == 3


def test_arrays_are_given_where_it_takes_many():
    made = made_of(many_at_once)
    assert made.vectorised
    assert evaluate(made, np.array([[-1.0], [0.0], [1.0]]), np.zeros((3, 1))).tolist() == [0.25, 0, 0.25]


def test_a_generator_is_given_by_the_key_of_the_evaluation():
    made = Problem("tests.problems:noisy_gain").objective()
    assert made.takes_rng
    found = evaluate(made, np.zeros((3, 1)), np.zeros((3, 1)), keys=[5, 6, 5])
    assert found.tolist() == [np.random.default_rng(key).normal() for key in (5, 6, 5)]


def test_a_knob_may_be_called_rng():
    @objective(knobs={"rng": Range(0, 1)}, conditions=VIN)
    def tuned(rng, vin):
        return rng

    made = made_of(tuned)
    assert not made.takes_rng and evaluate(made, np.ones((1, 1)), np.ones((1, 1))).tolist() == [1]


def test_a_class_is_made_with_the_keywords_that_it_is_given():
    problem = Problem("tests.problems:Instrument", env_kwargs={"address": "GPIB::7", "offset": 2})
    assert evaluate(problem.objective(), np.zeros((1, 1)), np.zeros((1, 1))).tolist() == [2]
    assert problem.describe().at_once == 2


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem("tests.problems:Instrument"), "--env-kwargs is needed: .*missing 1 required .*'address'"),
        (
            Problem("tests.problems:Instrument", env_kwargs={"adress": "GPIB::7"}),
            "--env-kwargs adress=GPIB::7: --env tests.problems:Instrument takes no keyword 'adress'",
        ),
        (
            Problem("tests.problems:amplifier", env_kwargs={"speed": 2}),
            "--env-kwargs speed=2: --env tests.problems:amplifier takes no keyword 'speed'",
        ),
        (Problem("tests.problems:amplifier", dims=3), "--dims 3: only the built-in objectives take it"),
        (
            Problem("tests.problems:first_to_ask"),
            "is a function that says nothing of its knobs and conditions; put @obj",
        ),
        (
            Problem("tests.problems:KNOBS"),
            "--env tests.problems:KNOBS: is a dict of 3 values; must be a function with @obj",
        ),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(problem, message):
    with pytest.raises(UsageError, match=message) as caught:
        problem.objective()
    assert "\n" not in str(caught.value)


def test_known_best_knobs_have_the_least_f():
    """The gain of an amplifier may be any, its taps are whole, and the mode goes with the heat."""
    made, c = made_of(amplifier), np.array([[-1.0, -1.0], [0.0, 1.0], [1.0, -0.1]])
    x, f = solution(made, c)
    assert f == pytest.approx([1, 1, 1])
    found = made.knob_coordinates.in_units(x)
    assert found["gain"] == pytest.approx([-3, 1, 5])
    assert (found["taps"].tolist(), found["mode"].tolist()) == ([3, 9, 3], ["fast", "slow", "fast"])
    assert made_of(many_at_once).solve(c) is None


def test_best_knobs_may_be_the_same_under_all_conditions():
    described = objective(knobs=GAIN, conditions=VIN, best=lambda vin: {"gain": 0.25})(lambda gain, vin: gain)
    x, f = solution(made_of(described), np.zeros((3, 1)))
    assert x.tolist() == [[-0.5]] * 3 and f.tolist() == [0.25] * 3


@pytest.mark.parametrize(
    ("best", "message"),
    [
        (lambda vin: {}, "it must return the best knobs by name"),
        (lambda vin: {"gain": vin, "gian": vin}, "gian: is none of knobs; they are gain"),
        (lambda vin: {"gain": "high"}, "gain = 'high': must be a number"),
        (lambda vin: {"gain": vin * np.nan}, "gain = .*: must not be NaN"),
    ],
)
def test_best_knobs_that_are_none_are_told(best, message):
    described = objective(knobs=GAIN, conditions=VIN, best=best)(lambda gain, vin: gain)
    with pytest.raises(UsageError, match=message):
        solution(made_of(described), np.zeros((3, 1)))


class HasNoCall:
    pass


class TakesOthers:
    def __call__(self, gain, volts):
        return gain


def takes_others(gain, volts):
    return gain


def lacks_one(gain):
    return gain


def wants_more(gain, vin, load):
    return gain


def by_place(gain, vin, /):
    return gain


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (takes_others, r"takes_others\(gain, volts\): .*'v\w+'; its parameters must be the names of the knobs and"),
        (lacks_one, r"lacks_one\(gain\): got an unexpected keyword argument 'vin'"),
        (wants_more, r"wants_more\(gain, vin, load\): missing a required argument: 'load'"),
        (by_place, r"by_place\(gain, vin\): "),
        (TakesOthers, r"TakesOthers\(gain, volts\): "),
        (HasNoCall, "HasNoCall lacks __call__, which takes the knobs and the conditions by name"),
        (5, "must stand above a function or a class, and not a int"),
        (functools.partial(takes_others, volts=3), "must stand above a function or a class, and not a partial"),
        (print, "must stand above a function or a class, and not a builtin_function_or_method"),
    ],
)
def test_what_does_not_take_the_names_is_told_where_it_is_described(described, message):
    with pytest.raises(UsageError, match=message) as caught:
        objective(knobs=GAIN, conditions=VIN)(described)
    assert "\n" not in str(caught.value) and not hasattr(described, "objective")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"knobs": {}, "conditions": VIN}, "knobs is needed: must name one or more"),
        ({"knobs": GAIN, "conditions": None}, "conditions = None: must name one or more"),
        ({"knobs": GAIN, "conditions": {"vin": 5}}, "conditions: vin = 5 must be Range"),
        ({"knobs": GAIN, "conditions": GAIN}, "gain is named as a knob and as a condition"),
    ],
)
def test_coordinates_that_are_none_are_told(given, message):
    with pytest.raises(UsageError, match=message):
        objective(**given)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"at_once": 0}, "at_once = 0 must be a whole number of at least 1, or None"),
        ({"at_once": 1.5}, "at_once = 1.5 must be a whole number"),
        ({"at_once": True}, "at_once = True must be a whole number"),
        ({"vectorised": True, "rng": True}, "declares vectorised = True, so its __call__ cannot take rng"),
        ({"modes": 13}, "its choices have 13 combinations, and must have at most 12; use an Integer"),
        ({"modes": 5, "more": 3}, "its choices have 15 combinations"),
    ],
)
def test_what_the_program_cannot_work_with_is_told(flags, message):
    counts = [flags.pop(name) for name in ("modes", "more") if name in flags]
    choices = {f"mode_{number}": Choice(*range(count)) for number, count in enumerate(counts)}
    if flags.pop("rng", False):

        def described(gain, vin, rng):
            return gain
    else:

        def described(gain, vin, **modes):
            return gain

    objective(knobs=GAIN | choices, conditions=VIN, **flags)(described)
    from ppo import Config

    with pytest.raises(UsageError, match=message):
        Config(env=described).problem().objective()


def test_coordinates_of_a_class_must_be_as_many_as_it_says():
    from ppo import Config

    class Odd(Objective):
        knobs, conditions = 2, 1
        knob_coordinates = objective_class("", many_at_once).knob_coordinates

        def __call__(self, x, c):
            return x[:, 0]

    with pytest.raises(UsageError, match="knob_coordinates name 1 of them, and knobs = 2"):
        Config(env=Odd).problem().objective()


@pytest.mark.parametrize("name", ["f", "id", "g_0"])
def test_no_knob_has_the_name_of_another_column_of_tables(name):
    with pytest.raises(UsageError, match=f"{name}: a column of tables has this name"):
        bench(knobs={name: Range(0, 1)}, conditions={"load": Range(0, 1)})
    with pytest.raises(UsageError, match=f"{name}: a column of tables has this name"):
        objective(knobs={"fan": Range(0, 1)}, conditions={name: Range(0, 1)})(lambda fan, **others: 0.0)
    assert bench(knobs={"g": Range(0, 1)}, conditions={"load": Range(0, 1)}).knobs == 1
