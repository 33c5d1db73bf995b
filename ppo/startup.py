"""What a command does before it loads its modules: it looks for packages in the way, and lets Ctrl-C end it at once.

Nothing but the standard library may be imported here. ``ppo.config.signals`` has what holds once a command runs.
"""

import importlib.util
import itertools
import os
import pathlib
import signal
import sys
import threading
from typing import Any

SCRIPT = "tuninglaw"
"""The command that stands for ``python -m ppo.<verb>``."""
PACKAGES = ("env", "actors")
TRAVELLED = "_ray_pkg_"
"""How the directories begin into which Ray unpacks what has travelled to a node, each package into one of its own."""


def command(verb: str) -> str:
    """Returns, for messages, how a command is called where this process was called so."""
    return f"{SCRIPT} {verb}" if pathlib.PurePath(sys.argv[0]).stem == SCRIPT else f"python -m ppo.{verb}"


def check_packages(words: list[str]) -> None:
    """Looks whether something of a user's hides one of this program's packages, such as a file ``env.py``.

    Where the command line ``words`` begins a command of this package, this ends it then, with one line.

    Raises:
        ImportError: it does.
    """
    root = pathlib.Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        found = importlib.util.find_spec(name)
        origin = pathlib.Path(found.origin) if found and found.origin else None
        if origin is not None and are_together(root, origin.resolve().parent.parent):
            continue
        what = f"{origin or 'something'} is in the way of this program's package {name!r}: rename it"
        if is_command(words):
            print(f"error: {what}, or use the command {SCRIPT} in place of python -m ppo", file=sys.stderr)
            sys.exit(2)
        raise ImportError(what)


def are_together(one: pathlib.Path, other: pathlib.Path) -> bool:
    """Returns whether packages of two directories belong to one copy of this program."""
    return one == other or (one.parent == other.parent and one.name.startswith(TRAVELLED))


def end_by_ctrl_c(words: list[str]) -> None:
    """Lets Ctrl-C end this process at once, if its command line begins a command of this package.

    Modules are loading then: there is nothing to clean up, and an exception may be lost within an import.

    Args:
        words: the command line; empty where it is known that it does.
    """
    if (is_command(words) or not words) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def is_command(words: list[str]) -> bool:
    """Returns whether a command line begins a command of this package."""
    return any(flag == "-m" and name.startswith("ppo.") for flag, name in itertools.pairwise(words))


def _end(number: int, frame: Any) -> None:
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(128 + number)
