"""Exceptions for a user's mistakes, and words for their messages."""

import difflib
import os
import pathlib
import traceback
import types
from collections.abc import Iterable

OURS = [str(pathlib.Path(__file__).parents[1] / package) for package in ("env", "actors", "ppo")]
"""Folders of this program, in which no mistake of a user's is to be looked for."""
BETWEEN = ("gymnasium", "importlib")
"""Packages that call a user's code for it."""


class UsageError(Exception):
    """Bad input from the user: it is shown as one line, without a traceback, and the exit code is 2.

    The message names the flag, the value and what would be accepted.
    """

    @classmethod
    def message_in(cls, line: str) -> str:
        """Returns the message of such an error, given the last line of its traceback; empty for that of any other."""
        begins = (f"{one.__module__}.{one.__qualname__}: " for one in (cls, *cls.__subclasses__()))
        return next((line.removeprefix(begin) for begin in begins if line.startswith(begin)), "")


class ContractError(UsageError, ValueError):
    """A method of the user's gave something else than it must; the message names both. Nothing in it raised."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `` (did you mean 'x'?)`` for the known name nearest to ``name``, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{matches[0]}'?)" if matches else ""


def place(error: BaseException) -> str:
    """Returns where a user's code raised an exception, or called what raised it: ``line 3 of heater.py``.

    It is empty where no code of a user's was running.
    """
    found = _last_of_users(error)
    return f"line {found[1]} of {pathlib.Path(found[0].co_filename).name}" if found else ""


def in_one_line(error: BaseException) -> str:
    """Returns type, place and text of an exception: ``KeyError in line 3 of heater.py, Heater.__init__: 'gain'``."""
    found, where, text = _last_of_users(error), place(error), " ".join(str(error).split())
    function = f", {found[0].co_qualname}" if found and found[0].co_name != "<module>" else ""
    return f"{type(error).__name__}{f' in {where}{function}' if where else ''}{f': {text}' if text else ''}"


def _last_of_users(error: BaseException) -> tuple[types.CodeType, int] | None:
    """Returns the code of the user's that was running last, and the line in it."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return next((found for found in reversed(frames) if _is_users(found[0].co_filename)), None)


def _is_users(file: str) -> bool:
    return not file.startswith(("<", *OURS)) and not any(f"{os.sep}{name}{os.sep}" in file for name in BETWEEN)
