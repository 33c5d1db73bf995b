"""What a budget of evaluations sets: the training steps, the slots of each, and the schedules."""

import math
from typing import Any

from env.errors import UsageError

LEAST_SLOTS = 3
LEAST_CHECK = 15
"""Evaluations that a check of the law takes at the least: five under the law, and five under each of two constants."""


def training_plan(evaluations: int, per_slot: int, episodes: int | None) -> tuple[int, int]:
    """Returns training steps and slots of a step that together spend the budget, or a little less.

    Args:
        evaluations: the budget.
        per_slot: evaluations of a slot.
        episodes: slots of a training step, where they are given.

    Raises:
        UsageError: the budget is too small.
    """
    least = per_slot * max(episodes or 0, LEAST_SLOTS)
    if evaluations < least:
        how = f" in steps of --episodes {episodes}" if episodes else ""
        raise UsageError(f"--evaluations {evaluations}: the least that a law can be trained with{how} is {least}")
    slots = evaluations // per_slot
    count = episodes or _divisor(slots, slots_of_step(slots))
    return slots // count, count


def _divisor(slots: int, wanted: int) -> int:
    """Returns the number near a wanted one that leaves the least of so many slots unspent."""
    near = range(max(1, math.ceil(0.8 * wanted)), min(slots, math.floor(1.25 * wanted)) + 1)
    return min(near, key=lambda count: (slots % count, abs(count - wanted)))


def slots_of_step(slots: int) -> int:
    """Returns how many of so many slots a training step should have: more where there are many to spend."""
    return max(1, min(30, round(slots**0.4)))


def schedules(slots: int) -> dict[str, Any]:
    """Returns the fields that depend on how many slots there are to spend; ``docs/method.md`` gives the reasons."""
    return {}
