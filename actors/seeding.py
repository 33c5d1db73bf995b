"""Random numbers keyed by their purpose (seed, training step, stream, slot, ...), never by driver or time."""

import math
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

MAX_SEED = 2**32 - 1
SLICED = 256
"""Largest number of values a slot for which the values of a whole training step are drawn from one stream and sliced.
That is cheaper than a generator for each slot, which takes about 10 us to build."""


class Stream(IntEnum):
    """Purpose of random numbers. The values are part of a run's identity: append new ones, never renumber."""

    INIT = 1
    STARTS = 2
    ACTIONS = 3
    ENV = 4
    EVAL_ENV = 5
    MINIBATCHES = 6
    HELD_OUT = 7
    CHECK = 8
    IMITATION = 9
    IMAGINED_STARTS = 10
    IMAGINED_ACTIONS = 11
    PLAN = 12
    IMAGINED_ENV = 13


def generator(seed: int, step: int, stream: Stream, *path: int) -> np.random.Generator:
    """Returns the generator of one purpose: equal keys give equal numbers, different keys independent ones."""
    # The key includes the length of the path, since a seed sequence does not tell (a, b) from (a, b, 0).
    return np.random.default_rng((seed, step, stream, len(path), *path))


def env_seed(seed: int, step: int, stream: Stream, slot: int, episode: int) -> int:
    """Returns the seed of the environment for the ``episode``-th episode of a slot."""
    return int(np.random.SeedSequence((seed, step, stream, slot, episode)).generate_state(1)[0])


def slot_numbers(
    method: str, key: tuple[int, int, Stream], slots: int, rows: slice, shape: Sequence[int]
) -> np.ndarray:
    """Draws the numbers of slots ``rows`` out of ``slots``; they do not depend on which slots are asked for together.

    Args:
        method: method of the generator, ``random`` or ``standard_normal``.
        key: seed, training step and stream.
        slots: number of slots in the training step.
        rows: contiguous slots to draw for.
        shape: shape of one slot's numbers.

    Returns:
        Random numbers, ``[len(rows), *shape]``.
    """
    if math.prod(shape) <= SLICED:
        return getattr(generator(*key), method)((slots, *shape))[rows]
    return np.stack([getattr(generator(*key, slot), method)(tuple(shape)) for slot in range(rows.start, rows.stop)])
