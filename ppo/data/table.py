"""The archive as a table, and what is the same in all tables."""

import csv
import pathlib
from collections.abc import Iterable, Sequence

import numpy as np

from env.coordinates import Coordinates
from env.errors import UsageError
from ppo.data.rows import kind_name

Named = tuple[Coordinates, Coordinates] | None
"""Knobs and conditions by name; None where they are in [-1, 1] and have no names."""


def check_surplus(texts: Iterable[str], where: str) -> None:
    """Checks the values of a row beyond the last column; ``where`` is what a message calls the row.

    Raises:
        UsageError: one is not blank.
    """
    if any(text.strip() for text in texts):
        raise UsageError(f"{where}: has more values than there are columns; is it a comma in a number?")


def column_flaw(head: Sequence[str], columns: Sequence[str]) -> str:
    """Returns what a table's first line lacks of columns, or has twice, in words; empty where it has each once."""
    for column in columns:
        if (times := head.count(column)) != 1:
            return f"has {'more than one' if times else 'no'} column {column}"
    return ""


def column_names(row: np.dtype, named: Named = None) -> list[str]:
    """Returns the names of the columns: those of the fields, numbered where a field has several values.

    Knobs and conditions that have names are called by them; a field that has the name of one is called ``row_`` and it.
    """
    assert row.fields is not None, "rows have fields"
    names, parts = [], {} if named is None else dict(zip("xc", named, strict=True))
    taken = {name for part in parts.values() for name in part}
    for name in row.names or ():
        shape = row.fields[name][0].shape
        shown = f"row_{name}" if name in taken else name
        numbered = [f"{name}_{j}" for j in range(shape[0])] if shape else [shown]
        names += list(parts[name]) if name in parts else numbered
    return names


def write_table(path: pathlib.Path, rows: np.ndarray, named: Named = None) -> None:
    """Writes rows as CSV: kinds by name, numbers with all their digits, True and False for what is one of them.

    Knobs and conditions that have names are in their units.

    Raises:
        OSError: the file cannot be written.
    """
    columns: list[list] = []
    parts = {} if named is None else dict(zip("xc", named, strict=True))
    for name in rows.dtype.names or ():
        values = rows[name]
        if name == "kind":
            columns.append([kind_name(kind) for kind in values.tolist()])
        elif name in parts:
            columns += [column.tolist() for column in parts[name].in_units(values).values()]
        else:
            columns += values.T.tolist() if values.ndim > 1 else [values.tolist()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column_names(rows.dtype, named))
        writer.writerows(zip(*columns, strict=True))
