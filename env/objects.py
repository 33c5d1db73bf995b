"""What a program gives in place of a name: a described function, a class, or an objective that is made already.

It is held by a name like any other problem. Where other processes cannot import it, since it was made in the main
program or in a notebook, it is sent to them by cloudpickle.
"""

import inspect
import sys
import types
from typing import Any

import cloudpickle
import gymnasium

from env.errors import UsageError
from env.objectives.bench import Bench
from env.objectives.given import check_concrete, objective_class

_given: dict[str, tuple[Any, type]] = {}
"""By name: what a program gave, and the class that is made of it."""


def given_class(name: str) -> type | None:
    """Returns the class of what a program gave under a name; None where it gave nothing."""
    found = _given.get(name)
    return None if found is None else found[1]


def name_of(given: Any) -> str:
    """Returns the name by which a configuration holds what a program gave as the environment.

    Raises:
        UsageError: nothing can be trained on it.
    """
    made = as_class(f"env = {given!r:.60}", given)
    named = given if inspect.isclass(given) or inspect.isroutine(given) else type(given)
    name = f"{named.__module__}:{named.__qualname__}"
    imported = getattr(sys.modules.get(named.__module__), named.__qualname__, None)
    if named is given is imported and named.__module__ != "__main__":
        return name
    nameless = "<lambda>" in name or (isinstance(given, type) and issubclass(given, Bench))
    if nameless and (found := _attribute(given)):
        return found
    # An instance does not take the name of its class. What a function makes of other values, another instance, and what
    # has no name of its own, are held apart; a cell of a notebook may be run again.
    instance, number = named is not given, 1
    unique, apart = f"{name}-1" if instance else name, instance or nameless or "<locals>" in name
    while apart and unique in _given and _given[unique][0] is not given:
        number += 1
        unique = f"{name}-{number}"
    _given[unique] = given, made
    return unique


def _attribute(given: Any) -> str:
    """Returns the module and the attribute that hold what a program gave, for another one to import; empty for none."""
    for name, module in list(sys.modules.items()):
        if name != "__main__" and isinstance(module, types.ModuleType):
            for attribute, value in list(vars(module).items()):
                if value is given:
                    return f"{name}:{attribute}"
    return ""


def pickled(name: str) -> bytes | None:
    """Returns what a program gave under a name as bytes; None where it gave nothing.

    Raises:
        UsageError: it cannot be sent to another process.
    """
    if name not in _given:
        return None
    try:
        return cloudpickle.dumps(_given[name][1])
    except Exception as error:
        raise UsageError(
            f"--env {name}: cannot be sent to driver processes ({type(error).__name__}: {error}); put it in a module, "
            f"or use --drivers 0"
        ) from None


def take(name: str, content: bytes) -> None:
    """Takes over what another process gave under a name."""
    made = cloudpickle.loads(content)
    _given.setdefault(name, (made, made))


def as_class(told: str, given: Any) -> type:
    """Returns the class of objectives or environments that something stands for.

    Args:
        told: how an error message begins, with the flag and its value.
        given: a function or a class that ``objective`` described, a class, or an objective.

    Raises:
        UsageError: it stands for none.
    """
    if isinstance(given, type) and issubclass(given, gymnasium.Env):
        check_concrete(told, given)
        return given
    if isinstance(given, gymnasium.Env):
        raise UsageError(f"{told}: is an environment, of which drivers need several; give its class")
    return objective_class(told, given)
