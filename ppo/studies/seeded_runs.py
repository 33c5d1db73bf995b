"""Runs of a study that are trainings: those that differ by their seed alone are trained side by side, in one process.

Their bits are those of each alone, and a training is quicker by what it shares: its start, and a part of each step.
"""

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ppo.config import Config

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

MOST = 10  # runs side by side
R = TypeVar("R")


class SeededRun(ABC):
    """A training whose row is made at its end; a subclass is a dataclass.

    Attributes:
        config: full configuration, including the seed.
    """

    config: Config

    def watch(self, trainer: "Trainer", seen: list[Any]) -> bool:
        """Looks at the training after each step, may add what it sees to ``seen``; returns whether that is enough."""
        return False

    @abstractmethod
    def row(self, trainer: "Trainer", seen: list[Any], seconds: float) -> list[Any]:
        """Returns the row at the end of the training, within its context.

        Args:
            trainer: the training.
            seen: what ``watch`` has added.
            seconds: what it took without its start, by the processor's clock where there are no drivers; where seeds
                are trained side by side, its share.
        """

    @property
    def trainer_options(self) -> dict[str, Any]:
        """Further arguments of ``Trainer``."""
        return {}

    def run(self) -> list[Any]:
        """Trains in this process, and returns the row."""
        return train_together([self])[0]

    @property
    def family(self) -> str:
        """What the runs have in common that are trained side by side."""
        config = dataclasses.replace(self.config, seed=0)
        return f"{type(self).__qualname__} {dataclasses.replace(self, config=config)!r}"  # type: ignore[type-var]


def train_together(runs: Sequence[SeededRun]) -> list[list[Any]]:
    """Trains runs of one family in this process, and returns the row of each."""
    from threadpoolctl import threadpool_limits

    from ppo.experiments.workloads import side_by_side  # imported here, since it imports torch

    configs, seen = [run.config for run in runs], [list[Any]() for _ in runs]
    with threadpool_limits(1), side_by_side(configs, **runs[0].trainer_options) as together:
        trained = list(zip(runs, together.trainers, seen, strict=True))
        clock = time.process_time if configs[0].drivers == 0 else time.perf_counter
        started, enough = clock(), False
        while not (together.complete or enough):
            together.step()
            looked = [run.watch(trainer, own) for run, trainer, own in trained]  # at all of them
            enough = all(looked)
        seconds = (clock() - started) / len(runs)
        return [run.row(trainer, own, seconds) for run, trainer, own in trained]


def batches(runs: Sequence[R], workers: int) -> list[list[R]]:
    """Groups runs into calls: those of a family together, as many as leave work for all workers; any other alone.

    Trainings of a family are side by side. Other runs that have one follow each other, in a process that is started
    once.
    """
    families: dict[Any, list[R]] = {}
    for number, run in enumerate(runs):
        families.setdefault(getattr(run, "family", number), []).append(run)
    calls = []
    for family in families.values():
        work = runs if isinstance(family[0], SeededRun) else family
        most = max(1, min(MOST, -(-len(work) // workers)))
        calls += [family[i : i + most] for i in range(0, len(family), most)]
    return calls
