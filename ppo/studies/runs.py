"""The runs of a study: each one a row of a CSV, side by side on the cores there are, never run twice."""

import operator
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from actors.pools.auto import cores
from ppo.experiments.parallel import map_in_processes
from ppo.experiments.tables import Row, Table

FIRST_SEED = 401  # of the seeds that are reported; none was used while defaults and settings were chosen


@dataclass(frozen=True)
class Options:
    """What a study is asked for.

    Attributes:
        out: directory of the results.
        seeds: seeds of each experiment.
        quick: take a small fraction of the training steps, to see that it works.
        only: one group of the runs; None for all.
    """

    out: pathlib.Path
    seeds: int
    quick: bool
    only: str | None


class StudyRun(Protocol):
    """A run of any study."""

    columns: ClassVar[Sequence[str]]  # of the row, the key first

    @property
    def group(self) -> str:
        """Name of the CSV that holds the row."""

    @property
    def key(self) -> str:
        """Name of the row."""

    def run(self) -> list[Any]:
        """Runs in this process, and returns the row."""


C = TypeVar("C", bound=StudyRun)


def missing_runs(out: pathlib.Path, runs: Sequence[C]) -> list[C]:
    """Returns the runs that the CSVs in ``out``, one for each group, do not have."""
    tables = {group: Table(out / f"{group}.csv", ("run",)) for group in {run.group for run in runs}}
    return [run for run in runs if not tables[run.group].has(run.key)]


def run_all(out: pathlib.Path, runs: Sequence[C], workers: int | None = None) -> dict[str, list[Row]]:
    """Runs what the CSVs in ``out``, one for each group, lack: one run a core side by side, or ``workers``.

    Returns:
        The rows of all by group, in the order given.
    """
    tables = {run.group: Table(out / f"{run.group}.csv", run.columns) for run in runs}
    if missing := missing_runs(out, runs):
        for run, row in map_in_processes(operator.methodcaller("run"), missing, workers or cores(), "run"):
            tables[run.group].add(*row)
    rows = {row["run"]: row for table in tables.values() for row in table.rows}
    groups: dict[str, list[Row]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(rows[run.key])
    return groups
