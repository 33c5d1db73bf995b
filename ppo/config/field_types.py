"""Whether a value fits the type of a field of the configuration, and what would, in words."""

import dataclasses
import json
from typing import Any, Literal

from env.errors import UsageError
from ppo.config.fields import Config, flag

WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}


def check_types(config: Config) -> None:
    """Checks that the value of each field is of its type, which a program may not have given.

    Raises:
        UsageError: one is not, by its flag.
    """
    for field in dataclasses.fields(Config):
        value = getattr(config, field.name)
        if not fits(value, field.type):
            raise UsageError(f"{flag(field.name)} {value!r}: must be {type_words(field.type)}")
    for name, value in config.env_kwargs.items():
        if not in_json(value):
            raise UsageError(f"--env-kwargs {name}={value!r:.60}: must be a value that JSON can hold")


def in_json(value: Any) -> bool:
    """Returns whether JSON can hold a value."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def fits(value: Any, kind: Any) -> bool:
    """Whether a value fits a type: a plain one, a literal, a sequence or an object of them, or None."""
    if hasattr(kind, "__args__"):
        origin = getattr(kind, "__origin__", None)
        if origin is Literal:
            return any(value is option or (isinstance(value, str) and value == option) for option in kind.__args__)
        if origin is tuple:
            return isinstance(value, list | tuple) and all(fits(item, kind.__args__[0]) for item in value)
        if origin is dict:
            return isinstance(value, dict)
        return any(fits(value, option) for option in kind.__args__)
    if kind is type(None):
        return value is None
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def type_words(kind: Any) -> str:
    """Returns what fits a type, in words."""
    origin = getattr(kind, "__origin__", None)
    if origin is Literal:
        options = ", ".join(map(str, kind.__args__))
        return options if len(kind.__args__) == 1 else f"one of {options}"
    if origin is tuple:
        return f"a list, each {type_words(kind.__args__[0])}"
    if origin is dict:
        return "an object of names and values"
    if isinstance(kind, type):
        return WORDS[kind]
    return " or ".join(type_words(option) for option in kind.__args__ if option is not type(None))
