"""Evaluations made before, from other runs or from tables, as rows of a new run's archive."""

import csv
import pathlib
from collections.abc import Iterable

import numpy as np

from actors.job import Job
from env.errors import UsageError
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import REUSED, row_type
from ppo.data.run_archive import check_same_problem

STEP = -1
"""Training step of reused rows."""


def read_reused(sources: Iterable[str], job: Job) -> np.ndarray:
    """Reads evaluations of a job's problem.

    Args:
        sources: what ``--reuse`` names: run directories, and CSV files with columns ``x_0 ..``, ``c_0 ..`` and ``f``.
        job: the job of the new run.

    Returns:
        Rows of its archive, ``[n]``, numbered in the order of the sources; an evaluation that several of them hold
        comes once, and repeated measurements within one of them all come.

    Raises:
        UsageError: a source cannot be read, or is of another problem.
    """
    parts, known = [np.empty(0, row_type(job))], set[bytes]()
    for source in sources:
        path = pathlib.Path(source)
        path = path.parent if path.name == NAME else path
        name = f"--reuse {source}"
        rows = _read_table(path, name, job) if path.is_file() else _read_run(path, name, job)
        evaluations = [row.tobytes() for row in np.column_stack([rows["x"], rows["c"], rows["f"]])]
        parts.append(rows[[evaluation not in known for evaluation in evaluations]])
        known.update(evaluations)
    rows = np.concatenate(parts)
    rows["kind"], rows["step"], rows["slot"], rows["time_step"] = REUSED, STEP, np.arange(len(rows)), 0
    return rows


def _read_run(path: pathlib.Path, name: str, job: Job) -> np.ndarray:
    """Reads the archive of a run."""
    if not (path / NAME).is_file():
        what = f"there is no {NAME} in it" if path.is_dir() else "no such file or directory"
        raise UsageError(f"{name}: {what}; give a run directory of this version, or a CSV file")
    contents = read_archive(path / NAME, name)
    check_same_problem(contents, job, name)
    return contents.rows


def _read_table(path: pathlib.Path, name: str, job: Job) -> np.ndarray:
    """Reads a CSV file; columns other than those of knobs, conditions and f are left out."""
    row = row_type(job)
    knobs, conditions = row["x"].shape[0], row["c"].shape[0]
    columns = [*(f"x_{j}" for j in range(knobs)), *(f"c_{j}" for j in range(conditions)), "f"]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    absent = [column for column in columns if table and column not in table[0]]
    if absent or not table:
        what = f"has no column {absent[0]}" if absent else "has no rows"
        raise UsageError(f"{name}: {what}; it must have the columns {', '.join(columns)}")
    values = np.empty((len(table), len(columns)))
    for number, line in enumerate(table):
        for j, column in enumerate(columns):
            values[number, j] = _number(line[column], f"{name}: row {number + 1}, column {column}", column != "f")
    rows = np.zeros(len(table), row)
    rows["x"], rows["c"], rows["f"] = values[:, :knobs], values[:, knobs:-1], values[:, -1]
    rows["driver"], rows["failed"] = -1, ~np.isfinite(values[:, -1])
    return rows


def _number(text: str | None, where: str, bounded: bool) -> float:
    """Reads a number, which must lie in [-1, 1] if it is a knob or a condition; an empty f is one that failed."""
    if text is None:
        raise UsageError(f"{where}: the row is too short, it has no value there")
    try:
        value = float(text or ("" if bounded else "nan"))
    except ValueError:
        raise UsageError(f"{where}: {text!r} is no number") from None
    if bounded and not abs(value) <= 1:
        raise UsageError(f"{where}: {text!r} is outside [-1, 1], in which knobs and conditions are given")
    return value
