"""How much of a training loop's time its phases account for."""

import json
import pathlib
from collections.abc import Callable

from ppo.training.timing import PHASES

RUNS = 3
"""Trainings that are looked at: a process that waits for a core between two phases is nobody's time, hardly in all."""


def largest_share(train: Callable[[pathlib.Path], object], directory: pathlib.Path) -> float:
    """Trains into new directories, and returns the largest share of a loop's time that lay in its phases."""
    shares = []
    for number in range(RUNS):
        run_dir = directory / str(number)
        train(run_dir)
        timing = json.loads((run_dir / "timing.json").read_text())
        shares.append(sum(timing[phase]["total"] for phase in PHASES) / timing["loop"])
    assert max(shares) <= 1.0
    return max(shares)
