"""Conditions that come by themselves: a function returns them, and states hold them as they were."""

import re

import numpy as np
import pytest

from env import Choice, Integer, Objective, Range, UsageError, bench, objective
from env.coordinates import Coordinates
from env.errors import ContractError
from env.objectives.checks import check_objective
from env.objectives.evaluation import Failures, timed_evaluation
from env.tuning import TuningVectorEnv
from tests.problems import WEATHER

KNOBS = {"sail": Range(0, 1)}


def described(function, **options):
    return objective(knobs=KNOBS, conditions=WEATHER, **options)(function).objective()


def returning(value, **options):
    return described(lambda sail, load: value, **options)


X, C = np.array([[0.0], [1.0]]), np.array([[0.5, -1.0], [-0.5, -1.0]])


@pytest.mark.parametrize("vectorised", [False, True])
def test_the_conditions_that_were_come_back_beside_f(vectorised):
    made = described(lambda sail, load: (sail + load, {"wind": 5 + 10 * sail}), vectorised=vectorised)
    found = timed_evaluation(made, X, C, range(2))
    np.testing.assert_allclose(found.f, [0.5 + 0.75, 1 + 0.25])
    np.testing.assert_allclose(found.c, [[0.5, 0.0], [-0.5, 0.5]])
    assert C[:, 1].tolist() == [-1, -1]


def test_they_follow_the_constraints():
    made = returning((2.0, (1.0, -1.0), {"wind": 20}), constraints=2)
    found = timed_evaluation(made, X, C, range(2))
    assert (found.f.tolist(), found.g.tolist()) == ([2, 2], [[1, -1], [1, -1]])
    assert found.c[:, 1].tolist() == [1, 1]


def test_whole_numbers_and_options_are_observed_too():
    conditions = {
        "load": Range(0, 1),
        "gusts": Integer(0, 4, observed=True),
        "tide": Choice("low", "high", observed=True),
    }
    function = objective(knobs=KNOBS, conditions=conditions)(lambda sail, load: (0.0, {"gusts": 3, "tide": "high"}))
    found = timed_evaluation(function.objective(), X, np.zeros((2, 3)), range(2))
    assert found.c.tolist() == [[0, 0.5, 1], [0, 0.5, 1]]


def test_a_state_holds_them_as_they_were():
    env = TuningVectorEnv(returning((1.0, {"wind": 15})), 2, 2)
    obs, _ = env.reset(seed=0, options={"starts": np.zeros((2, 3)), "evaluate_starts": False})
    assert obs.tolist() == [[0, 0, 0]] * 2
    assert env.step(np.array([[0.5], [-0.5]]))[0].tolist() == [[0.5, 0, 0.5], [-0.5, 0, 0.5]]


def test_where_f_failed_before_it_said_they_are_as_expected():
    def broken(sail, load):
        raise ValueError("no contact")

    found = timed_evaluation(described(broken), X, C, range(2), Failures())
    assert np.isnan(found.f).all() and found.c.tolist() == C.tolist()
    found = timed_evaluation(returning(float("nan")), X, C, range(2), Failures())
    assert np.isnan(found.f).all() and found.c.tolist() == C.tolist()
    found = timed_evaluation(returning((np.nan, {"wind": 10})), X, C, range(2), Failures())
    assert np.isnan(found.f).all() and found.c[:, 1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (
            1.0,
            "<lambda> returned the number 1.0; the conditions that are observed must come last in it, such as",
        ),
        ((1.0, 2.0), "the conditions that are observed must come last in it"),
        ((1.0, {"wnd": 3}), "such as return f, dict(wind=...)"),
        ((1.0, {"wind": 25}), "<lambda> returned wind = 25 is outside of its range, 0 to 20 m/s, which must hold all"),
        ((1.0, {"wind": "calm"}), "<lambda> returned wind = 'calm': must be a number"),
        ((1.0, {"wind": float("nan")}), "<lambda> returned wind = nan: must not be NaN"),
        ((1.0, {"wind": [1.0, 2.0]}), "<lambda> returned wind of shape (2,) for 1 rows"),
    ],
)
def test_what_is_no_condition_is_told_whether_f_may_fail_or_not(returned, words):
    for failures in (None, Failures()):
        with pytest.raises(ContractError, match=re.escape(words)) as told:
            timed_evaluation(returning(returned), X, C, range(2), failures)
        assert "\n" not in str(told.value)


def test_a_class_returns_all_conditions():
    class Weathered(Objective):
        knobs, conditions, observed, vectorised = 1, 2, (1,), True

        def __call__(self, x, c):
            return x[:, 0], np.column_stack([c[:, 0], np.full(len(x), 0.25)])

    class Forgetful(Weathered):
        vectorised = True

        def __call__(self, x, c):
            return x[:, 0]

    assert timed_evaluation(Weathered(), X, C, range(2)).c.tolist() == [[0.5, 0.25], [-0.5, 0.25]]
    with pytest.raises(ContractError, match=r"Forgetful\.__call__ returned .*; conditions of shape \(2, 2\) in"):
        timed_evaluation(Forgetful(), X, C, range(2))


def test_a_class_marks_its_coordinates_too():
    class Half(Objective):
        knobs, conditions, observed = 1, 2, (1,)

        def __call__(self, x, c):
            return 0.0, c

    with pytest.raises(UsageError, match="both must name the same conditions"):
        check_objective("--env mine:Half", Half())
    Half.condition_coordinates = Coordinates(WEATHER, "conditions")
    check_objective("--env mine:Half", Half())


def test_descriptions_that_cannot_be_are_told():
    observed = {"sail": Range(0, 1, observed=True)}
    for make in (
        lambda: bench(knobs=observed, conditions=WEATHER),
        lambda: objective(knobs=observed, conditions=WEATHER),
    ):
        with pytest.raises(
            UsageError, match="knobs: sail is observed = True, and a knob is set; only a condition comes"
        ):
            make()
    with pytest.raises(UsageError, match="best: is of conditions that can be set, and some are observed"):
        objective(knobs=KNOBS, conditions=WEATHER, best=lambda load, wind: {"sail": 0})
    with pytest.raises(UsageError, match="must be the names of the knobs and the conditions that are set"):
        objective(knobs=KNOBS, conditions=WEATHER)(lambda sail, load, wind: 0)
    with pytest.raises(UsageError, match="its observed = 'yes' must be True or False"):
        Range(0, 1, observed="yes")


def test_what_is_observed_comes_back_from_a_file_and_what_is_not_is_written_as_before():
    named = Coordinates(WEATHER | {"tide": Choice("low", "high", observed=True)}, "conditions")
    back = Coordinates.from_json(named.as_json(), "conditions")
    assert back == named and back.observed == named.observed == (1, 2)
    assert back != Coordinates({**named, "wind": Range(0, 20, unit="m/s")}, "conditions")
    assert set(named.as_json()[0]) == {"name", "kind", "low", "high", "unit"}
