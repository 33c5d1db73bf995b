"""The class of objectives that something stands for."""

import inspect
from typing import Any

from env.errors import UsageError
from env.objectives.base import Objective
from env.objectives.function import ATTRIBUTE
from env.words import described


def objective_class(told: str, given: Any) -> type[Objective]:
    """Returns the class of objectives that something stands for.

    Args:
        told: how an error message begins, with the flag and its value.
        given: a function or a class that ``objective`` described, a class of objectives, or an objective.

    Raises:
        UsageError: it stands for none.
    """
    if isinstance(made := getattr(given, "__dict__", {}).get(ATTRIBUTE), type):
        return made
    if isinstance(given, Objective):
        return _always(given)
    if isinstance(given, type) and issubclass(given, Objective):
        check_concrete(told, given)
        return given
    if callable(given):
        raise UsageError(
            f"{told}: is a {'class' if isinstance(given, type) else 'function'} that says nothing of its knobs and "
            f"conditions; put @objective(knobs=dict(...), conditions=dict(...)) above it, or write a subclass of "
            f"env.Objective"
        )
    raise UsageError(
        f"{told}: is {described(given)}; must be a function with @objective(...) above it, or a subclass of "
        f"env.Objective or of gymnasium.Env"
    )


def check_concrete(told: str, kind: type) -> None:
    """Checks that a class can be made.

    Raises:
        UsageError: it lacks a method.
    """
    if inspect.isabstract(kind):
        raise UsageError(f"{told}: lacks {', '.join(sorted(vars(kind)['__abstractmethods__']))}")


def _always(given: Objective) -> type[Objective]:
    """Returns a class that gives the same objective each time."""
    kind = type(given)
    return type(kind.__name__, (kind,), {"__new__": lambda cls: given, "__module__": kind.__module__})
