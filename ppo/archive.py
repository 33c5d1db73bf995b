"""``python -m ppo.archive RUN_DIR``: says what a run has evaluated, and writes it out as a table."""

import pathlib
from dataclasses import dataclass

import numpy as np
import tyro

from env.errors import UsageError
from ppo.config.command_line import parse_as, run_main
from ppo.data.archive import NAME, Contents, read_archive
from ppo.data.rows import in_order, kind_name
from ppo.data.run_archive import coordinates_of, problem_words
from ppo.data.table import column_names, write_table
from ppo.startup import command


@dataclass(frozen=True)
class Arguments:
    """Says how many evaluations of f a run's archive holds, and writes them out as a table."""

    run_dir: tyro.conf.Positional[pathlib.Path]
    """Directory of the run; it may be running."""
    csv: pathlib.Path | None = None
    """Write a CSV file with a row for each evaluation, in the order of kind, training step, slot and time step; knobs
    and conditions that have names are in their units."""


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("archive"), argv)
    name = f"RUN_DIR {arguments.run_dir}"
    if not (arguments.run_dir / NAME).is_file():
        raise UsageError(
            f"{name}: there is no {NAME} in it; a run has one if it tunes an objective, or was begun with --record"
        )
    contents = read_archive(arguments.run_dir / NAME, name)
    print(describe(contents))
    if arguments.csv is not None:
        rows = in_order(contents.rows)
        try:
            named = coordinates_of(contents.signature)
            write_table(arguments.csv, rows, named)
        except ValueError as error:
            raise UsageError(f"{name}: {NAME} is damaged ({error})") from None
        except OSError as error:
            raise UsageError(f"--csv {arguments.csv}: cannot be written ({error.strerror})") from None
        print(f"{arguments.csv}: {len(rows):,} rows, columns {' '.join(column_names(rows.dtype, named))}")


def describe(contents: Contents) -> str:
    """Returns what an archive holds, in words."""
    rows = contents.rows
    problem = problem_words({name: value for name, value in contents.signature.items() if value != {}})
    kinds = zip(*np.unique(rows["kind"], return_counts=True), strict=True)
    counts = ", ".join(f"{count:,} {kind_name(int(kind))}" for kind, count in kinds)
    lines = [f"problem  {problem}", f"rows     {len(rows):,}{f': {counts}' if counts else ''}"]
    if {"seconds", "failed"} <= set(rows.dtype.names or ()):
        lines.append(f"seconds  {rows['seconds'].sum():.3g} in f; {int(rows['failed'].sum())} failed")
    if contents.lost:
        lines.append(
            f"lost     at most {contents.lost} more: under way when a process was ended, when f raised, or now"
        )
    if contents.cut:
        lines.append(f"cut      {contents.cut} bytes at the end, which an interrupted write left")
    return "\n".join(lines)


if __name__ == "__main__":
    run_main(main)
