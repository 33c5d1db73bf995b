"""Resolves the names of environments."""

import functools
import re

import gymnasium

from env.errors import UsageError, nearest
from env.importing import import_module, import_object
from env.objectives import OBJECTIVES
from env.objects import as_class, given_class


def find_environment(env: str) -> type | str:
    """Returns what ``--env`` names: a class (an ``Objective`` or a ``gymnasium.Env``), or a registered Gymnasium id.

    Raises:
        UsageError: ``env`` names neither.
    """
    return given_class(env) or _find(env)


@functools.lru_cache
def _find(env: str) -> type | str:
    if env in OBJECTIVES:
        return OBJECTIVES[env]
    for objective in OBJECTIVES.values():
        if env == f"tuninglaw/{objective.__name__}-v0":
            return objective
    _, colon, name = env.rpartition(":")
    if colon and re.search(r"-v\d+$", name):
        import_module(f"--env {env}", env)
    elif colon:
        return as_class(f"--env {env}", import_object("--env", env))
    elif env.endswith(".py"):
        raise UsageError(f"--env {env}: say which function or class of the file it is, {env}:NAME")
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error:
        known = [*OBJECTIVES, *gymnasium.registry]
        raise UsageError(
            f"--env {env}: unknown{nearest(name, known)}; known are {', '.join(OBJECTIVES)}, any registered "
            f"Gymnasium id, package.module:Id-v0 of one that a module registers, package.module:NAME and "
            f"./file.py:NAME of a function or a class"
        ) from None
    return name
