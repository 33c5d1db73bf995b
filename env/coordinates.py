"""Knobs and conditions by name, in their units, and their map to [-1, 1].

It needs NumPy alone, as a law does that is deployed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from env.errors import UsageError
from env.kinds import KINDS, Choice, Coordinate, Range

COLUMN = re.compile(r"id|f|g_\d+")
"""Columns of tables of points and of evaluations that hold values of f, or the names of points."""

ROUNDING = 1e-9  # of a range, by which a value may seem to lie beyond it


class Coordinates(Mapping[str, Coordinate]):
    """Named coordinates in a fixed order: all knobs of a problem, or all conditions.

    Args:
        named: the coordinates by name.
        what: what a message calls them: ``knobs`` or ``conditions``.

    Attributes:
        steps: distances in [-1, 1] between the values that each can have, 0 where it can have all, ``[n]``.
        observed: numbers of those that cannot be set.

    Raises:
        UsageError: there is none, or one that is no coordinate.
    """

    def __init__(self, named: Mapping[str, Coordinate], what: str = "knobs"):
        if not isinstance(named, Mapping) or not named:
            given = f"{what} is needed" if isinstance(named, Mapping) else f"{what} = {named!r}"
            raise UsageError(f"{given}: must name one or more, such as {what}=dict(gain=Range(0, 1))")
        for name, one in named.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise UsageError(f"{what}: {name!r} must be a name that Python can use for a parameter")
            if not isinstance(one, Coordinate):
                wanted = "Range(low, high), Log(low, high), Integer(low, high) or Choice('a', 'b')"
                raise UsageError(f"{what}: {name} = {one!r} must be {wanted}")
        self._named, self._what = dict(named), what
        self.steps = np.array([one.step for one in named.values()])
        self.observed = tuple(j for j, one in enumerate(named.values()) if one.observed)

    @classmethod
    def plain(cls, letter: str, count: int, what: str) -> "Coordinates":
        """Returns coordinates that are in [-1, 1] already: ``x_0`` .., as the archive's columns are named."""
        return cls({f"{letter}_{j}": Range(-1.0, 1.0) for j in range(count)}, what)

    def __getitem__(self, name: str) -> Coordinate:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def in_units(self, z: np.ndarray) -> dict[str, Any]:
        """Returns values in units by name, each ``[...]``, for normalised ones ``[..., n]``."""
        return {name: one.in_units(z[..., j]) for j, (name, one) in enumerate(self._named.items())}

    def in_words(self, z: np.ndarray) -> str:
        """Returns values ``[n]`` by name and in units, with three digits, such as ``vin = 12.5 V, mode = ccm``."""
        parts = []
        for (name, one), value in zip(self._named.items(), z.tolist(), strict=True):
            found = one.in_units(value)
            shown = f"{found:.3g}" if isinstance(found, float) else str(found)
            parts.append(f"{name} = {shown} {one.unit}".rstrip())
        return ", ".join(parts)

    def normalised(self, values: Mapping[str, Any]) -> np.ndarray:
        """Returns ``[..., n]`` for values in units by name, which are broadcast against each other.

        Raises:
            UsageError: a name is missing or unknown, or a value is none that the coordinate can take in.
        """
        for name in (*self._named, *values):
            if name not in self._named or name not in values:
                what = "is missing" if name in self._named else f"is none of {self._what}"
                raise UsageError(f"{name}: {what}; they are {', '.join(self._named)}")
        columns = []
        for name, one in self._named.items():
            try:
                columns.append(one.normalised(values[name]))
            except UsageError as error:
                raise UsageError(f"{name} = {error}") from None
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def as_json(self) -> list[dict[str, Any]]:
        """Returns what ``from_json`` takes."""
        parts = []
        for name, one in self._named.items():
            own = {"options": list(one.options), "observed": one.observed} if isinstance(one, Choice) else asdict(one)
            if not own["observed"]:  # as it was written before there were any
                own.pop("observed")
            parts.append({"name": name, "kind": one.kind, **own})
        return parts

    @classmethod
    def from_json(cls, content: Any, what: str) -> "Coordinates":
        """Rebuilds coordinates.

        Raises:
            ValueError: the content describes none.
        """
        try:
            named = {part["name"]: _rebuilt(part) for part in content}
            return cls(named, what)
        except (TypeError, KeyError, AttributeError, UsageError) as error:
            raise ValueError(f"{what} that describe no coordinates ({error})") from None


def check_named(knobs: Coordinates, conditions: Coordinates) -> None:
    """Checks the knobs and the conditions of a problem beside each other.

    Raises:
        UsageError: they share a name, or have one that a table of evaluations has for something else, or a knob is
            observed.
    """
    for name in (*knobs, *conditions):
        if COLUMN.fullmatch(name):
            raise UsageError(f"{name}: a column of tables has this name; call the knob or condition otherwise")
    if shared := [name for name in knobs if name in conditions]:
        raise UsageError(f"{shared[0]} is named as a knob and as a condition")
    if knobs.observed:
        name = list(knobs)[knobs.observed[0]]
        raise UsageError(f"knobs: {name} is observed = True, and a knob is set; only a condition comes by itself")


def with_observed(conditions: Coordinates, c: np.ndarray, found: Mapping[str, Any]) -> np.ndarray:
    """Returns normalised conditions with those that were observed in place of those that were expected.

    Args:
        conditions: of the problem.
        c: the expected ones, ``[n, conditions]``.
        found: the observed ones by name, in units; each a value or ``[n]``.

    Raises:
        UsageError: a value is none of its condition, or outside of its range.
    """
    actual = c.copy()
    for j in conditions.observed:
        name, one = list(conditions.items())[j]
        try:
            z = np.asarray(one.normalised(found[name]), np.float64)
        except UsageError as error:
            raise UsageError(f"{name} = {error}") from None
        if not (np.abs(z) <= 1 + ROUNDING).all():
            bounds = f"{one.low:g} to {one.high:g} {one.unit}".rstrip()
            raise UsageError(
                f"{name} = {found[name]} is outside of its range, {bounds}, which must hold all that comes"
            )
        if z.shape not in ((), (len(c),)):
            raise UsageError(f"{name} of shape {z.shape} for {len(c)} rows")
        actual[:, j] = np.clip(z, -1, 1)
    return snapped(actual, np.where(np.isin(np.arange(len(conditions)), conditions.observed), conditions.steps, 0.0))


def snapped(z: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Returns the nearest values that coordinates can have.

    Args:
        z: normalised, ``[..., n]``.
        steps: of ``Coordinates``, ``[n]``.
    """
    if not steps.any():
        return z
    found, stepped = np.array(z, np.float64), steps > 0
    found[..., stepped] = np.minimum(np.rint((found[..., stepped] + 1) / steps[stepped]) * steps[stepped] - 1, 1.0)
    return found


def value_on_step(z: float, step: float) -> float:
    """Returns what ``snapped`` does for one number."""
    return min(round((z + 1) / step) * step - 1, 1.0) if step else z


def _rebuilt(part: Mapping[str, Any]) -> Coordinate:
    if part["kind"] == "choice":
        return Choice(*part["options"], observed=part.get("observed", False))
    return KINDS[part["kind"]](part["low"], part["high"], part["unit"], part.get("observed", False))
