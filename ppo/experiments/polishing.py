"""A law's knobs polished by f itself, for the study of the gallery and the comparison."""

from collections.abc import Callable
from typing import Any

import numpy as np

from actors.polish import polish
from env.coordinates import Coordinates
from env.kinds import Choice


def polished(f: Callable[[np.ndarray], Any], x: np.ndarray, coordinates: Coordinates, budget: int) -> np.ndarray:
    """Returns better knobs ``[knobs]`` at one condition; choices stay as they are.

    Args:
        f: takes knobs ``[knobs]`` in [-1, 1], and returns f, or f and its constraints.
        x: a law's knobs, ``[knobs]``.
        coordinates: of the knobs.
        budget: evaluations of f at the most.
    """
    free = np.array([not isinstance(one, Choice) for one in coordinates.values()])
    whole = x.copy()

    def of_free(knobs: np.ndarray) -> Any:
        whole[free] = knobs
        return f(whole)

    whole[free] = polish(of_free, x[free], coordinates.steps[free], budget).knobs
    return whole
