"""Training runs of a study: each one a row of a CSV, side by side on the cores there are, never run twice."""

import importlib
import operator
import pathlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from actors.law import Law
from actors.pools.auto import cores
from ppo.config.fields import Config
from ppo.evaluation.regret import constant_regret, measure
from ppo.experiments.parallel import side_by_side
from ppo.experiments.tables import Cells, Table
from ppo.training.run_dir import RunDir

COLUMNS = (
    *(
        "cell",
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
FIRST_SEED = 401  # of those reported: none was used while defaults and settings were chosen


@dataclass(frozen=True)
class Cell:
    """One training run.

    Attributes:
        group: experiment it belongs to.
        variant: what it tries.
        config: all of it, the seed included.
        without_normaliser: re-enact the thesis's failure.
        constants: module constants by their full names, and what to set them to.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    group: str
    variant: str
    config: Config
    without_normaliser: bool = field(default=False, kw_only=True)
    constants: dict[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def key(self) -> str:
        """Names the run."""
        return f"{self.group}/{self.config.env}/{self.variant}/{self.config.training_steps}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Its row."""
        return run_cell(self)


def run_cell(cell: Cell) -> list[Any]:
    """Trains, in this process, which is good for nothing else then, and returns a row."""
    from ppo.studies.partial import PartialSnapshotRun
    from ppo.training.trainer import Run  # torch comes with it

    for name, value in cell.constants.items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    kind = PartialSnapshotRun if cell.without_normaliser else Run
    with tempfile.TemporaryDirectory() as directory:
        files = RunDir(pathlib.Path(directory, "run"))
        with kind(cell.config.resolved(), files, resume=False, track=False, quiet=True) as run:
            while not run.complete:
                facts, scalars = run.training_step()
                if run.evaluation_due():
                    run.evaluate(scalars)
                run.end_step(facts)
            summary = run.finish(pictures=False)
        law = Law.load(files.path / "law.npz")
    objective = cell.config.problem().objective()
    assert objective is not None, "studies of cells are about tuning"
    found = measure(objective, law)
    assert found is not None, "and of objectives whose optimum is known"
    regret = float(np.median(found.regret))
    scores, seed = summary["eval"], cell.config.seed
    numbers = [scores[name] for name in ("first_1000_mean", "first_1000_variance", "last_1000_mean")]
    numbers += [scores["last_1000_variance"], scores["best"], evaluations_to_target(files.rows)]
    numbers += [regret, regret / constant_regret(objective)]
    curve = " ".join(f"{value:.3g}" for value in decimated([row["eval/error"] for row in files.rows]))
    named = [cell.key, cell.group, cell.config.env, cell.variant, seed, scores["metric"]]
    digest = summary["policy_sha256"]
    return [*named, *(f"{n:.6g}" for n in numbers), digest, f"{summary['wall_seconds']:.1f}", curve]


def evaluations_to_target(rows: Sequence[dict[str, float]]) -> float:
    """Evaluations of f spent on training until the error had been below 0.01 for 20 evaluations; inf if never."""
    below = 0
    for row in rows:
        below = below + 1 if row["eval/error"] < TARGET else 0
        if below == CONSECUTIVE:
            return row["objective_evaluations"]
    return float("inf")


def decimated(errors: Sequence[float]) -> list[float]:
    """At most 50 means over stretches of equal length, give or take one."""
    return [float(np.mean(part)) for part in np.array_split(errors, min(len(errors), CURVE_POINTS))]


class AnyCell(Protocol):
    """A run of any study."""

    columns: ClassVar[Sequence[str]]  # of its row, the key first

    @property
    def group(self) -> str:
        """The CSV that its row is in."""

    @property
    def key(self) -> str:
        """Names its row."""

    def run(self) -> list[Any]:
        """Runs it, in a process that is good for nothing else afterwards, and returns its row."""


C = TypeVar("C", bound=AnyCell)


def missing_cells(out: pathlib.Path, cells: Sequence[C]) -> list[C]:
    """Those that the CSVs in ``out``, one a group, do not have."""
    tables = {group: Table(out / f"{group}.csv", ("cell",)) for group in {cell.group for cell in cells}}
    return [cell for cell in cells if not tables[cell.group].has(cell.key)]


def run_cells(out: pathlib.Path, cells: Sequence[C], workers: int | None = None) -> dict[str, list[Cells]]:
    """Runs those that the CSVs in ``out``, one a group, lack, as many side by side as there are cores, or ``workers``.

    Returns:
        The rows of all by group, in the order given.
    """
    tables = {cell.group: Table(out / f"{cell.group}.csv", cell.columns) for cell in cells}
    if missing := missing_cells(out, cells):
        for cell, row in side_by_side(operator.methodcaller("run"), missing, workers or cores(), "run"):
            tables[cell.group].add(*row)
    rows = {row["cell"]: row for table in tables.values() for row in table.rows}
    groups: dict[str, list[Cells]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(rows[cell.key])
    return groups
