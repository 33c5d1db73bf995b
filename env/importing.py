"""Imports what a user names as ``package.module:Name``."""

import importlib
import inspect
import types
from typing import Any

from env.errors import UsageError, nearest


def import_object(flag: str, path: str) -> Any:
    """Imports ``package.module:Name``.

    Args:
        flag: flag that an error message names; its value follows after a space, or at once where it ends in ``=``.
        path: module, and name of the object in it.

    Returns:
        The object.

    Raises:
        UsageError: ``path`` is malformed, or the module or the name does not exist.
    """
    name, told = path.partition(":")[2], _told(flag, path)
    if not name.isidentifier():
        raise UsageError(f"{told}: must be package.module:Class")
    module = import_module(told, path)
    if not hasattr(module, name):
        raise UsageError(f"{told}: module '{module.__name__}' has no '{name}'{nearest(name, vars(module))}")
    return getattr(module, name)


def import_class(flag: str, path: str, kinds: Any, named: str) -> Any:
    """Imports a class that can be made.

    Args:
        flag, path: as in ``import_object``.
        kinds: the class, or union of classes, of which it must be a subclass.
        named: the same in words.

    Raises:
        UsageError: there is no such class, or it lacks a method.
    """
    target, told = import_object(flag, path), _told(flag, path)
    if not (isinstance(target, type) and issubclass(target, kinds)):
        raise UsageError(f"{told}: must be a subclass of {named}")
    if inspect.isabstract(target):
        raise UsageError(f"{told}: lacks {', '.join(sorted(vars(target)['__abstractmethods__']))}")
    return target


def _told(flag: str, value: str) -> str:
    """Returns a flag and its value as the user gave them."""
    return f"{flag}{value}" if flag.endswith("=") else f"{flag} {value}"


def import_module(told: str, path: str) -> types.ModuleType:
    """Imports the module that ``path`` names before its colon.

    Args:
        told: how an error message begins, with the flag and its value.
        path: the module, and what follows its colon.

    Raises:
        UsageError: ``path`` is malformed, names the main program, or names a module that does not exist.
    """
    module_name = path.partition(":")[0]
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{told}: must be package.module:Class")
    if module_name == "__main__":
        raise UsageError(f"{told}: put it in a module of its own; drivers do not run the main program again")
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the user's module exists, but a module that it imports does not
        raise UsageError(f"{told}: no module named '{module_name}' can be imported from here") from None
