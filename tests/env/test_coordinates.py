"""Coordinates by name map to rows and back, to JSON and back, and to the values that they can have."""

import json

import numpy as np
import pytest

from env import Choice, Integer, Log, Range, UsageError
from env.coordinates import Coordinates, snapped, value_on_step

NAMED = {
    "gain": Range(-3, 8.5, "dB"),
    "frequency": Log(1e5, 2e6, unit="Hz"),
    "dead_time": Integer(0, 31, "ns"),
    "mode": Choice("buck", "boost", "off"),
    "fast": Choice(True, False),
    "taps": Choice(1, 2.5, 8),
}
ALL = Coordinates(NAMED)
Z = np.random.default_rng(0).uniform(-1, 1, (200, 6))


def test_they_keep_their_order_and_are_a_mapping():
    assert list(ALL) == list(NAMED) and len(ALL) == 6 and ALL["gain"] is NAMED["gain"]
    assert ALL.steps.tolist() == [0, 0, 2 / 31, 1, 2, 1]
    assert Coordinates(dict(reversed(NAMED.items()))).steps.tolist() == [1, 2, 1, 2 / 31, 0, 0]


def test_rows_go_to_units_and_back():
    values = ALL.in_units(Z)
    assert list(values) == list(NAMED)
    for j, (name, one) in enumerate(NAMED.items()):
        assert values[name].tolist() == one.in_units(Z[:, j]).tolist()
    back = ALL.normalised(dict(reversed(values.items())))
    assert back == pytest.approx(snapped(Z, ALL.steps), abs=1e-13)
    again = ALL.in_units(back)
    assert all(again[name].tolist() == pytest.approx(values[name].tolist()) for name in ("gain", "frequency"))
    assert all(again[name].tolist() == values[name].tolist() for name in ("dead_time", "mode", "fast", "taps"))


def test_one_row_gives_pythons_own_values():
    row = ALL.in_units(Z[7])
    assert list(map(type, row.values()))[:4] == [float, float, int, str]
    assert row == {name: values[7] for name, values in ALL.in_units(Z).items()}


def test_values_are_broadcast_against_each_other():
    two = Coordinates({"gain": Range(0, 1), "taps": Integer(0, 4)})
    found = two.normalised({"gain": np.array([[0.0], [0.5], [1.0]]), "taps": np.array([0, 4])})
    assert found.tolist() == [[[g, -1], [g, 1]] for g in (-1, 0, 1)]
    assert two.normalised({"gain": 0.25, "taps": 2}).tolist() == [-0.5, 0.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gain": "high"}, "gain = 'high': must be a number"),
        ({"mode": "Buck"}, "mode = 'Buck': must be 'buck', 'boost' or 'off'"),
        ({"dead_time": float("nan")}, "dead_time = nan: must not be NaN"),
        ({"gian": 1.0}, "gian: is none of knobs; they are gain, frequency, dead_time, mode, fast, taps"),
        ({"gain": None}, "gain: is missing; they are gain, frequency"),
    ],
)
def test_values_that_they_cannot_take_are_told_by_name(changed, message):
    values = ALL.in_units(Z[0]) | changed
    if message.startswith("gain: is missing"):
        del values["gain"]
    with pytest.raises(UsageError) as caught:
        ALL.normalised(values)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({}, "knobs is needed: must name one or more"),
        (None, "knobs = None: must name one or more, such as knobs=dict(gain=Range(0, 1))"),
        ([("gain", Range(0, 1))], "must name one or more"),
        ({"a gain": Range(0, 1)}, "knobs: 'a gain' must be a name that Python can use for a parameter"),
        ({1: Range(0, 1)}, "knobs: 1 must be a name that Python can use"),
        ({"gain": (0, 1)}, "knobs: gain = (0, 1) must be Range(low, high), Log(low, high), Integer(low, high) or"),
        ({"gain": Range}, "must be Range(low, high)"),
    ],
)
def test_what_names_no_coordinates_is_told(named, message):
    with pytest.raises(UsageError) as caught:
        Coordinates(named, "knobs")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_json_brings_them_back():
    text = json.dumps(ALL.as_json(), allow_nan=False)
    back = Coordinates.from_json(json.loads(text), "knobs")
    assert list(back) == list(ALL) and back == ALL
    assert [type(one) for one in back.values()] == [type(one) for one in ALL.values()]
    assert [one.unit for one in back.values()] == ["dB", "Hz", "ns", "", "", ""]
    assert json.dumps(back.as_json()) == text
    assert json.dumps(Coordinates({"n": Integer(np.int64(1), np.int64(5)), "k": Choice(np.int64(1), 2)}).as_json())


