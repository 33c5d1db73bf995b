"""A law is asked by name and in units: one query or arrays, the same knobs, and a warning outside of its range."""

import pickle
import warnings

import numpy as np
import pytest

from actors import Law
from actors.law import OutsideRangeWarning
from actors.law_file import About
from actors.snapshot import NetworkSpec, Snapshot
from env import Choice, Integer, Log, Range
from env.coordinates import Coordinates
from tests.actors.mixtures import mixture, random_critic

KNOBS = Coordinates({"gain": Range(-3, 8, "dB"), "taps": Integer(1, 9), "mode": Choice("fast", "slow")})
CONDITIONS = Coordinates(
    {"vin": Log(1, 100, unit="V"), "load": Range(0, 5), "chip": Choice("a", "b", "c")}, "conditions"
)
STEPS, LABELLED = tuple(KNOBS.steps.tolist()), (2,)
CRITIC = random_critic(40, 6)[0]


def spec_of(components):
    return NetworkSpec(6, (16, 16), "tanh", "gaussian", 3, components=components, steps=STEPS, labelled=LABELLED)


def law_of(components=4, critic=CRITIC):
    return Law(mixture(spec=spec_of(components), seed=1, critic=critic), About(knobs=KNOBS, conditions=CONDITIONS))


LAWS = {"one": law_of(1, None), "gate": law_of(4, None), "critic": law_of()}
Z = np.random.default_rng(2).uniform(-1, 1, (200, 3))
VALUES = CONDITIONS.in_units(Z)
ROWS = [{name: values.tolist()[i] for name, values in VALUES.items()} for i in range(len(Z))]


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_query_arrays_and_normalised_conditions_give_the_same_bits(law):
    many = law(**VALUES)
    assert list(many) == list(KNOBS)
    one = [law(**row) for row in ROWS]
    assert one == [{name: values.tolist()[i] for name, values in many.items()} for i in range(len(Z))]
    normalised = law(CONDITIONS.normalised(VALUES))
    assert {name: values.tolist() for name, values in KNOBS.in_units(normalised).items()} == {
        name: values.tolist() for name, values in many.items()
    }
    assert [law(row).tolist() for row in CONDITIONS.normalised(VALUES)] == normalised.tolist()


def test_one_query_gives_pythons_own_values_that_the_knobs_can_have():
    for row in ROWS[:50]:
        found = LAWS["critic"](**row)
        assert list(map(type, found.values())) == [float, int, str]
        assert -3 <= found["gain"] <= 8 and 1 <= found["taps"] <= 9 and found["mode"] in ("fast", "slow")
    assert len({LAWS["critic"](**row)["taps"] for row in ROWS}) > 3


def test_normalised_knobs_are_on_their_steps():
    found = LAWS["critic"](Z)
    assert KNOBS.normalised(KNOBS.in_units(found)) == pytest.approx(found, abs=1e-14)


def test_arrays_are_broadcast():
    vin, load = np.array([[2.0], [30.0]]), np.array([1.0, 2.0, 3.0])
    found = LAWS["gate"](vin=vin, load=load, chip="b")
    assert {values.shape for values in found.values()} == {(2, 3)}
    assert found["gain"][1, 2] == LAWS["gate"](vin=30, load=3, chip="b")["gain"]
    assert LAWS["gate"](vin=[2.0], load=1, chip="b")["gain"].shape == (1,)
    assert LAWS["gate"](vin=np.float64(2), load=np.int64(1), chip="b") == LAWS["gate"](vin=2, load=1, chip="b")


def test_a_law_without_names_takes_those_of_the_archive():
    law = Law(mixture())
    found = law(c_0=0.25)
    assert list(found.values()) == pytest.approx(law([0.25]).tolist()) and list(found) == ["x_0", "x_1"]


QUERIES = {
    "one": lambda law, vin: law(vin=vin, load=1, chip="a"),
    "array": lambda law, vin: law(vin=[vin, 5.0, vin], load=1, chip="a"),
    "normalised": lambda law, vin: law(CONDITIONS.normalised({"vin": [vin, 5.0], "load": 1, "chip": "a"})),
    "row": lambda law, vin: law(CONDITIONS.normalised({"vin": vin, "load": 1, "chip": "a"})),
    "uncertainty": lambda law, vin: law.uncertainty(vin=vin, load=1, chip="a"),
    "uncertainties": lambda law, vin: law.uncertainty(vin=[vin, 5.0], load=1, chip="a"),
    "uncertainty of a row": lambda law, vin: law.uncertainty(
        CONDITIONS.normalised({"vin": vin, "load": 1, "chip": "a"})
    ),
}


