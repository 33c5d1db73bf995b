"""Pictures of a law, with matplotlib (the extra ``plot``): each knob over each condition, in units.

It is loaded by ``Law.plot`` alone, so that a law needs NumPy and no more.
"""

import io
import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure  # not pyplot, which would take over a notebook's way of showing figures
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from actors.law_file import Tried
from actors.picture_axes import grid, is_marked, places, plain, set_axis, spread_places, value_text
from env.coordinates import Coordinates, snapped
from env.errors import UsageError, nearest
from env.kinds import Choice, Coordinate

MOST_KNOBS, MOST_CONDITIONS = 8, 5  # of one figure
NEAR = 0.5  # a quarter of a range, which is 2 wide
PARTS = 10  # of an axis, in each of which the best evaluation is marked
WORST = 0.9  # quantile of f from which on all have the last colour
LARGEST = 1e200  # beyond which matplotlib's arithmetic overflows
SPREAD = 100.0  # ratio of the ends of the colours from which on they are logarithmic
DPI = 110
TITLE = 42  # characters of a line above a panel
NO_BREAK = "\u00a0"  # a space at which no line ends
LAW: dict[str, Any] = {"color": "#ee3377", "lw": 1.8}
BEST: dict[str, Any] = {"ls": "", "marker": "o", "mfc": "none", "mec": "black", "ms": 6.5, "mew": 1.3}
FAILED: dict[str, Any] = {"ls": "", "marker": "x", "color": "#777777", "ms": 5, "mew": 1.1}


class Drawn(Protocol):
    """What is drawn of a law; see ``actors.law.Law``."""

    knobs: int
    conditions: int
    knob_coordinates: Coordinates
    condition_coordinates: Coordinates
    tried: Tried | None

    def __call__(self, conditions: Any = None, /, **named: Any) -> Any:
        """Returns the knobs for conditions."""


class Picture(Figure):
    """A figure that a notebook shows, whether pyplot is loaded in it or not."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()


@dataclass(frozen=True)
class Colours:
    """How the points of a figure show f.

    Attributes:
        norm: maps f to colours.
        clipped: whether the last colour stands for all larger values.
    """

    norm: Normalize
    clipped: bool


def plot(law: Drawn, path: str | os.PathLike[str] | None = None, at: Mapping[str, Any] | None = None) -> Figure | None:
    """See ``Law.plot``."""
    centre = slice_at(law, at or {})
    knobs = list(law.knob_coordinates.items())[:MOST_KNOBS]
    conditions = list(law.condition_coordinates.items())[:MOST_CONDITIONS]
    near = [is_near(law, centre, j) for j in range(len(conditions))]
    colours = _colours(law, near)
    rows, columns = len(knobs), len(conditions)
    width = 6.6 if columns == 1 else 1.5 + 3.2 * columns
    figure = Picture(figsize=(width, 5.4 if rows == 1 == columns else 1.7 + 2.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for j, (condition_name, condition) in enumerate(conditions):
        z = grid(condition)
        along = np.tile(centre, (len(z), 1))
        along[:, j] = z
        found = law(along)
        for i, (knob_name, knob) in enumerate(knobs):
            panel = panels[i, j]
            _draw_points(panel, law, near[j], (i, j), colours)
            _draw_line(panel, condition, knob, z, found[:, i])
            set_axis(panel.xaxis, condition, condition_name if i == rows - 1 else None)
            set_axis(panel.yaxis, knob, knob_name if j == 0 else None)
            panel.grid(alpha=0.25)
        if len(centre) > 1:
            panels[0, j].set_title(_others(law, centre, j), fontsize=8)
    _finish(figure, panels, law, near, colours)
    if path is None:
        return figure
    figure.savefig(path, dpi=DPI)
    return None


def slice_at(law: Drawn, at: Mapping[str, Any]) -> np.ndarray:
    """Returns the normalised conditions ``[conditions]`` that a slice goes through: ``at``, else the centre.

    Raises:
        ValueError: ``at`` names no condition of the law, or a value that is none, or outside of its range.
    """
    known, centre = law.condition_coordinates, np.zeros(law.conditions)
    names = list(known)
    for name, value in at.items():
        if name not in known:
            raise ValueError(
                f"at: the law takes no condition {name}{nearest(name, known)}; it takes {', '.join(known)}"
            )
        one = known[name]
        try:
            z = np.asarray(one.normalised(value))
        except UsageError as error:
            raise ValueError(f"at: {name} = {error}") from None
        if z.shape != () or abs(z) > 1 + 1e-9:
            bounds = f"from {value_text(one, -1.0)} to {value_text(one, 1.0)}"
            raise ValueError(f"at: {name} = {value!r}: must be one value {bounds}, on which the law was trained")
        centre[names.index(name)] = np.clip(z, -1, 1)
    return snapped(centre, known.steps)


def is_near(law: Drawn, centre: np.ndarray, along: int) -> np.ndarray:
    """Returns which of the evaluations tried lie near a slice over condition ``along``, ``[n]``.

    The other conditions lie within a quarter of their range, and options are the same.
    """
    if law.tried is None:
        return np.zeros(0, bool)
    near = np.ones(len(law.tried.f), bool)
    for j, one in enumerate(law.condition_coordinates.values()):
        if j != along:
            away = np.abs(law.tried.c[:, j] - centre[j])
            near &= away <= (one.step / 2 if isinstance(one, Choice) else NEAR)
    return near


def best_of_parts(c: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Returns the places of the evaluations with the least f in each tenth of a range; of NaN there are none.

    Args:
        c: normalised condition, ``[n]``.
        f: values, ``[n]``.
    """
    part = np.minimum((c + 1) * (PARTS / 2), PARTS - 1).astype(int)
    order = np.lexsort([f, part])  # NaN comes last
    first = np.ones(len(order), bool)
    first[1:] = part[order][1:] != part[order][:-1]
    best = order[first]
    return best[~np.isnan(f[best])]


