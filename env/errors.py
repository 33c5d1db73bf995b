"""The one exception that stands for a user's mistake."""

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Bad input from the user: shown as one line, without a traceback, and the program exits with code 2.

    Its text names the flag, the value and what would work.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `` (did you mean 'x'?)`` for the known name nearest to ``name``, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{matches[0]}'?)" if matches else ""
