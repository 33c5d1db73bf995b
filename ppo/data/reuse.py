"""Evaluations made before, from other runs or from tables, as rows of a new run's archive."""

import csv
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

import numpy as np

from actors.job import Job
from env.errors import UsageError
from env.kinds import Choice, Coordinate, Integer
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import REUSED, row_type
from ppo.data.run_archive import check_same_problem
from ppo.data.table import check_surplus, column_flaw

STEP = -1
"""Training step of reused rows."""
LONGEST_LINE = 10_000_000  # characters, of a table
AS_TABLE = "; if it is the same f, write its archive as a table, archive --csv, and reuse that"
DIGITS = 9  # of knobs and conditions in [-1, 1] in which evaluations differ
SHOWN = 60  # characters of a text in a message


def read_reused(sources: Iterable[str], job: Job) -> np.ndarray:
    """Reads evaluations of a job's problem.

    Args:
        sources: what ``--reuse`` names: run directories, and CSV files with columns for knobs, conditions and ``f``:
            their names, in units, or ``x_0 ..`` and ``c_0 ..``.
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
        evaluations = [row.tobytes() for row in np.column_stack([_rounded(rows["x"]), _rounded(rows["c"]), rows["f"]])]
        parts.append(rows[[evaluation not in known for evaluation in evaluations]])
        known.update(evaluations)
    rows = np.concatenate(parts)
    rows["kind"], rows["step"], rows["slot"], rows["time_step"] = REUSED, STEP, np.arange(len(rows)), 0
    return rows


def _rounded(z: np.ndarray) -> np.ndarray:
    """Returns normalised values without their last digits, which differ where one came by way of its unit."""
    return np.round(z, DIGITS) + 0.0  # which makes 0 of -0


def _read_run(path: pathlib.Path, name: str, job: Job) -> np.ndarray:
    """Reads the archive of a run."""
    if not (path / NAME).is_file():
        what = f"there is no {NAME} in it" if path.is_dir() else "no such file or directory"
        raise UsageError(f"{name}: {what}; give a run directory of this version, or a CSV file")
    contents = read_archive(path / NAME, name)
    check_same_problem(contents, job, name, AS_TABLE)
    return contents.rows


def _read_table(path: pathlib.Path, name: str, job: Job) -> np.ndarray:
    """Reads a CSV file; columns other than those of knobs, conditions, f and constraints are left out."""
    assert job.description.coordinates is not None, "a tuning problem has them"
    knobs, conditions = job.description.coordinates
    coordinates = {**knobs, **conditions}
    columns = [*coordinates, "f", *(f"g_{j}" for j in range(job.description.constraints))]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            values = np.array(list(_values_of(csv.reader(_lines(file)), columns, coordinates, name)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not len(values):
        raise UsageError(f"{name}: has no rows; it must have the columns {_shown(', '.join(columns))}")
    rows = np.zeros(len(values), row_type(job))
    rows["x"], rows["c"], measured = np.split(values, [len(knobs), len(coordinates)], axis=1)
    rows["f"] = measured[:, 0]
    if job.description.constraints:
        rows["g"] = measured[:, 1:]
    rows["driver"], rows["failed"] = -1, ~np.isfinite(measured).all(axis=1)
    return rows


def _lines(file: TextIO) -> Iterator[str]:
    """Yields the lines of a file, none of which may be so long that the file is no table."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise csv.Error(f"a line has {LONGEST_LINE:,} characters or more, so it is no table")
        yield line


def _values_of(
    table: Iterator[list[str]], columns: list[str], coordinates: Mapping[str, Coordinate], name: str
) -> Iterator[list[float]]:
    """Yields the values of the columns in each row of a table whose first line names its columns."""
    head = next(table, columns)
    if flaw := column_flaw(head, columns):
        raise UsageError(f"{name}: {flaw}; it must have the columns {_shown(', '.join(columns))}")
    places = [head.index(column) for column in columns]
    for number, line in enumerate((line for line in table if line), 1):
        check_surplus(line[len(head) :], f"{name}: row {number}")
        texts = [line[place] if place < len(line) else None for place in places]
        named = zip(texts, columns, strict=True)
        yield [
            _number(text, f"{name}: row {number}, column {column}", coordinates.get(column)) for text, column in named
        ]


def _shown(text: str) -> str:
    """Returns a text as a message shows it, in which a long one is cut."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _number(text: str | None, where: str, coordinate: Coordinate | None) -> float:
    """Reads a value: of a coordinate, normalised, or a number; an f that is empty or says so failed."""
    if text is None:
        raise UsageError(f"{where}: the row is too short, it has no value there")
    if isinstance(coordinate, Choice):
        if (option := coordinate.read(text)) is None:
            raise UsageError(f"{where}: {_shown(text)!r} is none of {', '.join(map(str, coordinate.options))}")
        return coordinate.normalised(option)
    try:
        value = float(text) if coordinate or text.strip().lower() not in ("", "failed") else np.nan
    except ValueError:
        raise UsageError(f"{where}: {_shown(text)!r} is no number") from None
    if coordinate is None:
        return value
    if not coordinate.low <= value <= coordinate.high:
        bounds = f"[{coordinate.low:g}, {coordinate.high:g}]"
        raise UsageError(f"{where}: {_shown(text)!r} is outside {bounds}, its range")
    if isinstance(coordinate, Integer) and value != round(value):
        raise UsageError(f"{where}: {_shown(text)!r} is no whole number, and {coordinate} has no other")
    return float(min(max(coordinate.normalised(value), -1.0), 1.0))