def test_unnamed_ones_are_called_as_the_archives_columns():
    plain = Coordinates.plain("x", 3, "knobs")
    assert list(plain) == ["x_0", "x_1", "x_2"] and not plain.steps.any()
    assert plain.normalised(plain.in_units(Z[:, :3])) == pytest.approx(Z[:, :3], abs=1e-15)


SOUND = {"name": "gain", "kind": "range", "low": 0, "high": 1, "unit": ""}


@pytest.mark.parametrize(
    "content",
    [
        *(None, 5, "range", [], {}, [None], [5], ["gain"], [[SOUND]], SOUND),
        *([SOUND | changed] for changed in ({"kind": "rang"}, {"kind": None}, {"kind": ["range"]}, {"kind": "Range"})),
        *([SOUND | changed] for changed in ({"low": 2}, {"low": "0"}, {"low": None}, {"high": 10**400}, {"low": True})),
        *([SOUND | changed] for changed in ({"name": 3}, {"name": ["gain"]}, {"name": "a b"}, {"unit": 5})),
        *([{key: value for key, value in SOUND.items() if key != gone}] for gone in SOUND),
        *([{"name": "m", "kind": "choice", "options": some}] for some in ([], ["a"], 5, None, [[1], [2]], [1, 1])),
        [{"name": "m", "kind": "choice"}],
        [SOUND | {"kind": "log"}],
        [SOUND | {"kind": "integer", "high": 0.5}],
    ],
    ids=str,
)  # fmt: skip
def test_json_that_describes_none_is_refused(content):
    with pytest.raises(ValueError, match=r"^conditions that describe no coordinates") as caught:
        Coordinates.from_json(content, "conditions")
    assert not isinstance(caught.value, UsageError) and "\n" not in str(caught.value)


STEPS = np.array([0.0, 2.0, 1.0, 2 / 3, 2 / 31, 2 / 9_999_999])


def test_snapped_values_stay_as_they_are_and_in_range():
    z = np.concatenate([np.random.default_rng(1).uniform(-1, 1, (3000, 6)), np.ones((1, 6)), -np.ones((1, 6))])
    once = snapped(z, STEPS)
    assert snapped(once, STEPS).tobytes() == once.tobytes()
    assert (np.abs(once) <= 1).all() and once[:, 0].tobytes() == z[:, 0].tobytes()
    assert (np.abs(once - z) <= STEPS / 2 + 1e-12).all()
    assert (once[-2] == 1).all() and (once[-1] == -1).all()


def test_all_values_that_an_integer_can_have_are_snapped_to_themselves():
    for count in (2, 3, 7, 32, 1001):
        step = Integer(0, count - 1).step
        values = snapped(np.linspace(-1, 1, 20 * count)[:, None], np.array([step]))
        assert len(np.unique(values)) == count
        assert Integer(0, count - 1).in_units(np.unique(values)).tolist() == list(range(count))


def test_one_value_is_snapped_to_the_bits_of_many():
    z = np.random.default_rng(2).uniform(-1, 1, (2000, 6))
    many = snapped(z, STEPS)
    assert [
        [value_on_step(v, s) for v, s in zip(row, STEPS.tolist(), strict=True)] for row in z.tolist()
    ] == many.tolist()
    ties = np.array([[-0.5], [0.5], [0.0]])  # between two values, to the even one in both
    assert snapped(ties, np.array([1.0]))[:, 0].tolist() == [value_on_step(v, 1.0) for v in ties[:, 0].tolist()]


def test_without_steps_nothing_is_copied():
    z = np.random.default_rng(3).uniform(-1, 1, (4, 2))
    assert snapped(z, np.zeros(2)) is z
    z = np.ascontiguousarray(z)
    before = z.copy()
    snapped(z, np.array([0.5, 0.0]))
    assert z.tobytes() == before.tobytes()
