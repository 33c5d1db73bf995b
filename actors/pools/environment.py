"""Variables of the environment that children are started with, and that what they start does not get to see."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

ROOT = str(pathlib.Path(__file__).parents[2])
PATH, SAFE, OURS = "PYTHONPATH", "PYTHONSAFEPATH", "tuninglaw"


@contextlib.contextmanager
def changed(values: dict[str, str]) -> Iterator[None]:
    """Sets variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def packages_first() -> dict[str, str]:
    """Returns variables with which the fork server finds this program's packages before the working directory's.

    It loads modules before it is told the learner's path (CPython issue 126631), a user's own ``env.py`` for one.
    """
    path = os.environ.get(PATH)
    safe = {} if os.environ.get(SAFE) else {SAFE: OURS}
    return {PATH: ROOT if path is None else f"{ROOT}{os.pathsep}{path}"} | safe


def restore() -> None:
    """Undoes ``packages_first`` in a child, before it runs anything of the user's."""
    path = os.environ.get(PATH, "")
    if path == ROOT:
        del os.environ[PATH]
    elif path.startswith(f"{ROOT}{os.pathsep}"):
        os.environ[PATH] = path.removeprefix(f"{ROOT}{os.pathsep}")
    if os.environ.get(SAFE) == OURS:
        del os.environ[SAFE]
