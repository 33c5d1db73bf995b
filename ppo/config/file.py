"""Reading a ``config.json`` back, checked key by key."""

import dataclasses
import json
import pathlib
from typing import Any, Literal

from env.errors import UsageError, nearest
from ppo.config.fields import Config


def read_config(path: str | pathlib.Path, flag: str = "--config") -> Config:
    """Reads a ``config.json``.

    Raises:
        UsageError: it cannot be read, has an unknown key, or a value of the wrong type; the text names ``flag``.
    """
    try:
        values = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"not JSON: {error}"
        raise UsageError(f"{flag} {path}: {reason}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{flag} {path}: must hold one JSON object")
    fields = {field.name: field for field in dataclasses.fields(Config)}
    for key, value in values.items():
        if key not in fields:
            raise UsageError(f"{flag} {path}: unknown key '{key}'{nearest(key, fields)}")
        if not _fits(value, fields[key].type):
            raise UsageError(f"{flag} {path}: {key} = {json.dumps(value)} is not {_describe(fields[key].type)}")
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Config(**given)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a JSON value fits a field's type: int, float, bool, str, a literal, a tuple of one of these, or None."""
    if hasattr(kind, "__args__"):
        if getattr(kind, "__origin__", None) is Literal:
            return value in kind.__args__
        if getattr(kind, "__origin__", None) is tuple:
            return isinstance(value, list) and all(_fits(item, kind.__args__[0]) for item in value)
        return any(_fits(value, option) for option in kind.__args__)
    if kind is type(None):
        return value is None
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _describe(kind: Any) -> str:
    """A type in words."""
    if getattr(kind, "__origin__", None) is Literal:
        return "one of " + ", ".join(map(str, kind.__args__))
    if getattr(kind, "__origin__", None) is tuple:
        return f"a list of {kind.__args__[0].__name__}"
    return kind.__name__ if isinstance(kind, type) else " or ".join(map(_describe, kind.__args__))
