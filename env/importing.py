"""Imports what a user names as ``package.module:Name`` or ``./file.py:Name``."""

import contextlib
import importlib
import importlib.util
import inspect
import pathlib
import sys
import types
import zlib
from collections.abc import Iterator
from typing import Any

from env.errors import UsageError, in_one_line, nearest, place

DESCRIPTIONS = {
    "Range.__init__()": "Range(0, 1, unit='V')",
    "Choice.__init__()": "Choice('low', 'high')",
    "objective()": "@objective(knobs=dict(gain=Range(0, 1)), conditions=dict(load=Range(0, 1)))",
    "bench()": "bench(knobs=dict(gain=Range(0, 1)), conditions=dict(load=Range(0, 1)))",
}
"""How Python's message begins where a description has other arguments than it takes, and what would be right; that of
``Range`` begins so for Log and Integer too."""


def import_object(flag: str, path: str) -> Any:
    """Imports ``package.module:Name``, or ``./file.py:Name``.

    Args:
        flag: flag that an error message names; its value follows after a space, or at once where it ends in ``=``.
        path: module, and name of the object in it.

    Returns:
        The object.

    Raises:
        UsageError: ``path`` is malformed, or the module or the name does not exist.
    """
    name, told = path.rpartition(":")[2], _told(flag, path)
    if not name.isidentifier():
        raise UsageError(f"{told}: must be package.module:Class or ./file.py:Class")
    module = import_module(told, path)
    if not hasattr(module, name):
        where = f"module '{module.__name__}'" if path.rpartition(":")[0] == module.__name__ else "the file"
        raise UsageError(f"{told}: {where} has no '{name}'{nearest(name, vars(module))}")
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
    """Imports the module or the file that ``path`` names before its colon.

    Args:
        told: how an error message begins, with the flag and its value.
        path: the module, and what follows its colon.

    Raises:
        UsageError: ``path`` is malformed, names the main program, or names a module that does not exist or cannot be
            imported.
    """
    module_name = path.rpartition(":")[0]
    if module_name.endswith(".py"):
        return _import_file(told, pathlib.Path(module_name))
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{told}: must be package.module:Class or ./file.py:Class")
    if module_name == "__main__":
        raise UsageError(
            f"{told}: drivers do not run the main program again; give the object itself there, as Config(env=...) "
            f"takes it, or put it in a module of its own"
        )
    with _mistakes_in_one_line(told, f"{module_name.rpartition('.')[2]}.py"):
        try:
            return importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and not f"{module_name}.".startswith(f"{error.name}."):
                raise  # the user's module exists, but a module that it imports does not
            raise UsageError(f"{told}: no module named '{module_name}' can be imported from here") from None


@contextlib.contextmanager
def _mistakes_in_one_line(told: str, file: str) -> Iterator[None]:
    """Says in one line why a user's module cannot be imported; what its own code raises otherwise comes through.

    Args:
        told: how the message begins, with the flag and its value.
        file: name of the module's file.

    Raises:
        UsageError: its syntax is wrong, what it imports is not there, or a description in it cannot work.
    """
    try:
        yield
    except UsageError as error:
        if str(error).startswith(told):
            raise
        where = place(error)
        raise UsageError(f"{told}: {where}{': ' if where else ''}{error}") from error
    except SyntaxError as error:
        other = pathlib.Path(error.filename or file).name
        where = f"line {error.lineno}{f' of {other}' if other != file else ''}"
        raise UsageError(f"{told}: cannot be imported: {type(error).__name__} at {where}: {error.msg}") from error
    except TypeError as error:
        right = next((right for begin, right in DESCRIPTIONS.items() if str(error).startswith(begin)), None)
        if right is None:
            raise
        raise UsageError(f"{told}: {place(error)}: {error}; it must be as in {right}") from error
    except ModuleNotFoundError as error:
        if error.name is None:  # which the user's code raised
            raise
        where = place(error)
        missing = f"{where or 'it'} imports {error.name}, which is not installed"
        raise UsageError(f"{told}: cannot be imported: {missing}") from error
    except ImportError as error:
        raise UsageError(f"{told}: cannot be imported: {in_one_line(error)}") from error


def shown_name(kind: type) -> str:
    """Returns the name of a class as ``--env`` takes it; a file that was imported by its path is its name alone."""
    module = sys.modules.get(kind.__module__)
    file = pathlib.Path(str(getattr(module, "__file__", "")))
    return f"{file.name if is_by_path(kind.__module__, file) else kind.__module__}:{kind.__qualname__}"


def is_by_path(name: str, file: pathlib.Path) -> bool:
    """Returns whether the module of this name is a file that was imported by its path."""
    return name == _name_of(file)


def _name_of(path: pathlib.Path) -> str:
    """Returns the name of the module of a file, which is no other module's, so that no file hides a module."""
    return f"{path.stem}_{zlib.crc32(bytes(path)):08x}"


def _import_file(told: str, path: pathlib.Path) -> types.ModuleType:
    """Imports a file by its path, once; the modules beside it can be imported too, after all others.

    Raises:
        UsageError: there is no such file, or it cannot be imported.
    """
    path = path.absolute()
    name = _name_of(path)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"{told}: there is no file {path.name} there")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with _mistakes_in_one_line(told, path.name):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
