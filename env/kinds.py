"""The kinds of knobs and conditions, with units and ranges, and the map of each to [-1, 1].

It needs NumPy alone, as a law does that is deployed.
"""

import contextlib
import functools
import math
import numbers
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from env.errors import UsageError

LEAST_RATIO = 1e-300
MOST_VALUES = 10_000_000
"""Values of an integer at the most, which float64 tells apart in [-1, 1] with room to spare."""

MOST_WHOLE = 2**53


@dataclass(frozen=True)
class Range:
    """A number between two bounds.

    Args:
        low, high: the bounds.
        unit: its unit, for messages, pictures and tables.
        observed: whether it is a condition that comes by itself, such as the weather, and cannot be set.
    """

    kind: ClassVar = "range"
    low: float
    high: float
    unit: str = ""
    observed: bool = False

    def __post_init__(self) -> None:
        if not all(map(_is_finite, (self.low, self.high))):
            raise UsageError(f"{self}: its bounds must be finite numbers")
        if not isinstance(self.unit, str):
            raise UsageError(f"{self}: its unit = {self.unit!r} must be a text")
        if not isinstance(self.observed, bool):
            raise UsageError(f"{self}: its observed = {self.observed!r} must be True or False")
        for name in ("low", "high"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        if not self.low < self.high:
            raise UsageError(f"{self}: its first bound must be below its second")
        if not math.isfinite(float(self.high) - float(self.low)):
            raise UsageError(f"{self}: its bounds are too far apart for floating-point numbers")
        self._check()

    def _check(self) -> None:
        """Checks what one kind asks for beyond that.

        Raises:
            UsageError: it is not so.
        """

    @property
    def step(self) -> float:
        """Distance in [-1, 1] between the values that it can have; 0 where it can have all."""
        return 0.0

    def in_units(self, z: Any) -> Any:
        """Returns the values, in its unit, of an array in [-1, 1], or of a float as Python's own number."""
        return self._inside(z if self._plain else self.low + (z + 1) * ((self.high - self.low) / 2), z)

    @property
    def _plain(self) -> bool:
        """Whether values are normalised as they are, so that no digit is to be lost."""
        return self.low == -1 and self.high == 1

    def _inside(self, value: Any, z: Any) -> Any:
        """Returns values that are within the bounds, and at 1 the upper one, which rounding may have missed."""
        if isinstance(value, np.ndarray):
            return np.where(z >= 1, self.high, np.clip(value, self.low, self.high))
        return float(self.high if z >= 1 else min(max(value, self.low), self.high))

    def normalised(self, values: Any) -> Any:
        """Returns numbers in [-1, 1] for a value or an array in its unit; beyond its bounds they lie beyond -1 and 1.

        Raises:
            UsageError: a value is no number, or NaN.
        """
        found = _numbers(values)
        return found * 1.0 if self._plain else 2 * (found - self.low) / (self.high - self.low) - 1

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.low!r}, {self.high!r})"


class Log(Range):
    """A number between two bounds above 0 whose orders of magnitude count alike, such as a frequency."""

    kind = "log"

    def _check(self) -> None:
        if self.low <= 0:
            raise UsageError(f"{self}: its bounds must be above 0")
        if not math.isfinite(self.high / self.low):
            raise UsageError(f"{self}: its bounds are too far apart for floating-point numbers")

    def in_units(self, z: Any) -> Any:
        """See ``Range``."""
        return self._inside(self.low * np.power(self.high / self.low, (z + 1) / 2), z)

    def normalised(self, values: Any) -> Any:
        """See ``Range``; a value of 0 or less lies far below -1."""
        ratio = np.maximum(_numbers(values) / self.low, LEAST_RATIO)
        return 2 * np.log(ratio) / np.log(self.high / self.low) - 1


class Integer(Range):
    """A whole number between two bounds, both included, such as a register."""

    kind = "integer"

    def _check(self) -> None:
        if self.low != int(self.low) or self.high != int(self.high):
            raise UsageError(f"{self}: its bounds must be whole numbers")
        if max(abs(self.low), abs(self.high)) > MOST_WHOLE:
            raise UsageError(f"{self}: its bounds must be at most 2^53, beyond which floating-point numbers have gaps")
        if self.high - self.low >= MOST_VALUES:
            raise UsageError(f"{self}: it must have at most {MOST_VALUES:,} values; use Range")

    @property
    def step(self) -> float:
        """See ``Range``."""
        return 2 / (self.high - self.low)

    def in_units(self, z: Any) -> Any:
        """See ``Range``; the nearest whole numbers."""
        value = super().in_units(z)
        return np.rint(value).astype(np.int64) if isinstance(value, np.ndarray) else round(value)


