"""A user's function, called by name at one point after the other, whatever it was described as."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from env.coordinates import Coordinates


def by_name(f: Any, knobs: Coordinates, conditions: Coordinates, problem: str) -> Callable[[Mapping[str, Any]], Any]:
    """Returns a function that takes all values of one point by name, in units, and returns what ``f`` does.

    Args:
        f: takes knobs and conditions by name; a function that ``objective`` described, or what a described class makes,
            is given what it takes beside them, and arrays of one value where it takes arrays.
        knobs, conditions: those of the law.
        problem: what the law is of, for a message.

    Raises:
        ValueError: ``f`` is of other knobs or conditions, has conditions that cannot be set, cannot be called by name,
            or has to be awaited.
    """
    if isinstance(f, type):
        raise ValueError(f"f is the class {f.__name__}; give what it makes, {f.__name__}()")
    kind = getattr(f, "objective", None)  # of a described function or class: its class of objectives
    if not isinstance(kind, type):
        return lambda values: f(**values)
    described: Any = kind
    if (described.knob_coordinates, described.condition_coordinates) != (knobs, conditions):
        raise ValueError(f"f has other knobs or conditions than the law, which is of {problem}")
    if conditions.observed:
        raise ValueError("a polish is of one condition, and f has some that are observed and cannot be set")
    if described.asynchronous:
        raise ValueError("f has to be awaited; give a function that does so, lambda **values: asyncio.run(f(**values))")
    given = {"rng": np.random.default_rng(0)} if described.takes_rng else {}
    if described.vectorised:
        return lambda values: f(**{name: _array(value) for name, value in values.items()}, **given)
    return lambda values: f(**values, **given)


def _array(value: Any) -> np.ndarray:
    """Returns an array of one value, as coordinates make it: of objects where it is an option, else of numbers."""
    return np.array([value], object if isinstance(value, str | bool) else None)
