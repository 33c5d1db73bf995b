"""Resolves the names of environments."""

import functools
import re

import gymnasium

from env.errors import UsageError, nearest
from env.importing import import_class, import_module
from env.objectives import OBJECTIVES, Objective


@functools.lru_cache
def find_environment(env: str) -> type | str:
    """Returns what ``--env`` names: a class (an ``Objective`` or a ``gymnasium.Env``), or a registered Gymnasium id.

    Raises:
        UsageError: ``env`` names neither.
    """
    if env in OBJECTIVES:
        return OBJECTIVES[env]
    for objective in OBJECTIVES.values():
        if env == f"tuninglaw/{objective.__name__}-v0":
            return objective
    _, colon, name = env.rpartition(":")
    if colon and re.search(r"-v\d+$", name):
        import_module(f"--env {env}", env)
    elif colon:
        return import_class("--env", env, Objective | gymnasium.Env, "env.Objective or of gymnasium.Env")
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error:
        known = [*OBJECTIVES, *gymnasium.registry]
        raise UsageError(
            f"--env {env}: unknown{nearest(name, known)}; known are {', '.join(OBJECTIVES)}, any registered "
            f"Gymnasium id, package.module:Id-v0 of one that a module registers, and package.module:Class"
        ) from None
    return name
