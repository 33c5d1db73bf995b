"""Units map to [-1, 1] and back: exactly at the ends, in the same bits one by one or in an array, mistakes are told."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import Choice, Integer, Log, Range, UsageError

KINDS = [
    Range(-40, 85, "C"),
    Range(-100, 0.1),
    Range(0.1, 0.7),
    Range(-1e300, 1e7),
    Range(3, 3.0000001),
    Log(1e5, 2e6, "Hz"),
    Log(3e-9, 7e5),
    Log(1e-100, 1e100),
    Integer(0, 31),
    Integer(-7, 1000),
    Integer(2**53 - 5, 2**53),
    Integer(0, 9_999_999),
    Choice("buck", "boost"),
    Choice(1, 4, 2.5, True, False, "4"),
]
Z = np.concatenate([np.random.default_rng(0).uniform(-1, 1, 300), [-1.0, 0.0, 1.0, -1 + 2**-53, 1 - 2**-53]])


def place_of(kind, option):
    """Returns the place of an option, of which 1 and True are two."""
    return list(map(repr, kind.options)).index(repr(option))


def ends_of(kind):
    return (kind.options[0], kind.options[-1]) if isinstance(kind, Choice) else (kind.low, kind.high)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_ends_are_exact(kind):
    for z, end in zip((-1.0, 1.0), ends_of(kind), strict=True):
        assert kind.in_units(z) == end
        assert kind.in_units(np.array([z, 0.0])).tolist()[0] == end
        assert kind.normalised(end) == z


@settings(max_examples=200, deadline=None)
@given(low=st.floats(-1e9, 1e9), width=st.floats(1e-6, 1e9), ratio=st.floats(1.001, 1e12))
def test_the_ends_of_any_range_are_exact(low, width, ratio):
    kinds = [Range(low, low + width)] if low + width > low else []
    kinds += [Log(abs(low) + 1e-6, (abs(low) + 1e-6) * ratio)]
    for kind in kinds:
        assert (kind.in_units(-1.0), kind.in_units(1.0)) == (kind.low, kind.high)
        assert (kind.normalised(kind.low), kind.normalised(kind.high)) == (-1, 1)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_one_value_has_the_bits_that_it_has_in_an_array(kind):
    values = kind.in_units(Z)
    assert [kind.in_units(float(z)) for z in Z] == values.tolist()
    back = kind.normalised(values)
    assert np.array([kind.normalised(value) for value in values.tolist()]).tobytes() == back.tobytes()
    assert kind.in_units(Z.reshape(5, -1)).tolist() == values.reshape(5, -1).tolist()
    assert kind.normalised(values.reshape(5, -1)).tobytes() == back.tobytes()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_values_are_within_the_bounds_and_rise(kind):
    values = kind.in_units(np.sort(Z))
    places = [place_of(kind, value) for value in values] if isinstance(kind, Choice) else values.tolist()
    assert places == sorted(places)
    if not isinstance(kind, Choice):
        assert kind.low <= values[0] and values[-1] <= kind.high
    assert kind.in_units(-1.5) == kind.in_units(-1.0) and kind.in_units(1.5) == kind.in_units(1.0)


@pytest.mark.parametrize("kind", [Range(-40, 85), Range(0.1, 0.7), Log(1e5, 2e6), Log(3e-9, 7e5)], ids=str)
def test_what_goes_out_comes_back(kind):
    assert kind.normalised(kind.in_units(Z)) == pytest.approx(Z, abs=1e-13)


@pytest.mark.parametrize("kind", [Integer(0, 31), Integer(-7, 1000), Integer(0, 1)], ids=str)
def test_all_whole_numbers_come_back_as_they_are(kind):
    whole = list(range(kind.low, kind.high + 1))
    found = kind.in_units(kind.normalised(np.array(whole)))
    assert found.dtype == np.int64 and found.tolist() == whole
    one = [kind.in_units(kind.normalised(value)) for value in whole]
    assert one == whole and {type(value) for value in one} == {int}
    assert np.diff(kind.normalised(np.array(whole))) == pytest.approx(np.full(len(whole) - 1, kind.step))


def test_options_come_back_as_what_they_are():
    """1 and True are different options, and so are 4 and the text 4."""
    kind = Choice(1, 4, 2.5, True, False, "4")
    found = [kind.in_units(kind.normalised(option)) for option in kind.options]
    assert found == list(kind.options) and list(map(type, found)) == [int, int, float, bool, bool, str]
    assert kind.in_units(kind.normalised(np.array(kind.options, object))).tolist() == list(kind.options)
    assert kind.normalised(np.array([4, 1])).tolist() == [kind.normalised(4), kind.normalised(1)]


def test_values_in_between_by_hand():
    assert Range(10, 20).in_units(0.5) == 17.5 and Range(10, 20).normalised(17.5) == 0.5
    assert Log(1, 10_000).in_units(0.0) == pytest.approx(100) and Log(1, 10_000).normalised(10) == pytest.approx(-0.5)
    assert Integer(0, 4).in_units(0.2) == 2 and Integer(0, 4).in_units(0.3) == 3 and Integer(0, 4).step == 0.5
    assert [Choice("a", "b", "c").in_units(z) for z in (-0.6, -0.4, 0.6)] == ["a", "b", "c"]
    assert (Range(0, 1).step, Log(1, 2).step, Choice("a", "b", "c").step) == (0, 0, 1)


def test_equal_steps_of_a_log_are_equal_ratios():
    values = Log(2e-3, 5e6).in_units(np.linspace(-1, 1, 41))
    assert np.diff(np.log(values)) == pytest.approx(np.full(40, math.log(2.5e9) / 40))


def test_values_beyond_the_bounds_lie_beyond_1():
    assert Range(0, 10).normalised(15) == 2 and Range(0, 10).normalised(-math.inf) == -math.inf
    assert Log(1, 100).normalised(1000) == pytest.approx(2)
    assert Log(1, 100).normalised(0.0) < -100 and Log(1, 100).normalised(-3.0) < -100
    assert np.isfinite(Log(1, 100).normalised(np.array([0.0, -3.0]))).all()


def test_bounds_and_options_are_pythons_own_numbers():
    """So that JSON can hold them."""
    numbers = np.float32(0.5), np.int64(3), np.float64(31)
    for kind in (Range(*numbers[:2]), Integer(*numbers[1:]), Choice(*numbers)):
        values = kind.options if isinstance(kind, Choice) else (kind.low, kind.high)
        assert {type(value) for value in values} <= {int, float}
    assert Integer(0.0, 31.0) == Integer(0, 31)
    texts = Choice(*np.array(["a", "b"])).options + Choice(np.True_, np.False_).options
    assert texts == ("a", "b", True, False) and list(map(type, texts)) == [str, str, bool, bool]
    assert Choice(1, np.True_).options == (1, True)
    with pytest.raises(UsageError, match="names an option twice"):
        Choice(True, np.True_)


def test_options_are_read_as_spreadsheets_write_them():
    kind = Choice(1, 2.5, True, "Buck", "buck", "4")
    texts = ["1", "1.0", "2.50", "TRUE", " true", "Buck", "buck", "BUCK", "4"]
    found = list(map(kind.read, texts))
    assert found == [1, 1, 2.5, True, True, "Buck", "buck", "Buck", "4"]
    assert [type(one) for one in found[:4]] == [int, int, float, bool]
    assert list(map(kind.read, ["", "2", "4.0", "nan", "False"])) == [None] * 5


@pytest.mark.parametrize("kind", [Range(-1, 1), Range(0, 5), Log(1, 5), Integer(0, 5)])
def test_a_whole_number_that_floating_point_lacks_is_told(kind):
    with pytest.raises(UsageError, match="a whole number of 1,329 bits: must be one that floating point has"):
        kind.normalised(10**400)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Range(1, 1), "Range(1, 1): its first bound must be below its second"),
        (lambda: Range(2, 1), "Range(2, 1): its first bound must be below its second"),
        (lambda: Range(math.nan, 1), "Range(nan, 1): its bounds must be finite numbers"),
        (lambda: Range(0, math.inf), "Range(0, inf): its bounds must be finite numbers"),
        (lambda: Range(0, 10**400), "its bounds must be finite numbers"),
        (lambda: Range("0", 1), "Range('0', 1): its bounds must be finite numbers"),
        (lambda: Range(False, 1), "Range(False, 1): its bounds must be finite numbers"),
        (lambda: Range(0, 1j), "its bounds must be finite numbers"),
        (lambda: Range(-1e308, 1e308), "its bounds are too far apart for floating-point numbers"),
        (lambda: Range(0, 1, 5), "Range(0, 1): its unit = 5 must be a text"),
        (lambda: Log(0, 1), "Log(0, 1): its bounds must be above 0"),
        (lambda: Log(1e-300, 1e300), "Log(1e-300, 1e+300): its bounds are too far apart for floating-point numbers"),
        (lambda: Log(-1, 1), "Log(-1, 1): its bounds must be above 0"),
        (lambda: Integer(0, 1.5), "Integer(0, 1.5): its bounds must be whole numbers"),
        (lambda: Integer(3, 3), "Integer(3, 3): its first bound must be below its second"),
        (lambda: Integer(0, 10_000_000), "it must have at most 10,000,000 values; use Range"),
        (lambda: Integer(2**53, 2**53 + 1), "its bounds must be at most 2^53"),
        (lambda: Choice(), "Choice(): needs two options or more"),
        (lambda: Choice("a"), "Choice('a'): needs two options or more"),
        (lambda: Choice(["a", "b"]), "needs two options or more; give them one by one, Choice('a', 'b')"),
        (lambda: Choice("a", None), "Choice('a', None): its options must be texts, finite numbers, or True and False"),
        (lambda: Choice(["a"], "b"), "its options must be texts, finite numbers, or True and False"),
        (lambda: Choice(1, math.nan), "its options must be texts, finite numbers, or True and False"),
        (lambda: Choice("a", "b", "a"), "Choice('a', 'b', 'a'): names an option twice"),
        (lambda: Choice(1, 1.0), "Choice(1, 1.0): names an option twice"),
    ],
)  # fmt: skip
def test_a_coordinate_that_cannot_be_is_told_in_one_line(make, message):
    with pytest.raises(UsageError) as caught:
        make()
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Range(0, 1), math.nan, "nan: must not be NaN"),
        (Range(0, 1), np.array([0.0, math.nan]), "must not be NaN"),
        (Range(0, 1), "0.5", "'0.5': must be a number"),
        (Range(0, 1), None, "None: must be a number"),
        (Range(0, 1), True, "True: must be a number"),
        (Log(1, 2), [1.0, "x"], "must be a number"),
        (Integer(0, 3), np.array([1j]), "must be a number"),
        (Choice("a", "b"), "c", "'c': must be 'a' or 'b'"),
        (Choice("a", "b", "d"), 1, "1: must be 'a', 'b' or 'd'"),
        (Choice("a", "b"), np.array(["a", "c"]), "'c': must be 'a' or 'b'"),
        (Choice(1, 2), True, "True: must be 1 or 2"),
        (Choice(False, True), 1, "1: must be False or True"),
        (Choice(1, 2), math.nan, "nan: must be 1 or 2"),
        (Choice("a", "b"), None, "None: must be 'a' or 'b'"),
    ],
)
def test_a_value_that_it_cannot_take_is_told_in_one_line(kind, value, message):
    with pytest.raises(UsageError) as caught:
        kind.normalised(value)
    assert message in str(caught.value)
