"""What an objective must say about itself, whoever wrote it."""

import math
import numbers
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
    for name in ("knobs", "conditions"):
        value = getattr(objective, name, None)
        if value is None:
            raise UsageError(f"{told}: {type(objective).__name__} lacks {name}, such as {name} = 2: how many it has")
        if not _is_whole(value) or value < 1:
            raise UsageError(f"{told}: {name} = {value!r} must be a whole number of at least 1")
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
    if not _is_whole(objective.constraints) or objective.constraints < 0:
        raise UsageError(f"{told}: constraints = {objective.constraints!r} must be a whole number of 0 or more")
    if (many := objective.at_once) is not None and (not _is_whole(many) or many < 1):
        raise UsageError(f"{told}: at_once = {many!r} must be a whole number of at least 1, or None for any number")
    for name, coordinates in zip(("knob", "condition"), objective.coordinates, strict=True):
        if len(coordinates) != (count := getattr(objective, f"{name}s")):
            raise UsageError(f"{told}: {name}_coordinates name {len(coordinates)} of them, and {name}s = {count}")
    options = [len(knob.options) for knob in objective.coordinates[0].values() if isinstance(knob, Choice)]
    if math.prod(options) > MOST_COMBINATIONS:
        raise UsageError(
            f"{told}: its choices have {math.prod(options)} combinations, and must have at most {MOST_COMBINATIONS}; "
            f"use an Integer for what has an order"
        )
    return objective


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_dims(dims: Any) -> None:
    """Checks the coordinates that a user asks a built-in objective for, before anything of that size is made.

    Raises:
        UsageError: they are too many.
    """
    if isinstance(dims, int | float) and dims > MOST_COORDINATES:
        raise UsageError(f"--dims {dims}: must be at most {MOST_COORDINATES:,}")
