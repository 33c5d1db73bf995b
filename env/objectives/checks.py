"""What an objective must say about itself, whoever wrote it."""

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from env.errors import UsageError
from env.kinds import Choice
from env.objectives.base import Objective

METRICS = ("mse", "msle")
MOST_COMBINATIONS = 12
"""Combinations of the options of all knobs that are choices: each takes a component of the policy or more."""
MOST_COORDINATES = 20_000
"""Knobs and conditions together: Sobol points, over which laws are planned and measured, have few more."""


def check_objective(told: str, objective: Objective) -> Objective:
    """Returns an objective that says of itself what the rest of the program can work with.

    Args:
        told: how an error message begins, with the flag and its value.
        objective: the objective.

    Raises:
        UsageError: one of them cannot work.
    """
    _check_sizes(told, objective)
    _check_methods(told, objective)
    if objective.knobs + objective.conditions > MOST_COORDINATES:
        sizes = f"knobs = {objective.knobs} and conditions = {objective.conditions}"
        raise UsageError(f"{told}: {sizes} must be at most {MOST_COORDINATES:,} together")
    if objective.metric not in METRICS:
        raise UsageError(f"{told}: metric = {objective.metric!r} must be {' or '.join(METRICS)}")
    if objective.vectorised and objective.takes_rng:
        raise UsageError(
            f"{told}: {type(objective).__name__} declares vectorised = True, so its __call__ cannot take rng, which "
            f"all rows of a call would share; leave out one of the two"
        )
    if objective.vectorised and objective.waits:
        other = "an async __call__" if objective.asynchronous else "thread_safe = True"
        raise UsageError(
            f"{told}: {type(objective).__name__} has vectorised = True and {other}; many rows come in one call, or in "
            f"many calls side by side: leave out one of the two"
        )
    if not _is_whole(objective.constraints) or objective.constraints < 0:
        raise UsageError(f"{told}: constraints = {objective.constraints!r} must be a whole number of 0 or more")
    if (many := objective.at_once) is not None and (not _is_whole(many) or many < 1):
        raise UsageError(f"{told}: at_once = {many!r} must be a whole number of at least 1, or None for any number")
    for name, coordinates in zip(("knob", "condition"), objective.coordinates, strict=True):
        if len(coordinates) != (count := getattr(objective, f"{name}s")):
            raise UsageError(f"{told}: {name}_coordinates name {len(coordinates)} of them, and {name}s = {count}")
    if tuple(objective.observed) != (marked := objective.coordinates[1].observed):
        raise UsageError(
            f"{told}: observed = {objective.observed!r}, and of its condition_coordinates those numbered {marked} have "
            f"observed = True; both must name the same conditions"
        )
    options = [len(knob.options) for knob in objective.coordinates[0].values() if isinstance(knob, Choice)]
    if math.prod(options) > MOST_COMBINATIONS:
        raise UsageError(
            f"{told}: its choices have {math.prod(options)} combinations, and must have at most {MOST_COMBINATIONS}; "
            f"use an Integer for what has an order"
        )
    return objective


def _check_sizes(told: str, objective: Objective) -> None:
    """Checks that an objective says how many knobs and conditions it has."""
    kind = type(objective)
    for name in ("knobs", "conditions"):
        value = getattr(objective, name, None) if not hasattr(kind, name) else getattr(objective, name)
        if value is None:
            not_set = "" if kind.__init__ is object.__init__ else f"; its __init__ returned and had not set {name}"
            raise UsageError(f"{told}: {kind.__name__} lacks {name}, such as {name} = 2: how many it has{not_set}")
        if not _is_whole(value) or value < 1:
            named = isinstance(value, Mapping | list | tuple)
            instead = f"; names and ranges are for a function below @objective({name}=...)" if named else ""
            raise UsageError(f"{told}: {name} = {value!r} must be a whole number of at least 1{instead}")


def _check_methods(told: str, objective: Objective) -> None:
    """Checks that f and ``solve`` can be called as they are called."""
    given = {"rng": None} if objective.takes_rng else {}
    call, solve = objective.__call__, objective.solve
    if not _can_be_called(call, None, None, **given):
        wanted = "__call__(self, x, c), or (self, x, c, rng) where it draws random numbers"
        raise UsageError(f"{told}: {type(objective).__name__}.__call__{inspect.signature(call)} must be {wanted}")
    if inspect.iscoroutinefunction(solve):
        raise UsageError(f"{told}: {type(objective).__name__}.solve is an async def; it must be a def, without waiting")
    if not _can_be_called(solve, None):
        raise UsageError(f"{told}: {type(objective).__name__}.solve{inspect.signature(solve)} must be solve(self, c)")


def _can_be_called(called: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Returns whether a function takes such arguments, or does not tell."""
    try:
        inspect.signature(called).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_dims(dims: Any) -> None:
    """Checks the coordinates that a user asks a built-in objective for, before anything of that size is made.

    Raises:
        UsageError: they are too many.
    """
    if isinstance(dims, int | float) and dims > MOST_COORDINATES:
        raise UsageError(f"--dims {dims}: must be at most {MOST_COORDINATES:,}")
