"""Reading a ``config.json`` back, checked key by key."""

import dataclasses
import json
import pathlib
from typing import Any

from env.errors import UsageError, nearest
from ppo.config.field_types import fits, type_words
from ppo.config.fields import Config

RENAMED = {"agreement": "update_damping"}
"""Fields of version 0.1 by the names that they have now."""

MOST_BYTES = 10_000_000
"""Size of a ``config.json`` at the most."""
DEEPEST = 20
"""Levels of lists and objects within each other at the most."""


def read_config(path: str | pathlib.Path, flag: str = "--config") -> Config:
    """Reads a ``config.json``.

    Raises:
        UsageError: it cannot be read, has an unknown key, or a value of the wrong type; the text names ``flag``.
    """
    values = _read_json(path, flag)
    if not isinstance(values, dict):
        raise UsageError(f"{flag} {path}: must hold one JSON object")
    if RENAMED.keys() & values:
        if flag in ("--resume", "--warm-start"):
            raise UsageError(f"{flag} {path}: was written by version 0.1, whose checkpoints this version cannot use")
        raise UsageError(
            f"{flag} {path}: was written by version 0.1; since then agreement is update_damping, gradients written are "
            f'compiled, and env_kwargs is an object ({{"level": "high"}}): change these three in it'
        )
    fields = {field.name: field for field in dataclasses.fields(Config)}
    for key, value in values.items():
        if key not in fields:
            raise UsageError(f"{flag} {path}: unknown key '{key}'{nearest(key, fields)}")
        if not fits(value, fields[key].type):
            raise UsageError(f"{flag} {path}: {key} = {json.dumps(value)} is not {type_words(fields[key].type)}")
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Config(**given)


def nested_deeply(value: Any, levels: int = DEEPEST) -> bool:
    """Returns whether a JSON value has lists or objects within each other on more than so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return levels < 0 or any(nested_deeply(one, levels - 1) for one in inner)


def _read_json(path: str | pathlib.Path, flag: str) -> Any:
    """Returns the value that a JSON file holds.

    Raises:
        UsageError: it cannot be read, or is no such file.
    """
    told = f"{flag} {path}: is nested deeper than {DEEPEST} levels"
    try:
        with pathlib.Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UsageError(f"{flag} {path}: is longer than {MOST_BYTES:,} bytes, and no config.json")
        value = json.loads(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"not JSON: {error}"
        raise UsageError(f"{flag} {path}: {reason}") from None
    except RecursionError:
        raise UsageError(told) from None
    if nested_deeply(value):
        raise UsageError(told)
    return value
