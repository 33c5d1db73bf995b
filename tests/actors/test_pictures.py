"""A picture of a law shows each knob over each condition in units, and what was tried near that slice."""

import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra plot")

from actors import Law, NetworkSpec, Snapshot
from actors.law_file import About, Tried
from env import Choice, Integer, Log, Range, UsageError
from env.coordinates import Coordinates

KNOBS = {"frequency": Log(100.0, 10_000.0, unit="Hz"), "delay": Integer(0, 4, unit="ns"), "mode": Choice("a", "b", "c")}
CONDITIONS = {"vin": Range(8.0, 40.0, unit="V"), "load": Range(0.0, 2.0, unit="A"), "fan": Choice("off", "on")}


def linear(weights, bias, knobs, conditions, tried=None, steps=()):
    """Returns a law whose normalised knobs are the conditions times ``weights`` ``[conditions, knobs]`` plus a bias."""
    count = len(bias)
    spec = NetworkSpec(count + len(weights), (), "tanh", "gaussian", count, steps=steps)
    theta = np.zeros(spec.size)
    weight, add = spec.views(theta)[0]
    weight[count:, :count], add[:count] = weights, bias
    return Law(Snapshot(0, spec, theta), About(knobs=knobs, conditions=conditions, tried=tried))


@pytest.fixture
def described():
    """A law of three knobs under three conditions: frequency rises with vin and load, delay with vin, mode with fan."""
    knobs = Coordinates(KNOBS)
    weights = np.array([[0.5, 1.0, 0.0], [0.25, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return linear(weights, np.zeros(3), knobs, Coordinates(CONDITIONS, "conditions"), steps=tuple(knobs.steps.tolist()))


def plain(knobs, conditions, tried=None):
    """Returns a law in [-1, 1] whose knobs are 0."""
    return linear(np.zeros((conditions, knobs)), np.zeros(knobs), None, None, tried)


def panels(figure, law, most=(99, 99)):
    """Returns the panels by row and column, without the colour bar."""
    rows, columns = min(law.knobs, most[0]), min(law.conditions, most[1])
    return np.array(figure.axes[: rows * columns], object).reshape(rows, columns)


def law_line(panel):
    """Returns the line of the law, which is the one in its colour."""
    (line,) = (line for line in panel.lines if line.get_color() == "#ee3377")
    return line


def ticks(axis):
    axis.axes.figure.canvas.draw()
    return [tick.get_text() for tick in axis.get_ticklabels()]


def test_each_knob_is_drawn_over_each_condition_in_units(described):
    found = panels(described.plot(), described)
    vin, frequency = law_line(found[0, 0]).get_data()
    assert (vin[0], vin[-1]) == (8, 40)
    assert (frequency[0], frequency[-1]) == pytest.approx((100 * 10**0.5, 100 * 10**1.5))  # a quarter, three quarters
    assert law_line(found[0, 1]).get_ydata()[[0, -1]] == pytest.approx([100 * 10**0.75, 100 * 10**1.25])
    assert set(law_line(found[1, 0]).get_ydata()) == {0, 1, 2, 3, 4}
    assert law_line(found[1, 0]).get_drawstyle() == "steps-mid"
    assert law_line(found[2, 2]).get_data()[1].tolist() == [0, 2]
    assert law_line(found[2, 2]).get_linestyle() == "None"
    assert [panel.get_ylabel() for panel in found[:, 0]] == ["frequency [Hz]", "delay [ns]", "mode"]
    assert [panel.get_xlabel() for panel in found[-1]] == ["vin [V]", "load [A]", "fan"]
    assert (found[0, 0].get_yscale(), found[1, 0].get_yscale()) == ("log", "linear")
    assert ticks(found[2, 0].yaxis) == ["a", "b", "c"]
    assert ticks(found[2, 2].xaxis) == ["off", "on"]
    places = found[1, 0].yaxis.get_majorticklocs()
    assert (places == np.rint(places)).all()


def test_the_others_are_at_their_centre_or_where_they_are_wanted(described):
    titles = [panel.get_title().replace("\xa0", " ") for panel in panels(described.plot(), described)[0]]
    assert titles == ["at load = 1 A, fan = off", "at vin = 24 V, fan = off", "at vin = 24 V, load = 1 A"]
    found = panels(described.plot(at={"vin": 40, "fan": "on"}), described)
    titles = [panel.get_title().replace("\xa0", " ") for panel in found[0]]
    assert titles == ["at load = 1 A, fan = on", "at vin = 40 V, fan = on", "at vin = 40 V, load = 1 A"]
    assert law_line(found[0, 1]).get_ydata()[[0, -1]] == pytest.approx([100 * 10**1.25, 100 * 10**1.75])
    assert set(law_line(found[2, 0]).get_ydata()) == {2}


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"vni": 12}, r"no condition vni \(did you mean 'vin'\?\); it takes vin, load, fan$"),
        ({"vin": 41}, "vin = 41: must be one value from 8 V to 40 V"),
        ({"vin": [12, 13]}, "must be one value"),
        ({"vin": "12"}, "vin = '12': must be a number"),
        ({"fan": "slow"}, "fan = 'slow': must be 'off' or 'on'"),
    ],
)
def test_another_value_is_told_in_one_line(at, message, described):
    with pytest.raises(ValueError, match=message) as error:
        described.plot(at=at)
    assert len(str(error.value).splitlines()) == 1