def _colours(law: Drawn, near: list[np.ndarray]) -> Colours | None:
    """Returns the colours of all points of a figure; None where there are none, or all have failed."""
    if law.tried is None:
        return None
    f = law.tried.f[np.any(near, axis=0)]
    f = np.clip(f[~np.isnan(f)], -LARGEST, LARGEST)
    if not len(f):
        return None
    low, high = float(f.min()), float(np.quantile(f, WORST, method="higher"))
    kind = LogNorm if low > 0 and high > SPREAD * low else Normalize
    return Colours(kind(low, high), bool(f.max() > high))


def _draw_points(panel: Any, law: Drawn, near: np.ndarray, place: tuple[int, int], colours: Colours | None) -> None:
    """Draws what was tried near a slice: knob ``place[0]`` over condition ``place[1]``, the best ones last."""
    if law.tried is None:
        return
    i, j = place
    knob = list(law.knob_coordinates.values())[i]
    condition = list(law.condition_coordinates.values())[j]
    f, c = law.tried.f[near], law.tried.c[near, j]
    x, y = spread_places(condition, c, 0.7549), spread_places(knob, law.tried.x[near, i], 0.5698)
    failed = np.isnan(f)
    panel.plot(x[failed], y[failed], zorder=2, **FAILED)
    if colours is not None:
        order = np.argsort(-f)[: int((~failed).sum())]
        size = 14 if len(order) > 200 else 24
        values = np.clip(f[order], -LARGEST, LARGEST)
        panel.scatter(x[order], y[order], size, values, norm=colours.norm, alpha=0.8, lw=0, zorder=2.5)
    best = best_of_parts(c, f)
    panel.plot(x[best], y[best], zorder=3.5, **BEST)


def _draw_line(panel: Any, condition: Coordinate, knob: Coordinate, z: np.ndarray, found: np.ndarray) -> None:
    """Draws a knob over a condition: in steps where the knob has some, with a mark at each of few conditions."""
    style: dict[str, Any] = dict(LAW, zorder=3, path_effects=[withStroke(linewidth=3.0, foreground="white")])
    if knob.step:
        style["drawstyle"] = "steps-mid"
    if is_marked(condition):
        style |= {"marker": "D", "ms": 5}
    if isinstance(condition, Choice):
        style |= {"ls": "", "ms": 8}  # between options there is nothing
    panel.plot(places(condition, z), places(knob, found), **style)


def _others(law: Drawn, centre: np.ndarray, along: int) -> str:
    """Returns the conditions but one at which a slice is drawn."""
    named = enumerate(law.condition_coordinates.items())
    parts = [f"{name} = {value_text(one, centre[j])}" for j, (name, one) in named if j != along]
    kept = [part.replace(" ", NO_BREAK) if len(part) < TITLE - 5 else part for part in parts]
    return plain(textwrap.fill("at " + ", ".join(kept), TITLE, break_on_hyphens=False))


def _finish(figure: Any, panels: Any, law: Drawn, near: list[np.ndarray], colours: Colours | None) -> None:
    """Adds the title, the colour bar and the legend."""
    marks = [Line2D([], [], label="the law", **LAW)]
    tried = law.tried
    if tried is not None and colours is not None:
        extend = "max" if colours.clipped else "neither"
        drawn = next(panel.collections[0] for panel in panels.flat if panel.collections)
        figure.colorbar(drawn, ax=panels, label="f", extend=extend, aspect=40).solids.set(alpha=1)
        marks.append(Line2D([], [], label="evaluations, the best of each tenth of the axis with a ring", **BEST))
    if tried is not None and np.isnan(tried.f[np.any(near, axis=0)]).any():
        marks.append(Line2D([], [], label="failed", **FAILED))
    narrow = figure.get_figwidth() < 8
    figure.legend(handles=marks, loc="outside lower center", ncols=1 if narrow else 3, fontsize=8.5, frameon=False)
    limits = (("knobs", MOST_KNOBS, law.knobs), ("conditions", MOST_CONDITIONS, law.conditions))
    parts = [f"the first {most} of {there:,} {what}" for what, most, there in limits if there > most]
    what = "The law's knobs over " + ("each condition" if law.conditions > 1 else "its condition")
    lines = [": ".join([what, *([", ".join(parts)] if parts else [])])]
    if tried is not None and law.conditions > 1:
        lines.append("points: evaluations in training with the other conditions within a quarter of their range")
    figure.suptitle("\n".join(textwrap.fill(line, int(figure.get_figwidth() * 12.5)) for line in lines), fontsize=10)
