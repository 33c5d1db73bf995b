"""Keyed global random numbers: what ``random`` and ``np.random`` draw in a user's code depends on a key alone."""

import random
import threading
from types import TracebackType
from typing import Any

import numpy as np

GLOBAL: Any = np.random  # whose stubs leave out two functions
GOLDEN = 0x9E3779B9  # 2^32 over the golden ratio: so the keys of a row lie far apart


def key_of(seed: int, number: int) -> int:
    """Returns the key, 32 bits, of the ``number``-th call in a row whose seed is ``seed``."""
    return (seed + number * GOLDEN) % 2**32


def set_randomness(key: int) -> None:
    """Makes all that ``random`` and ``np.random`` draw next depend on ``key``, 32 bits; call it in ``OWN_RANDOMNESS``.

    Both belong to the whole process: where several threads draw at once, nothing keys what each of them gets.
    """
    np.random.seed(key)  # noqa: NPY002, the legacy generator is what is to be keyed
    random.seed(key)


class _OwnRandomness:
    """Gives ``random`` and ``np.random`` another state for a while; the caller's own goes on afterwards as it was.

    It may be entered again inside itself, and by several threads: the first one saves the caller's state, and the last
    one to leave restores it.
    """

    def __init__(self) -> None:
        self._lock, self._entered = threading.Lock(), 0
        # Swapping generators takes a fiftieth of the time of np.random's get_state. The second number of a pair that
        # the caller's np.random.normal keeps for its next call is lost by it; its generator itself is untouched.
        self._ours = np.random.MT19937(0)

    def __enter__(self) -> None:
        with self._lock:
            if self._entered == 0:
                self._theirs, self._state = GLOBAL.get_bit_generator(), random.getstate()
                GLOBAL.set_bit_generator(self._ours)
            self._entered += 1

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._entered -= 1
            if self._entered == 0:
                GLOBAL.set_bit_generator(self._theirs)
                random.setstate(self._state)


OWN_RANDOMNESS = _OwnRandomness()
"""A context in which ``set_randomness`` leaves the random numbers of the caller as they are."""
