"""Tables of measurements, held in a CSV that a later call continues, and shown as Markdown."""

import csv
import pathlib
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

import psutil

Row = dict[str, str]


class Table:
    """Rows with the same columns, appended to a CSV as they are measured; the first column names a row.

    Args:
        path: path of the CSV, whose rows are read if it exists.
        columns: names of the columns, that of the key first.
    """

    def __init__(self, path: pathlib.Path, columns: Iterable[str]):
        self.path, self.columns = path, list(columns)
        self.rows: list[Row] = []
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, key: str) -> bool:
        """Returns whether the table has the row with this key."""
        return any(row[self.columns[0]] == key for row in self.rows)

    def add(self, *cells: object) -> None:
        """Adds a row to the table and to the CSV."""
        row = {name: str(cell) for name, cell in zip(self.columns, cells, strict=True)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            if not file.tell():
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)

    def markdown(self) -> str:
        """Returns the table as Markdown."""
        return markdown(self.columns, [[row[name] for name in self.columns] for row in self.rows])


def numbers(rows: Iterable[Row], column: str) -> list[float]:
    """Returns the values of a column as numbers."""
    return [float(row[column]) for row in rows]


def grouped(rows: Sequence[Row], by: str = "env") -> dict[tuple[str, str], list[Row]]:
    """Groups rows by the column ``by`` and the variant, in the order of their first rows."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row[by], row["variant"]), []).append(row)
    return groups


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Returns a table as Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)) + "\n"


def machine(others: Sequence[str] = ("gymnasium", "stable-baselines3")) -> str:
    """Returns a sentence with the processor, the number of cores and the versions of torch, NumPy and others."""
    packages = []
    for name in ("torch", "numpy", *others):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    cores = (
        len(psutil.Process().cpu_affinity() or [0]) if hasattr(psutil.Process, "cpu_affinity") else psutil.cpu_count()
    )
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {', '.join(packages)}."
