"""The exception for a user's mistake, and suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Bad input from the user: it is shown as one line, without a traceback, and the exit code is 2.

    The message names the flag, the value and what would be accepted.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `` (did you mean 'x'?)`` for the known name nearest to ``name``, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{matches[0]}'?)" if matches else ""
