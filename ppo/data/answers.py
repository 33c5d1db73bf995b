"""The tables of ask and tell: the points of a round, and what was measured there."""

import csv
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TextIO

from env.description import Description
from env.errors import UsageError
from env.kinds import Choice, Coordinate, Integer

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


def read_answers(
    path: pathlib.Path, described: Description, points: Sequence[Point] = ()
) -> tuple[dict[str, Any], bool]:
    """Reads a table of points with what was measured.

    Args:
        path: a CSV file with the columns ``id`` and ``f``, ``g_0`` .. for constraints, and those of conditions that are
            observed. Of other columns, those of knobs and conditions must be as they were asked.
        described: of the problem.
        points: those that are open.

    Returns:
        As ``Trainer.tell`` takes them: answers by id, and whether the round is to be closed.

    Raises:
        UsageError: the table cannot be read, or a row is none.
    """
    name, columns, answers, close = f"RESULTS {path}", ["id", *_value_columns(described)], dict[str, Any](), False
    observed = _observed(described)
    columns += observed
    asked = {point.id: {**point.knobs, **point.conditions} for point in points}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            missing = [column for column in columns if column not in (table.fieldnames or [])]
            if missing:
                raise UsageError(f"{name}: has no column {missing[0]}; it must have {', '.join(columns)}")
            for number, row in enumerate(table, 1):
                if None in row:
                    raise UsageError(
                        f"{name}: row {number}: has more values than there are columns; is it a comma in a number?"
                    )
                texts = [(row[column] or "").strip() for column in columns]
                values, where = texts[1 : len(columns) - len(observed)], f"{name}: row {number}"
                if texts[0] == CLOSE:
                    close = True
                elif any(values):
                    if texts[0] in answers:
                        raise UsageError(f"{where}: id {texts[0]} comes twice")
                    _check_settings(row, asked.get(texts[0], {}), described, where)
                    found = dict(zip(observed, texts[len(columns) - len(observed) :], strict=True))
                    answers[texts[0]] = _with_conditions(_answer(values, where), found, described, where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return answers, close


def _check_settings(row: Mapping[str, str], asked: Mapping[str, Any], described: Description, where: str) -> None:
    """Checks that the knobs and conditions in a row, as far as there are any, are those that were asked.

    Raises:
        UsageError: they are not, as where columns were sorted apart, or something else was set.
    """
    assert described.coordinates is not None, "a tuning problem has them"
    coordinates: dict[str, Coordinate] = {**described.coordinates[0], **described.coordinates[1]}
    for name, value in asked.items():
        text, one = (row.get(name) or "").strip(), coordinates[name]
        if text and not _is_near(text, value, one):
            raise UsageError(
                f"{where}: {name} = {text}, where {value} was asked; what was measured elsewhere is skipped here"
            )


def _is_near(text: str, value: Any, one: Coordinate) -> bool:
    """Returns whether a text says a value, as a spreadsheet may have rounded it."""
    if isinstance(one, Choice):
        return text.lower() == str(value).lower()
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
