"""Values of a user's in words, for messages."""

import types
from typing import Any

import numpy as np

LONGEST = 40  # characters of a text or a number


def described(value: Any) -> str:
    """Returns what a value is: ``None``, ``the text 'off'``, ``a tuple of 4 values``, ``an array of shape (3,)``."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return f"the text {_short(value)}"
    if isinstance(value, np.ndarray):
        kind = "" if value.dtype.kind in "fiu" else f" of {value.dtype}"
        return f"an array{kind} of shape {value.shape}"
    if isinstance(value, int | float | complex | np.generic):
        return f"the number {_short(value.item() if isinstance(value, np.generic) else value)}"
    if isinstance(value, tuple | list | dict):
        return f"a {type(value).__name__} of {len(value)} value{'s' * (len(value) != 1)}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"an object of type {type(value).__name__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