def told(query, vin, law=LAWS["critic"]):
    """Returns what a query gives, and the warnings that it caused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return query(law, vin), caught


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize(("vin", "nearest"), [(300.0, 100.0), (0.5, 1.0), (float("inf"), 100.0), (0.0, 1.0)])
def test_outside_of_the_range_it_warns_once_and_gives_what_holds_at_the_nearest_end(query, vin, nearest):
    found, caught = told(query, vin)
    (warning,) = caught
    assert warning.category is OutsideRangeWarning and warning.filename == __file__
    bounds, ends = "1 to 100 V, on which the law was trained", "; it gives the knobs of the nearest one"
    if query in (QUERIES["normalised"], QUERIES["row"], QUERIES["uncertainty of a row"]):
        bounds = f"-1 to 1, which stand for {bounds} (conditions in units are given by name)"
    assert str(warning.message) == f"vin is outside of {bounds}{ends}"
    inside, silent = told(query, nearest)
    assert not silent
    assert str(found) == str(inside)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rounding_at_the_ends_is_no_warning(query):
    for vin in (1.0, 100.0, 100 * (1 + 1e-12), 1 - 1e-12):
        assert not told(query, vin)[1]


def test_each_condition_that_is_outside_is_named():
    with pytest.warns(OutsideRangeWarning) as caught:
        LAWS["one"](vin=300, load=-1, chip="a")
    assert [str(one.message).partition(", ")[0] for one in caught] == [
        "vin is outside of 1 to 100 V",
        "load is outside of 0 to 5",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vin": float("nan")}, "vin = nan: must not be NaN"),
        ({"vin": np.array([1.0, np.nan])}, "must not be NaN"),
        ({"vin": "12"}, "vin = '12': must be a number"),
        ({"vin": None}, "None: must be a number"),
        ({"chip": "d"}, "chip = 'd': must be 'a', 'b' or 'c'"),
        ({"chip": 1}, "1: must be 'a', 'b' or 'c'"),
        ({"vni": 5}, "the law takes no condition vni .did you mean 'vin'.*; it takes vin, load, chip"),
        ({"gain": 5}, "the law takes no condition gain.*; it takes vin, load, chip"),
        ({"vin": [5, 6, 7], "load": [1, 2]}, r"must have one shape, and have vin \(3,\), load \(2,\), chip \(\)$"),
    ],
)
@pytest.mark.parametrize("ask", [lambda law: law, lambda law: law.uncertainty], ids=["knobs", "uncertainty"])
def test_what_it_cannot_be_asked_is_told_in_one_line(given, message, ask):
    with pytest.raises(ValueError, match=message) as caught:
        ask(LAWS["critic"])(**{"vin": 5, "load": 1, "chip": "a"} | given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("conditions", "named"), [((), {"vin": 5, "load": 1}), ((), {}), (([0, 0, 0],), {"vin": 5, "load": 1, "chip": "a"})]
)
def test_each_condition_is_given_once(conditions, named):
    with pytest.raises(
        ValueError, match=r"^the law takes vin, load, chip, each once; or normalised conditions \[m, 3\]"
    ):
        LAWS["one"](*conditions, **named)


@pytest.mark.parametrize("given", [np.zeros((2, 4)), np.zeros(2), 5.0, [], np.zeros((2, 2, 3))])
def test_normalised_conditions_of_another_shape_are_told(given):
    with pytest.raises(ValueError, match=r"where the law takes \[m, 3\]"):
        LAWS["one"](given)


@pytest.mark.parametrize(("ask", "call"), [(LAWS["one"], "law"), (LAWS["critic"].uncertainty, "law.uncertainty")])
def test_conditions_by_name_are_no_mapping(ask, call):
    with pytest.raises(ValueError, match=f"conditions by name are given as {call}" + r"\(\*\*conditions\)"):
        ask({"vin": 5, "load": 1, "chip": "a"})


def test_it_says_what_it_is_of():
    assert repr(LAWS["one"]).endswith(" for vin, load, chip>")


def test_normalised_conditions_must_not_be_nan():
    with pytest.raises(ValueError, match="conditions must not be NaN"):
        LAWS["one"]([0.0, np.nan, 0.0])


def test_uncertainty_by_name_is_that_of_normalised_conditions():
    law = LAWS["critic"]
    found = law.uncertainty(CONDITIONS.normalised(VALUES))
    assert law.uncertainty(**VALUES) == pytest.approx(found) and (found > 0).all()
    assert [law.uncertainty(**row) for row in ROWS[:20]] == pytest.approx(found[:20].tolist())
    grid = law.uncertainty(vin=np.array([[2.0], [30.0]]), load=np.array([1.0, 2.0, 3.0]), chip="b")
    assert grid.shape == (2, 3) and grid[1, 2] == pytest.approx(law.uncertainty(vin=30, load=3, chip="b"))


def test_the_policy_of_an_environment_is_no_law():
    spaces = {"observations": {"kind": "discrete"}, "actions": {"kind": "discrete"}}
    with pytest.raises(ValueError, match=r"the policy of an environment, and no law; tuninglaw\.load gives it"):
        Law(mixture(), About(**spaces))
    with pytest.raises(ValueError, match="not the policy of a tuning problem"):
        Law(Snapshot(0, NetworkSpec(4, (), "tanh", "categorical", 1, (2,)), np.zeros(10)))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_law_that_is_pickled_comes_back_with_the_same_bits(law):
    back = pickle.loads(pickle.dumps(law))
    assert [back(**row) for row in ROWS[:20]] == [law(**row) for row in ROWS[:20]]
    assert repr(back) == repr(law) and back.about == law.about
