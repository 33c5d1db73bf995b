"""Gymnasium's spaces as JSON, so that a policy in a file knows what it is shown and what it may do."""

from typing import Any

import numpy as np
from gymnasium import spaces


def space_as_json(space: spaces.Space) -> dict[str, Any]:
    """Returns what ``space_from_json`` takes.

    Raises:
        TypeError: it is of a kind that has no such form.
    """
    if isinstance(space, spaces.Box):
        bounds = {name: _bounds(getattr(space, name)) for name in ("low", "high")}
        return {"kind": "box", "shape": list(space.shape), "dtype": space.dtype.str, **bounds}
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        sizes = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
        return {"kind": "multi-discrete", "dtype": space.dtype.str, **sizes}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multi-binary", "shape": np.asarray(space.n).tolist()}
    if isinstance(space, spaces.Dict):
        # An object of JSON whose names came back sorted would be flattened in another order.
        if not all(isinstance(name, str) for name in space.spaces):
            raise TypeError(f"a space {space} has names that are no texts")
        return {"kind": "dict", "parts": [[name, space_as_json(part)] for name, part in space.spaces.items()]}
    if isinstance(space, spaces.Tuple):
        return {"kind": "tuple", "parts": [space_as_json(part) for part in space.spaces]}
    raise TypeError(f"a space {space} has no form in JSON")


def choices_of(space: spaces.Space) -> tuple[int, ...]:
    """Returns the number of options of each discrete choice in an action; empty where actions are continuous."""
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    return tuple(map(int, space.nvec.reshape(-1))) if isinstance(space, spaces.MultiDiscrete) else ()


def space_from_json(content: Any) -> spaces.Space:
    """Rebuilds a space.

    Raises:
        ValueError: the content describes none.
    """
    try:
        return _MAKERS[content["kind"]](content)
    except (TypeError, KeyError, AttributeError, AssertionError, ValueError, OverflowError) as error:
        raise ValueError(f"it describes no space of Gymnasium ({error})") from None


def _box(content: Any) -> spaces.Space:
    shape, dtype = tuple(content["shape"]), np.dtype(content["dtype"])
    low, high = (_filled(content[name], shape, dtype, sign * np.inf) for name, sign in (("low", -1), ("high", 1)))
    return spaces.Box(low, high, shape, dtype.type)


def _bounds(values: np.ndarray) -> Any:
    """Returns bounds as one number where all are the same, else as a list; None stands for one that is not finite."""
    same = values.size > 0 and bool((values == values.flat[0]).all())
    kept = [value if np.isfinite(value) else None for value in values.reshape(-1)[: 1 if same else None].tolist()]
    return kept[0] if same else kept


def _filled(bounds: Any, shape: tuple[int, ...], dtype: np.dtype, missing: float) -> np.ndarray:
    if isinstance(bounds, list):
        return np.array([missing if bound is None else bound for bound in bounds], dtype).reshape(shape)
    return np.full(shape, missing if bounds is None else bounds, dtype)


_MAKERS: dict[str, Any] = {
    "box": _box,
    "discrete": lambda content: spaces.Discrete(content["n"], start=content["start"]),
    "multi-discrete": lambda content: spaces.MultiDiscrete(
        content["nvec"], np.dtype(content["dtype"]).type, start=content["start"]
    ),
    "multi-binary": lambda content: spaces.MultiBinary(content["shape"]),
    "dict": lambda content: spaces.Dict([(name, space_from_json(part)) for name, part in content["parts"]]),
    "tuple": lambda content: spaces.Tuple([space_from_json(part) for part in content["parts"]]),
}
