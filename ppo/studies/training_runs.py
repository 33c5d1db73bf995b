"""Trainings of a tuning law: the row of each one in a study's CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from actors.law import Law
from ppo.config import Config
from ppo.evaluation.regret import constant_regret, measure_regret

COLUMNS = (
    *(
        "run",
        "group",
        "env",
        "variant",
        "seed",
        "metric",
        "first mean",
        "first variance",
        "last mean",
        "last variance",
    ),
    *("best", "evaluations to target", "median regret", "share of constant", "policy sha256", "seconds", "curve"),
)
TARGET = 0.01  # error that counts as solved
CONSECUTIVE = 20  # once so many evaluations in a row are below it
CURVE_POINTS = 50


@dataclass(frozen=True)
class TrainingRun:
    """A training of a tuning law.

    Attributes:
        group: experiment it belongs to.
        variant: what it tries.
        config: all of it, the seed included.
        without_normaliser: collect without the observation normaliser, the thesis's failure.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    group: str
    variant: str
    config: Config
    without_normaliser: bool = field(default=False, kw_only=True)

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.group}/{self.config.env}/{self.variant}/{self.config.training_steps}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Trains, in this process, and returns the run's row."""
        from ppo.experiments.workloads import training  # torch comes with it

        with training(self.config, collect_without_normaliser=self.without_normaliser) as trainer:
            for _ in trainer:
                pass
            summary = trainer.finish(pictures=False)
            law, rows = Law.load(trainer.files.path / "law.npz"), trainer.files.rows
        scores, seed = summary["eval"], self.config.seed
        numbers = [scores[name] for name in ("first_1000_mean", "first_1000_variance", "last_1000_mean")]
        numbers += [scores["last_1000_variance"], scores["best"], evaluations_to_target(rows), *self._regret(law)]
        curve = " ".join(f"{value:.3g}" for value in decimated([row["eval/error"] for row in rows]))
        named = [self.key, self.group, self.config.env, self.variant, seed, scores["metric"]]
        digest = summary["policy_sha256"]
        return [*named, *(f"{n:.6g}" for n in numbers), digest, f"{summary['wall_seconds']:.1f}", curve]

    def _regret(self, law: Law) -> tuple[float, float]:
        """Returns the median regret of a law, and its share of that of the best constant knobs."""
        objective = self.config.problem().objective()
        assert objective is not None, "it is about tuning"
        found = measure_regret(objective, law)
        assert found is not None, "and about objectives whose optimum is known"
        regret = float(np.median(found.regret))
        return regret, regret / constant_regret(objective)


def evaluations_to_target(rows: Sequence[dict[str, float]]) -> float:
    """Returns the evaluations of f until the error had been below 0.01 in 20 evaluations in a row; inf if never."""
    below = 0
    for row in rows:
        below = below + 1 if row["eval/error"] < TARGET else 0
        if below == CONSECUTIVE:
            return row["objective_evaluations"]
    return float("inf")


def decimated(errors: Sequence[float]) -> list[float]:
    """Returns at most 50 means over stretches of equal length, give or take one."""
    return [float(np.mean(part)) for part in np.array_split(errors, min(len(errors), CURVE_POINTS))]
