"""A problem that is no function: its points are asked, and what was measured there is told."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from env.coordinates import Coordinates, check_named
from env.errors import UsageError
from env.kinds import Coordinate
from env.objectives.base import Objective


class Bench(Objective):
    """Knobs and conditions of a bench. Its subclasses are made by ``bench``, one for each."""

    def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        """Is never called.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"--env {type(self).__name__}: is a bench, whose points are asked with tuninglaw ask RUN_DIR")


def bench(
    *, knobs: Mapping[str, Coordinate], conditions: Mapping[str, Coordinate], constraints: int = 0
) -> type[Bench]:
    """Describes a bench, on which a law is trained by asking for points and telling what was measured there.

        supply = bench(knobs=dict(fan=Range(0, 1)), conditions=dict(load=Range(0, 50, unit="A")))

    Args:
        knobs: what is tuned.
        conditions: what is given.
        constraints: how many values are told beside f that are to be 0 or less.

    Raises:
        UsageError: the coordinates are none, or have a name that a table of evaluations has for something else.
    """
    named = Coordinates(knobs, "knobs"), Coordinates(conditions, "conditions")
    check_named(*named)
    members = {
        "knob_coordinates": named[0],
        "condition_coordinates": named[1],
        "knobs": len(named[0]),
        "conditions": len(named[1]),
        "observed": named[1].observed,
        "constraints": constraints,
    }
    return type("Bench", (Bench,), members)
