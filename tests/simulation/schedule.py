"""What goes wrong in a simulated run, and when: drawn from a seed, or what is left of it after shrinking."""

import dataclasses
import random
from collections.abc import Iterator

MESSAGES = ("delay", "duplicate", "cut")
DRIVERS = ("kill", "silence", "slow", "leave", "join")
LEARNER = ("power loss", "kill of the learner", "disk full", "input/output error")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: what.
        at: when: at the message of this number to or from a driver, the task of this number that is received, or the
            operation of this number on the disk or the fleet.
        amount: how much of it, in [0, 1).
    """

    kind: str
    at: int
    amount: float


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A simulated run.

    Attributes:
        seed: seed of all that is not a fault: latencies, durations, what a loss of power leaves.
        scenario: which run is simulated.
        drivers: number of drivers at the start.
        slot_seconds: mean duration of a slot.
        unevenness: spread of the durations.
        faults: what goes wrong.
    """

    seed: int
    scenario: int
    drivers: int
    slot_seconds: float
    unevenness: float
    faults: tuple[Fault, ...]

    def smaller(self) -> Iterator["Schedule"]:
        """Yields schedules with less in them: half of the faults, one fault less, one driver."""
        faults = self.faults
        if len(faults) > 2:
            for half in (faults[: len(faults) // 2], faults[len(faults) // 2 :]):
                yield dataclasses.replace(self, faults=half)
        for i in range(len(faults)):
            yield dataclasses.replace(self, faults=faults[:i] + faults[i + 1 :])
        if self.drivers > 1:
            yield dataclasses.replace(self, drivers=1)


def draw(seed: int, scenarios: int) -> Schedule:
    """Draws the schedule of a seed."""
    rng = random.Random(seed)
    faults = []
    for _ in range(rng.choice((2, 3, 4, 5, 6, 8, 10))):
        kind = rng.choice(rng.choice((MESSAGES, MESSAGES, DRIVERS, DRIVERS)))
        faults.append(Fault(kind, rng.randrange(50 if kind in MESSAGES else 20), rng.random()))
    if rng.random() < 0.18:
        count = rng.choice((1, 1, 2))
        faults += [Fault(rng.choice(LEARNER), rng.randrange(120), rng.random()) for _ in range(count)]
    return Schedule(
        seed,
        rng.randrange(scenarios),
        rng.choice((1, 1, 2, 3, 3, 5, 8)),
        rng.choice((1e-5, 1e-5, 1e-4, 1e-4, 1e-3, 0.02, 0.3, 3.0)),
        rng.choice((0.0, 0.5, 2.0)),
        tuple(faults),
    )
