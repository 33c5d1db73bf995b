"""Makes what a user names, with the user's keywords, and single environments with flat observations."""

import functools
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

from env.contract import check_spaces, checked
from env.errors import UsageError, in_one_line
from env.names import find_environment
from env.starts import STATES, ClassicStart

FLATTENED = gymnasium.wrappers.FlattenObservation
UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
MISSING = re.compile(r"missing \d+ required .*?: '(\w+)'")
"""Names the first argument that a constructor was not given."""
EXTRAS = ("mujoco",)
"""Extras of this package that install what environments of Gymnasium need, by Gymnasium's own names."""


def make_single(env: str, keywords: Mapping[str, Any]) -> gymnasium.Env:
    """Makes a single environment with flat observations; what a user's own one returns is checked.

    Args:
        env: its name, as ``--env`` takes it.
        keywords: its keywords.

    Raises:
        UsageError: the environment cannot be made, or its observations cannot be made flat.
    """
    target: Any = find_environment(env)
    told = f"--env {env}"
    try:
        with warnings.catch_warnings():
            # A lower version may be another problem instead of an outdated one, as TempControl-v0 is.
            warnings.filterwarnings("ignore", ".*is out of date", DeprecationWarning)
            made = call(env, keywords, functools.partial(gymnasium.make, target) if isinstance(target, str) else target)
    except (gymnasium.error.Error, ImportError) as error:
        raise UsageError(f"{told}: cannot be made: {with_own_extra(' '.join(str(error).split()))}") from None
    check_spaces(told, made)
    made = checked(told, made)
    if type(made.unwrapped) in STATES:
        made = ClassicStart(made)
    return made if is_flat_box(made.observation_space) else FLATTENED(made)


def call(env: str, keywords: Mapping[str, Any], maker: Callable[..., Any], given: dict[str, Any] | None = None) -> Any:
    """Calls ``maker`` with the keywords ``given`` and the user's.

    Args:
        env: the name that the user gave.
        keywords: the user's keywords.
        maker: makes an objective or an environment.
        given: further keywords.

    Raises:
        UsageError: ``maker`` does not accept the user's keywords, or lacks one, or raised an exception.
        gymnasium.error.Error, ImportError: what it needs is not installed.
    """
    try:
        return maker(**(given or {}), **keywords)
    except (UsageError, gymnasium.error.Error, ImportError):
        raise
    except Exception as error:
        message, of_values = str(error), isinstance(error, TypeError | ValueError | OverflowError)
        if of_values and (unexpected := UNEXPECTED.search(message)):
            message = f"--env {env} takes no keyword '{unexpected[1]}'"
        elif of_values and (missing := MISSING.search(message)):
            message = f"{message}; give it as --env-kwargs {missing[1]}=VALUE"
        elif not keywords or not of_values:
            raise UsageError(f"--env {env}: cannot be made: {in_one_line(error)}") from error
        words = " ".join(f"{name}={value}" for name, value in keywords.items())
        raise UsageError(f"--env-kwargs {words or 'is needed'}: {message}") from error


def with_own_extra(message: str) -> str:
    """Returns a message of Gymnasium's with this package's extra in place of Gymnasium's, where there is one."""
    own = "|".join(EXTRAS)
    return re.sub(rf"""pip install ["']?gymnasium\[({own})\]["']?""", r"pip install 'tuninglaw[\1]'", message)


def is_flat_box(space: spaces.Space) -> bool:
    """Returns whether a space is a Box of vectors."""
    return isinstance(space, spaces.Box) and len(space.shape) == 1
