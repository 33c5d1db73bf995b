"""Trainings of a tuning law, each of which is a row in a study's CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actors.law import Law
from ppo.config import Config
from ppo.evaluation.regret import constant_regret, measure_regret
from ppo.experiments.streak import Streak
from ppo.studies.seeded_runs import SeededRun

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

COLUMNS = (
    "run", "group", "env", "variant", "seed", "metric", "first mean", "first variance", "last mean", "last variance",
    "best", "evaluations to target", "median regret", "share of constant", "policy sha256", "seconds", "curve",
)  # fmt: skip
CURVE_POINTS = 50  # largest number of points of a curve


@dataclass(frozen=True)
class TrainingRun(SeededRun):
    """A training of a tuning law.

    Attributes:
        group: name of the group of runs that it belongs to.
        variant: name of the sampler, or of the change, that it tries.
        config: full configuration, including the seed.
        without_normaliser: whether drivers are sent no observation normaliser, which was the thesis's failure.
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

    @property
    def trainer_options(self) -> dict[str, Any]:
        return {"collect_without_normaliser": self.without_normaliser}

    def row(self, trainer: "Trainer", seen: list[Any], seconds: float) -> list[Any]:
        summary = trainer.finish(pictures=False)
        law, rows = Law.load(trainer.files.path / "law.npz"), trainer.files.rows
        scores, seed = summary["eval"], self.config.seed
        numbers = [scores[name] for name in ("first_1000_mean", "first_1000_variance", "last_1000_mean")]
        numbers += [scores["last_1000_variance"], scores["best"], evaluations_to_target(rows), *self._regret(law)]
        curve = " ".join(f"{value:.3g}" for value in decimated([row["eval/error"] for row in rows]))
        named = [self.key, self.group, self.config.env, self.variant, seed, scores["metric"]]
        digest = summary["policy_sha256"]
        return [*named, *(f"{n:.6g}" for n in numbers), digest, f"{seconds:.1f}", curve]

    def _regret(self, law: Law) -> tuple[float, float]:
        """Returns the median regret of a law, and its quotient by that of the best constant knobs."""
        objective = self.config.problem().objective()
        assert objective is not None, "it is about tuning"
        found = measure_regret(objective, law)
        assert found is not None, "and about objectives whose optimum is known"
        regret = float(np.median(found.regret))
        return regret, regret / constant_regret(objective, found)


def evaluations_to_target(rows: Sequence[dict[str, float]]) -> float:
    """Returns the number of evaluations of f until 20 errors in a row were below 0.01, or infinity.

    Args:
        rows: rows of ``metrics.csv``.
    """
    streak = Streak()
    for row in rows:
        if streak.add(row["eval/error"]):
            return row["objective_evaluations"]
    return float("inf")


def decimated(errors: Sequence[float]) -> list[float]:
    """Returns the means over at most 50 consecutive parts, whose lengths differ by at most one."""
    return [float(np.mean(part)) for part in np.array_split(errors, min(len(errors), CURVE_POINTS))]
