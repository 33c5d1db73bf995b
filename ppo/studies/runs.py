"""Runs of a study: each is a row of a CSV and is done once; several are done at a time, one on each core."""

import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, cast

from actors.pools.processes import cores
from ppo.experiments.parallel import map_in_processes
from ppo.experiments.tables import Row, Table
from ppo.studies.seeded_runs import SeededRun, batches, train_together

FIRST_SEED = 401  # first reported seed; no reported seed was used while defaults and settings were chosen


@dataclass(frozen=True)
class Options:
    """Options of a study.

    Attributes:
        out: directory of the results.
        seeds: number of seeds of each experiment.
        quick: whether to take a small fraction of the training steps, to check that the study works.
        only: name of the only group of runs to do; None for all groups.
    """

    out: pathlib.Path
    seeds: int
    quick: bool
    only: str | None


class StudyRun(Protocol):
    """A run of any study."""

    columns: ClassVar[Sequence[str]]  # names of the row's columns, the key first

    @property
    def group(self) -> str:
        """Name of the CSV that holds the row."""

    @property
    def key(self) -> str:
        """Name of the row."""

    def run(self) -> list[Any]:
        """Does the run in this process, and returns the row."""


C = TypeVar("C", bound=StudyRun)


def rows_of(call: Sequence[StudyRun]) -> list[list[Any]]:
    """Does the runs of one call in this process, and returns their rows."""
    if all(isinstance(run, SeededRun) for run in call):
        return train_together(cast(Sequence[SeededRun], call))
    return [run.run() for run in call]


def missing_runs(out: pathlib.Path, runs: Sequence[C]) -> list[C]:
    """Returns the runs that have no row in the CSVs in ``out``, one for each group."""
    tables = {group: Table(out / f"{group}.csv", ("run",)) for group in {run.group for run in runs}}
    return [run for run in runs if not tables[run.group].has(run.key)]


def run_all(out: pathlib.Path, runs: Sequence[C], workers: int | None = None) -> dict[str, list[Row]]:
    """Does the runs that have no row in the CSVs in ``out``, one for each group.

    Args:
        out: directory of the CSVs.
        runs: runs to do, or to read.
        workers: number of runs at a time; None for one on each core.

    Returns:
        Rows of all runs by group, in the order of ``runs``.
    """
    tables = {run.group: Table(out / f"{run.group}.csv", run.columns) for run in runs}
    if calls := batches(missing_runs(out, runs), workers or cores()):
        for call, done in map_in_processes(rows_of, calls, workers or cores(), "call"):
            for run, row in zip(call, done, strict=True):
                tables[run.group].add(*row)
    rows = {(group, row["run"]): row for group, table in tables.items() for row in table.rows}
    groups: dict[str, list[Row]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(rows[run.group, run.key])
    return groups


def run_groups(out: pathlib.Path, groups: Mapping[str, Sequence[C]], only: str | None) -> dict[str, list[Row]]:
    """Does the missing runs of one group, or of all without ``only``; returns the rows of the complete groups."""
    run_all(out, [run for group, runs in groups.items() if only in (None, group) for run in runs])
    return run_all(out, [run for runs in groups.values() if not missing_runs(out, runs) for run in runs])
