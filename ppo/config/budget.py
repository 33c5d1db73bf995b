"""What a budget of evaluations sets: the training steps, the slots of each, and the schedules."""

import math

import numpy as np

from env.errors import UsageError

LEAST_SLOTS, MOST_SLOTS, MOST_SLOTS_OF_COMPONENTS = 3, 30, 16
LEAST_CHECK = 15
"""Evaluations that a check of the law takes at the least: five under the law, and five under each of two constants."""

SLOTS = (150, 500, 1500, 9000, 150_000)
"""How many slots the columns below are for."""
LOGARITHMIC = {
    "std_floor": (0.35, 0.35, 0.3, 0.3, 0.3),
    "narrowing": (0.2, 0.1, 0.1, 0.03, 1 / 3000),  # the last std floor as a share of the first
    "std_floor_power": (0.85, 0.85, 0.85, 0.45, 0.45),
    "rank_fade": (0.5, 0.5, 0.5, 0.03, 0.03),
}
LINEAR = {"warmup": (0.0, 0.0, 0.0, 0.1, 0.1), "update_damping": (0.5, 0.5, 0.8, 0.8, 0.8)}
SET_BY_BUDGET = (
    *("training_steps", "episodes", "eval_every", "std_floor", "std_floor_final", "std_floor_power", "rank_fade"),
    *("warmup", "update_damping"),
)
"""Fields that a budget sets, where they are not given."""


ROUND, MOST_ROUNDS = 16, 40
MODEL_COMPONENTS = 6
LEAST_A_COORDINATE, MOST_WITH_MODEL = 4, 1_000_000
"""A budget chooses a model from so many evaluations for each knob and condition on, and up to so many in all."""
DESIGN_SHARE, DESIGN_POINTS = 1 / 3, 10
LEAST_FOR_SECOND_LAW, MODEL_SHARE = 50_000, 0.25
"""From so large a budget on, a law without the model may be trained with what is left after this share of it."""
NETWORKS_A_COORDINATE, NETWORKS_COORDINATES = 1000, 3
"""Networks may learn from so many evaluations for each knob and condition, where there are so many of those."""


def model_suits_budget(evaluations: int | None, dims: int) -> bool:
    """Returns whether so many evaluations of f with ``dims`` knobs and conditions are best spent with a model."""
    return evaluations is not None and LEAST_A_COORDINATE * dims <= evaluations <= MOST_WITH_MODEL


def second_law_suits_budget(evaluations: int) -> bool:
    """Returns whether so many evaluations of f suffice to train a law without the model beside that of the model."""
    return evaluations >= LEAST_FOR_SECOND_LAW


def networks_suit_budget(evaluations: int, dims: int) -> bool:
    """Returns whether networks may learn more from so many evaluations of f than a process does."""
    return dims >= NETWORKS_COORDINATES and evaluations >= NETWORKS_A_COORDINATE * dims


def planned_rounds(evaluations: int, dims: int) -> tuple[int, int, int]:
    """Returns the slots of the first planned round and of each after it, and the number of all rounds.

    Together they spend the budget. A round has a multiple of 16 slots, more of them where there are many evaluations.
    The first takes a third of the budget, or 10 slots for each coordinate where they are less, in whole rounds, and
    all of a budget that is too small for two rounds.

    Args:
        evaluations: the budget.
        dims: knobs and conditions together.
    """
    each = ROUND * max(1, math.ceil(evaluations / (ROUND * MOST_ROUNDS)))
    first = each * math.ceil(min(evaluations * DESIGN_SHARE, DESIGN_POINTS * dims) / each)
    if evaluations < first + each:
        return evaluations, 0, 1
    first += (evaluations - first) % each
    return first, each, 1 + (evaluations - first) // each


def training_plan(
    evaluations: int, per_slot: int, episodes: int | None, least_slots: int = 1, most_slots: int = MOST_SLOTS
) -> tuple[int, int]:
    """Returns training steps and slots of a step that together spend the budget, or a little less.

    Args:
        evaluations: the budget.
        per_slot: evaluations of a slot.
        episodes: slots of a training step, where they are given.
        least_slots: slots that a training step must have.
        most_slots: slots that one has about at the most.

    Raises:
        UsageError: the budget is too small.
    """
    least = per_slot * max(episodes or 0, LEAST_SLOTS)
    if evaluations < least:
        how = f" in steps of --episodes {episodes}" if episodes else ""
        raise UsageError(f"--evaluations {evaluations}: the least that a law can be trained with{how} is {least}")
    slots = evaluations // per_slot
    count = episodes or _divisor(slots, max(least_slots, slots_of_step(slots, most_slots)), least_slots)
    return slots // count, count


def _divisor(slots: int, wanted: int, least: int) -> int:
    """Returns the number near a wanted one that leaves the least of so many slots unspent."""
    near = range(max(least, math.floor(0.8 * wanted)), min(slots, math.ceil(1.25 * wanted)) + 1)
    return min(near, key=lambda count: (slots % count, abs(count - wanted)))


def slots_of_step(slots: int, most: int) -> int:
    """Returns how many of so many slots a training step should have: few slots, few steps and few slots each."""
    return max(1, min(most, round(slots**0.5)))


def schedules(slots: int, std_floor: float | None = None) -> dict[str, float]:
    """Returns the fields that depend on how many slots there are to spend; ``docs/method.md`` gives the reasons.

    They are interpolated in the logarithm of the slots, and those of the last column are the defaults.

    Args:
        slots: number of slots.
        std_floor: the first std floor, where it is given.
    """
    at = np.log(np.clip(slots, SLOTS[0], SLOTS[-1]))
    values = {name: np.interp(at, np.log(SLOTS), np.log(column)) for name, column in LOGARITHMIC.items()}
    fields = {name: float(np.exp(value)) for name, value in values.items()}
    fields |= {name: float(np.interp(at, np.log(SLOTS), column)) for name, column in LINEAR.items()}
    first = fields["std_floor"] if std_floor is None else std_floor
    fields["std_floor_final"] = first * fields.pop("narrowing")
    return {name: float(f"{value:.4g}") for name, value in fields.items()}