class Choice:
    """One of several options, such as a mode.

    Args:
        options: the options: texts, numbers, or True and False.
        observed: see ``Range``.
    """

    kind: ClassVar = "choice"
    unit: ClassVar = ""

    def __init__(self, *options: Any, observed: bool = False):
        self.observed = observed
        self.options = tuple(map(_plain_option, options))
        if len(options) < 2:
            hint = (
                "; give them one by one, Choice('a', 'b')" if options and isinstance(options[0], list | tuple) else ""
            )
            raise UsageError(f"{self}: needs two options or more{hint}")
        if not all(isinstance(option, str | bool) or _is_finite(option) for option in self.options):
            raise UsageError(f"{self}: its options must be texts, finite numbers, or True and False")
        if len({(isinstance(option, bool), option) for option in self.options}) < len(options):
            raise UsageError(f"{self}: names an option twice")
        self.low, self.high = 0, len(options) - 1

    @property
    def step(self) -> float:
        """See ``Range``."""
        return 2 / self.high

    def in_units(self, z: Any) -> Any:
        """Returns the options nearest to an array in [-1, 1], or the one nearest to a float."""
        if isinstance(z, np.ndarray):
            return self._table[np.rint((z + 1) / self.step).astype(np.int64).clip(0, self.high)]
        return self.options[min(max(round((z + 1) / self.step), 0), self.high)]

    @functools.cached_property
    def _table(self) -> np.ndarray:
        table = np.empty(len(self.options), object)
        table[:] = self.options
        return table

    def normalised(self, values: Any) -> Any:
        """Returns numbers in [-1, 1] for an option or an array of them.

        Raises:
            UsageError: a value is none of them.
        """
        if isinstance(values, str | bool | int | float):
            return self._place(values) * self.step - 1
        values = np.asarray(values, object)
        places = [self._place(value) for value in values.reshape(-1).tolist()]
        return np.array(places, np.float64).reshape(values.shape) * self.step - 1

    def _place(self, value: Any) -> int:
        for place, option in enumerate(self.options):
            if value == option and isinstance(value, bool) == isinstance(option, bool):
                return place
        raise UsageError(f"{value!r}: must be {', '.join(map(repr, self.options[:-1]))} or {self.options[-1]!r}")

    def read(self, text: str) -> Any:
        """Returns the option that a text says, as a spreadsheet may have written it; None if it is none of them."""
        texts = [str(option) for option in self.options]
        if text in texts:
            return self.options[texts.index(text)]
        plain, texts = text.strip().lower(), [one.strip().lower() for one in texts]
        if plain in texts:
            return self.options[texts.index(plain)]
        with contextlib.suppress(ValueError):
            number = float(text)
            return next((one for one in self.options if not isinstance(one, str | bool) and one == number), None)
        return None

    def __str__(self) -> str:
        return f"Choice({', '.join(map(repr, self.options))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and (str(self), self.observed) == (str(other), other.observed)

    def __hash__(self) -> int:
        return hash(str(self))

    __repr__ = __str__


Coordinate = Range | Choice
KINDS: dict[str, type[Range]] = {kind.kind: kind for kind in (Range, Log, Integer)}


def _is_finite(value: Any) -> bool:
    """Returns whether something is a number that float64 has, and neither True nor False."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _plain(value: Any) -> Any:
    """Returns a finite number as Python's own, which JSON can hold."""
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _plain_option(option: Any) -> Any:
    """Returns an option as Python's own text, number or truth value, if it is one."""
    if isinstance(option, np.generic):
        option = option.item()
    return _plain(option) if _is_finite(option) else option


def _numbers(values: Any) -> Any:
    """Returns a Python number as it is, and anything else as an array of float64.

    Raises:
        UsageError: one of them is no number, or one that float64 does not have.
    """
    if type(values) is int and not _is_finite(values):
        raise UsageError(f"a whole number of {values.bit_length():,} bits: must be one that floating point has")
    if type(values) in (int, float) and values == values:
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise UsageError(f"{values!r}: must be a number")
    if np.isnan(array).any():
        raise UsageError(f"{values!r}: must not be NaN")
    return array.astype(np.float64)
