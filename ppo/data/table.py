"""The archive as a table."""

import csv
import pathlib

import numpy as np

from ppo.data.rows import kind_name


def column_names(row: np.dtype) -> list[str]:
    """Returns the names of the columns: those of the fields, numbered where a field has several values."""
    assert row.fields is not None, "rows have fields"
    names = []
    for name in row.names or ():
        shape = row.fields[name][0].shape
        names += [f"{name}_{j}" for j in range(shape[0])] if shape else [name]
    return names


def write_table(path: pathlib.Path, rows: np.ndarray) -> None:
    """Writes rows as CSV: kinds by name, numbers with all their digits, True and False for what is one of them.

    Raises:
        OSError: the file cannot be written.
    """
    columns: list[list] = []
    for name in rows.dtype.names or ():
        values = rows[name]
        if name == "kind":
            columns.append([kind_name(kind) for kind in values.tolist()])
        else:
            columns += values.T.tolist() if values.ndim > 1 else [values.tolist()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column_names(rows.dtype))
        writer.writerows(zip(*columns, strict=True))
