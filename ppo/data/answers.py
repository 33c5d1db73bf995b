"""The tables of ask and tell: the points of a round, and what was measured there."""

import csv
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TextIO

from env.description import Description
from env.errors import UsageError
from env.kinds import Choice, Coordinate, Integer
from ppo.data.table import check_surplus, column_flaw

CLOSE = "close"
"""The id of a row that closes the round."""
WORDS = ("failed", "skipped")
NEARLY = 0.01  # share of a range by which a setting may differ from what was asked, since a spreadsheet rounds


class Point(Protocol):
    """What a row of the table of points says."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def knobs(self) -> dict[str, Any]:
        """What is to be set, by name, in units."""

    @property
    def conditions(self) -> dict[str, Any]:
        """The same of the conditions."""


def write_points(file: TextIO, points: Sequence[Any], described: Description) -> None:
    """Writes points as CSV: id, knobs and conditions in units, and empty columns for what is measured.

    Numbers have all their digits. Nothing is written where there is no point.
    """
    if not points:
        return
    writer = csv.writer(file, lineterminator="\n")
    values = [*_observed(described), *_value_columns(described)]
    writer.writerow(["id", *points[0].knobs, *points[0].conditions, *values])
    for point in points:
        writer.writerow([point.id, *point.knobs.values(), *point.conditions.values(), *[""] * len(values)])


@dataclass(frozen=True)
class Answers:
    """What a table says.

    Attributes:
        values: f, and what is told beside it, by id, as ``Trainer.tell`` takes them.
        close: whether the round is to be closed.
        rows: the rows that have a value, by id: where they are, for messages, and their texts by column.
    """

    values: dict[str, Any]
    close: bool
    rows: dict[str, tuple[str, dict[str, str]]]


def read_answers(path: pathlib.Path, described: Description) -> Answers:
    """Reads a table of points with what was measured.

    Args:
        path: a CSV file with the columns ``id`` and ``f``, ``g_0`` .. for constraints, and those of conditions that are
            observed; others are left out.
        described: of the problem.

    Raises:
        UsageError: the table cannot be read, or a row is none.
    """
    name, columns, answers = f"RESULTS {path}", ["id", *_value_columns(described)], Answers({}, False, {})
    observed = _observed(described)
    columns += observed
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            if flaw := column_flaw(table.fieldnames or (), columns):
                raise UsageError(f"{name}: {flaw}; it must have {', '.join(columns)}")
            for number, row in enumerate(table, 1):
                where = f"{name}: row {number}"
                check_surplus(row.get(None) or (), where)
                texts = [(row[column] or "").strip() for column in columns]
                values = texts[1 : len(columns) - len(observed)]
                if texts[0] == CLOSE:
                    answers = replace(answers, close=True)
                elif any(values):
                    if texts[0] in answers.values:
                        raise UsageError(f"{where}: id {texts[0]} comes twice")
                    answers.rows[texts[0]] = where, row
                    found = dict(zip(observed, texts[len(columns) - len(observed) :], strict=True))
                    answers.values[texts[0]] = _with_conditions(_answer(values, where), found, described, where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return answers


def check_settings(answers: Answers, points: Sequence[Point], described: Description) -> None:
    """Checks that the knobs and conditions in a table, as far as there are any, are those that were asked.

    Args:
        answers: what the table says.
        points: those that are open; rows of others, and of what was skipped, are not looked at.
        described: of the problem.

    Raises:
        UsageError: they are not, as where columns were sorted apart, or something else was set.
    """
    assert described.coordinates is not None, "a tuning problem has them"
    coordinates: dict[str, Coordinate] = {**described.coordinates[0], **described.coordinates[1]}
    for point in points:
        where, row = answers.rows.get(point.id, ("", {}))
        if not row or row["f"].strip().lower() == "skipped":
            continue
        for name, value in {**point.knobs, **point.conditions}.items():
            text = (row.get(name) or "").strip()
            if text and not _is_near(text, value, coordinates[name]):
                raise UsageError(
                    f"{where}: {name} = {text}, where {value} was asked; say skipped where another was set"
                )


def _is_near(text: str, value: Any, one: Coordinate) -> bool:
    """Returns whether a text says a value, as a spreadsheet may have rounded it."""
    if isinstance(one, Choice):
        return (option := one.read(text)) is not None and one.normalised(option) == one.normalised(value)
    try:
        found = float(text)
        if isinstance(one, Integer):
            return found == value
        return abs(one.normalised(found) - one.normalised(value)) <= 2 * NEARLY  # of [-1, 1]
    except (ValueError, UsageError):
        return False


def _answer(texts: list[str], where: str) -> Any:
    """Returns one answer.

    Raises:
        UsageError: it is none.
    """
    if texts[0].lower() in WORDS:
        return texts[0].lower()
    try:
        values = [float(text) for text in texts]
    except ValueError:
        raise UsageError(
            f"{where}: {', '.join(texts)} must be {'numbers' if len(texts) > 1 else 'a number'}, failed or skipped"
        ) from None
    return values[0] if len(values) == 1 else (values[0], values[1:])


def _with_conditions(answer: Any, texts: dict[str, str], described: Description, where: str) -> Any:
    """Returns an answer with the conditions that were observed, if there are any.

    Raises:
        UsageError: one of them is none.
    """
    if not texts or (isinstance(answer, str) and not all(texts.values())):
        return answer
    assert described.coordinates is not None, "a tuning problem has them"
    found = {}
    for name, text in texts.items():
        one = described.coordinates[1][name]
        known = {str(option): option for option in one.options} if isinstance(one, Choice) else {}
        try:
            found[name] = known[text] if known else float(text)
        except (KeyError, ValueError):
            wanted = ", ".join(known) or "a number"
            raise UsageError(f"{where}: {name} = {text or 'nothing'}: it is observed, and must be {wanted}") from None
    return (*(answer if isinstance(answer, tuple) else (answer,)), found)


def _observed(described: Description) -> list[str]:
    """Returns the names of the conditions that are observed."""
    return [] if described.coordinates is None else [list(described.coordinates[1])[j] for j in described.observed]


def _value_columns(described: Description) -> list[str]:
    return ["f", *(f"g_{number}" for number in range(described.constraints))]
