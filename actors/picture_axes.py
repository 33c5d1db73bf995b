"""Axes of pictures in the units of knobs and conditions: places, scales, ticks and labels."""

import textwrap
from typing import Any

import numpy as np
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from env.kinds import Choice, Coordinate, Integer, Log

POINTS = 241  # of a line along an axis
MARKED = 40  # values of a condition up to which each one is marked
MOST_TICKS, FEW = 12, 5  # options that are named on an axis, and up to how many take two lines each
LONGEST, LINE = 18, 14  # characters of an option on one line, and on each of two
BESIDE = 0.16  # how far points of an option lie from its place at the most
MARGIN = 0.03  # of an axis on each side of its range
PREFIXED = (1e-2, 1e5)  # magnitudes outside of which ticks have a prefix, such as 200 k
WIDE = 5.0  # ratio of the ends of a logarithmic axis up to which its ticks are those of an even one
NARROW = 2.5  # decades of a logarithmic axis below which there are ticks at 2 and 5 too


def grid(one: Coordinate, points: int = POINTS) -> np.ndarray:
    """Returns normalised values along the range of a coordinate: all that it can have, where these are not more."""
    values = round(2 / one.step) + 1 if one.step else points
    z = np.linspace(-1, 1, min(values, points))
    return np.clip(np.rint((z + 1) / one.step) * one.step - 1, -1, 1) if one.step else z


def places(one: Coordinate, z: np.ndarray) -> np.ndarray:
    """Returns where normalised values lie on an axis: in the unit, or for an option at its number, from 0 on."""
    if isinstance(one, Choice):
        return np.rint((z + 1) / one.step).clip(0, one.high)
    return np.asarray(one.in_units(z), np.float64)


def spread_places(one: Coordinate, z: np.ndarray, turn: float) -> np.ndarray:
    """Returns what ``places`` does, for points: those of the same option lie beside each other.

    Multiples of ``turn``, less their whole numbers, fill [0, 1] evenly.
    """
    if not isinstance(one, Choice):
        return places(one, z)
    return places(one, z) + BESIDE * (2 * (np.arange(len(z)) * turn % 1) - 1)


def is_marked(one: Coordinate) -> bool:
    """Returns whether a coordinate has so few values that each one is marked."""
    return bool(one.step) and 2 / one.step < MARKED


def plain(text: str) -> str:
    """Returns a text in which Matplotlib takes no dollars for the ends of a formula."""
    return text.replace("$", r"\$")


def label(name: str, one: Coordinate) -> str:
    """Returns a name with its unit."""
    return f"{name} [{one.unit}]" if one.unit else name


def value_text(one: Coordinate, z: float) -> str:
    """Returns a normalised value in its unit, for a text."""
    value = one.in_units(z)
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{shown} {one.unit}" if one.unit else shown


def set_axis(axis: Any, one: Coordinate, name: str | None, margin: float = MARGIN) -> None:
    """Gives the horizontal or the vertical axis of a panel its scale, limits, ticks and label.

    Args:
        axis: ``axes.xaxis`` or ``axes.yaxis``.
        one: what it shows.
        name: its name; None for an axis without labels, beside another one that has them.
        margin: share of its range to leave free on each side; for 0 half a step is not left free either.
    """
    panel, which = axis.axes, axis.axis_name
    set_limits = {"x": panel.set_xlim, "y": panel.set_ylim}[which]
    if isinstance(one, Log):
        {"x": panel.set_xscale, "y": panel.set_yscale}[which]("log")
        wider = (one.high / one.low) ** margin
        set_limits(one.low / wider, one.high * wider)
    else:
        wider = max(margin * (one.high - one.low), 0.5 if one.step and margin else 0.0)
        set_limits(one.low - wider, one.high + wider)
    if isinstance(one, Choice):
        _name_options(axis, one)
    else:
        _set_ticks(axis, one)
    if name is None:
        axis.set_tick_params(**{"labelbottom" if which == "x" else "labelleft": False})
        return
    axis.set_label_text(plain(textwrap.fill(label(name, one), 28)))


def _set_ticks(axis: Any, one: Any) -> None:
    """Sets ticks at round values, with prefixes where these are large or small."""
    largest = max(abs(one.low), abs(one.high))
    plain = PREFIXED[0] <= (one.low if isinstance(one, Log) else largest) and largest < PREFIXED[1]
    if isinstance(one, Log) and one.high > WIDE * one.low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if one.high < 10**NARROW * one.low else (1,), numticks=8))
    else:
        axis.set_major_locator(
            MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=isinstance(one, Integer), min_n_ticks=2)
        )
    if isinstance(one, Log):
        axis.set_minor_formatter(NullFormatter())
    if not plain:
        axis.set_major_formatter(EngFormatter(sep=""))
    elif isinstance(one, Log):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _name_options(axis: Any, one: Choice) -> None:
    """Sets ticks at options, with their names: on two lines where these are few, else cut."""
    every = -(-len(one.options) // MOST_TICKS)
    shown = list(range(0, len(one.options), every))
    texts = [str(one.options[j]) for j in shown]
    slanted = axis.axis_name == "x" and sum(min(len(text), LINE) for text in texts) > 2 * LINE
    if slanted or len(texts) > FEW:
        names = [text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in texts]
    else:
        names = ["\n".join(textwrap.wrap(text, LINE, max_lines=2, placeholder="...")) for text in texts]
    axis.set_minor_locator(NullLocator())
    style = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axis.set_ticks(shown, list(map(plain, names)), **style)
