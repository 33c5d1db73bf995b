"""What an objective must say about itself, whoever wrote it."""

import numbers
from typing import Any

from env.errors import UsageError
from env.objectives.base import Objective

METRICS = ("mse", "msle")
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
        value = getattr(objective, name)
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not whole or value < 1:
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
    return objective


def check_dims(dims: Any) -> None:
    """Checks the coordinates that a user asks a built-in objective for, before anything of that size is made.

    Raises:
        UsageError: they are too many.
    """
    if isinstance(dims, int | float) and dims > MOST_COORDINATES:
        raise UsageError(f"--dims {dims}: must be at most {MOST_COORDINATES:,}")