def test_what_was_tried_near_a_slice_is_shown_with_its_f():
    """The third is 0.6 away from the slice over c_0, and the others are not; the last one failed."""
    x = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    c = np.array([[0.9, 0.4], [0.95, -0.5], [0.7, 0.6], [-0.9, 0.0], [0.0, 0.1]])
    law = plain(1, 2, Tried(x, c, np.array([3.0, 1.0, 0.0, 2.0, np.nan])))
    figure = law.plot()
    panel = panels(figure, law)[0, 0]
    (points,) = panel.collections
    in_order = [[0.9, 0.1], [-0.9, 0.4], [0.95, 0.2]]  # the best one last
    assert np.allclose(points.get_offsets(), in_order)
    assert points.get_array().tolist() == [3, 2, 1]
    marked = {line.get_marker(): np.column_stack(line.get_data()).tolist() for line in panel.lines}
    assert np.allclose(marked["x"], [[0.0, 0.5]])
    assert np.allclose(marked["o"], [[-0.9, 0.4], [0.95, 0.2]])  # of the two in the last tenth the better one
    assert figure.axes[-1].get_ylabel() == "f"
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "failed"


def test_of_another_option_nothing_is_near():
    conditions = Coordinates({"c": Range(-1.0, 1.0), "fan": Choice("off", "on", "full")}, "conditions")
    tried = Tried(np.zeros((3, 1)), np.array([[0.0, -1.0], [0.1, 0.0], [0.2, 1.0]]), np.arange(3.0))
    law = linear(np.zeros((2, 1)), np.zeros(1), Coordinates({"x": Range(-1.0, 1.0)}), conditions, tried)
    (points,) = panels(law.plot(at={"fan": "on"}), law)[0, 0].collections
    assert np.allclose(points.get_offsets(), [[0.1, 0]])


def test_options_lie_beside_each_other_and_nowhere_near_another_one():
    knobs = Coordinates({"mode": Choice("a", "b")})
    tried = Tried(np.tile([[-1.0], [1.0]], (20, 1)), np.linspace(-1, 1, 40)[:, None], np.arange(40.0))
    law = linear(np.zeros((1, 1)), np.zeros(1), knobs, Coordinates({"c": Range(-1.0, 1.0)}, "conditions"), tried)
    (points,) = panels(law.plot(), law)[0, 0].collections
    places = points.get_offsets()[:, 1]
    assert len(np.unique(places)) == 40
    assert (np.abs(places - np.rint(places)) < 0.2).all()
    assert np.bincount(np.rint(places).astype(int)).tolist() == [20, 20]


