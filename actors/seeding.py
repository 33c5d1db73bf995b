"""Randomness keyed by what it is for: (seed, training step, stream, slot, ...), never by who draws it or when."""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

MAX_SEED = 2**32 - 1
SLICED = 256
"""Up to so many numbers a slot, a whole step's numbers are drawn from one stream and sliced: cheaper than a
generator for each slot, which takes about 10 us to build."""


class Stream(IntEnum):
    """What the numbers are for. The values are part of a run's identity: append, never renumber."""

    INIT = 1
    STARTS = 2
    ACTIONS = 3
    ENV = 4
    EVAL_ENV = 5
    MINIBATCHES = 6
    HELD_OUT = 7


def generator(seed: int, step: int, stream: Stream, *path: int) -> np.random.Generator:
    """The generator of one purpose: equal keys give equal numbers, different keys independent ones."""
    # With the path's length, since a seed sequence takes (a, b) and (a, b, 0) for the same.
    return np.random.default_rng((seed, step, stream, len(path), *path))


def env_seed(seed: int, step: int, stream: Stream, slot: int, episode: int) -> int:
    """The seed of the environment for the ``episode``-th episode of a slot."""
    return int(np.random.SeedSequence((seed, step, stream, slot, episode)).generate_state(1)[0])


def slot_numbers(
    method: str, key: tuple[int, int, Stream], slots: int, rows: slice, shape: Sequence[int]
) -> np.ndarray:
    """Draws the numbers of slots ``rows`` out of ``slots``: the same whichever slots are asked for together.

    Args:
        method: the generator's method, ``random`` or ``standard_normal``.
        key: (seed, training step, stream).
        slots: number of slots in the step.
        rows: contiguous slots wanted.
        shape: shape of one slot's numbers.

    Returns:
        ``[rows, *shape]``.
    """
    if np.prod(shape) <= SLICED:
        return getattr(generator(*key), method)((slots, *shape))[rows]
    return np.stack([getattr(generator(*key, slot), method)(tuple(shape)) for slot in range(rows.start, rows.stop)])
