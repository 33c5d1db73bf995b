"""A training step: what it wants to have run, and what it gave."""

from collections.abc import Callable
from dataclasses import dataclass

from actors.job import Kind
from actors.snapshot import Snapshot


@dataclass(frozen=True)
class WantedRound:
    """A round of slots that a training step waits for.

    Attributes:
        kind: what its slots are run for.
        step: training step.
        snapshot: makes what drivers need for it.
    """

    kind: Kind
    step: int
    snapshot: Callable[[], Snapshot]


@dataclass(frozen=True)
class TrainingStep:
    """What one training step gave.

    Attributes:
        number: training steps done.
        score: of the evaluation after it, by the evaluator's metric; None where there was none.
        scalars: losses and other scalars to log, by name.
    """

    number: int
    score: float | None
    scalars: dict[str, float]