def test_where_nothing_is_known_or_all_failed_the_law_is_drawn_alone():
    figure = plain(1, 1).plot()
    assert len(figure.axes) == 1
    assert not figure.axes[0].collections
    failed = plain(1, 1, Tried(np.zeros((2, 1)), np.zeros((2, 1)), np.full(2, np.nan))).plot()
    assert len(failed.axes) == 1
    assert [text.get_text() for text in failed.legends[0].get_texts()] == ["the law", "failed"]


def test_of_many_the_first_ones_are_drawn_and_the_title_says_so():
    law = plain(9, 6)
    figure = law.plot()
    assert len(figure.axes) == 8 * 5
    assert (
        figure.get_suptitle()
        == "The law's knobs over each condition: the first 8 of 9 knobs, the first 5 of 6 conditions"
    )


@pytest.mark.parametrize("f", [np.full(3, 5.0), np.array([-1e308, 0.0, 1e308]), np.array([1e-310, 1.0, 1e300])])
def test_any_f_is_drawn(f, tmp_path):
    law = plain(1, 1, Tried(np.zeros((3, 1)), np.linspace(-1, 1, 3)[:, None], f))
    assert law.plot(tmp_path / "law.png") is None
    assert (tmp_path / "law.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (Log(100.0, 110.0), ["100", "102", "104", "106", "108", "110"]),
        (Log(1e5, 1e6), ["100k", "200k", "500k", "1M"]),
        (Log(1.0, 1e4), ["1", "10", "100", "1000", "10000"]),
        (Range(0.0, 4e-6), ["0", "1µ", "2µ", "3µ", "4µ"]),
        (Integer(0, 2), ["0", "1", "2"]),
        (Choice(True, False), ["True", "False"]),
        (Choice("forced continuous", "x"), ["forced\ncontinuous", "x"]),
        (Choice(*(f"the option with number {j}" for j in range(20))), ["the option with..."] * 10),
    ],
)
def test_ticks_are_round_and_in_units(one, shown):
    conditions = Coordinates({"c": Range(-1.0, 1.0)}, "conditions")
    law = linear(np.zeros((1, 1)), np.zeros(1), Coordinates({"x": one}), conditions)
    axis = law.plot().axes[0].yaxis
    low, high = axis.get_view_interval()
    named = zip(axis.get_majorticklocs(), ticks(axis), strict=True)
    assert [text for place, text in named if low <= place <= high and text] == shown


def test_a_notebook_shows_it(described):
    assert described.plot()._repr_png_().startswith(b"\x89PNG")


def test_without_matplotlib_one_line_names_the_extra(described, monkeypatch):
    for name in ("actors.pictures", "actors.picture_axes"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[plot\]'$"):
        described.plot()


def test_dollars_are_no_formula(tmp_path):
    knobs = Coordinates({"bid": Range(0, 1, unit="$/kWh"), "plan": Choice("5 $", "7 $")})
    conditions = Coordinates(
        {"price": Range(0, 1, unit="$/t"), "x": Range(0, 1, unit="%"), "y": Range(0, 1, unit="$")}, "conditions"
    )
    law = linear(np.zeros((3, 2)), np.zeros(2), knobs, conditions, steps=tuple(knobs.steps.tolist()))
    figure = law.plot()
    figure.savefig(tmp_path / "law.png")
    shown = panels(figure, law)
    assert shown[0, 1].get_title().replace("\xa0", " ") == r"at price = 0.5 \$/t, y = 0.5 \$"
    assert shown[1, 0].get_xlabel() == r"price [\$/t]" and ticks(shown[1, 0].yaxis) == [r"5 \$", r"7 \$"]
