"""What f returned, or raised, as values: it is checked here, and nowhere else, however f is called."""

import inspect
from typing import Any, NamedTuple

import numpy as np

from env.errors import ContractError
from env.importing import shown_name
from env.objectives.base import Objective
from env.words import described

FAILED = float("nan")
"""The value of an evaluation that failed."""


class Failures:
    """Lets evaluations of f fail: one that raises an exception, or is not finite, is NaN.

    Attributes:
        first: what the first of them said; empty before there is one.
    """

    first = ""

    def note(self, reason: str, error: BaseException | None = None) -> None:
        """Notes that an evaluation failed, and why; ``error`` is the exception that f raised, if it did."""
        self.first = self.first or " ".join(reason.split())


class Values(NamedTuple):
    """What evaluations gave.

    Attributes:
        f: f(x, c), ``[n]``.
        g: values of the constraints, ``[n, constraints]``.
        seconds: how long each took, ``[n]``; rows that were evaluated together share the time.
        c: conditions as they were, ``[n, conditions]``: those that were given, and others where they are observed.
    """

    f: np.ndarray
    g: np.ndarray
    seconds: np.ndarray
    c: np.ndarray


def called(objective: Objective, x: np.ndarray, c: np.ndarray, given: dict[str, Any], failures: Failures | None) -> Any:
    """Returns what f returns, or ``FAILED`` where it raises an exception and may."""
    call: Any = objective
    try:
        return call(x, c, **given)
    except BaseException as error:
        if not failed(error, failures):
            raise
        return FAILED


def failed(error: BaseException, failures: Failures | None) -> bool:
    """Returns whether an evaluation that raised an exception has failed and may, and notes it."""
    # A mistake in what f returned is no failure, nor are Ctrl-C and what limits the time.
    if failures is None or isinstance(error, ContractError) or not isinstance(error, Exception | SystemExit):
        return False
    failures.note(f"{type(error).__name__}: {error}", error)
    return True


def values_of(
    objective: Objective, returned: Any, c: np.ndarray, failures: Failures | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns f, constraints and conditions of all rows, given what f returned for them, checked.

    Args:
        objective: the objective f.
        returned: what it returned, or ``FAILED``.
        c: conditions, ``[n, conditions]``.
        failures: lets evaluations fail (None: they do not).

    Returns:
        f ``[n]``, constraints ``[n, constraints]``, and conditions as they were, ``[n, conditions]``.

    Raises:
        ContractError: it is not what f must return.
    """
    if inspect.iscoroutine(returned):
        returned.close()  # else Python warns that nothing has awaited it
        raise ContractError(
            f"{_name(objective)} returned a coroutine, which nothing awaits; it must be an async def that awaits what "
            f"it calls, and return {_wanted(objective, len(c))}"
        )
    value, actual = _and_conditions(objective, returned, c)
    return *_finite(_checked(objective, value, len(c)), failures), actual


def _and_conditions(objective: Objective, returned: Any, c: np.ndarray) -> tuple[Any, np.ndarray]:
    """Returns what f returned without conditions, and these as they were, ``[n, conditions]``.

    Where f failed before it said so, they are those that were expected.

    Raises:
        ContractError: it did not return conditions that are observed.
    """
    if not objective.observed or returned is FAILED:
        return returned, c
    *parts, actual = returned if isinstance(returned, tuple) and len(returned) > 1 else (returned, None)
    found = as_array(actual)
    if found.shape != c.shape or found.dtype.kind != "f" or not (np.abs(found) <= 1).all():
        told = f"{shown_name(type(objective))}.__call__ returned {described(returned)}"
        raise ContractError(f"{told}; conditions of shape {c.shape} in [-1, 1], as they were, must come last in it")
    return parts[0] if len(parts) == 1 else tuple(parts), found


def _finite(found: tuple[np.ndarray, np.ndarray], failures: Failures | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns f ``[n]`` and constraints, in which rows that are not finite failed where they may."""
    if failures is None:
        return found
    f, g = found
    failed_rows = ~(np.isfinite(f) & np.isfinite(g).all(axis=1))
    if not failed_rows.any():
        return found
    bad = np.column_stack([f, g])[failed_rows][0]
    failures.note(f"f is {bad[0]}" if not np.isfinite(bad[0]) else f"a constraint of f is {bad[~np.isfinite(bad)][0]}")
    return np.where(failed_rows, FAILED, f), np.where(failed_rows[:, None], FAILED, g)


def _checked(objective: Objective, returned: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns what f returned as float64: f ``[rows]`` and constraints ``[rows, constraints]``.

    Raises:
        ContractError: it is not one real number a row, or does not have the constraints beside it.
    """
    count = objective.constraints
    if not count:
        return _numbers_of(objective, returned, rows), np.empty((rows, 0))
    if returned is FAILED:
        return np.full(rows, FAILED), np.full((rows, count), FAILED)
    told = f"{shown_name(type(objective))}.__call__ returned"
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ContractError(f"{told} {described(returned)}; with constraints = {count} it must return f, g")
    f, beside = returned
    values = [beside] if count == 1 and not isinstance(beside, tuple | list) else list(beside)
    if len(values) != count:
        raise ContractError(f"{told} {len(values)} constraints beside f; it must return {count}")
    return _numbers_of(objective, f, rows), np.stack([_numbers_of(objective, one, rows) for one in values], axis=1)


def _numbers_of(objective: Objective, returned: Any, rows: int) -> np.ndarray:
    """Returns one real number a row as float64, ``[rows]``.

    Raises:
        ContractError: it is not one real number a row.
    """
    values = as_array(returned)
    a_number = values.shape == () and not objective.vectorised
    if not (a_number or values.shape == (rows,)) or values.dtype.kind not in "fiub":
        by_name = hasattr(objective, "described")  # a function of knobs by name, which has no x
        shape = f"x of shape ({rows}, {objective.knobs})"
        asked = (f"{rows} rows" if objective.vectorised else "one point") if by_name else shape
        raise ContractError(
            f"{_name(objective)} returned {described(returned)} for {asked}; it must return {_wanted(objective, rows)}"
        )
    return values.astype(np.float64, copy=False).reshape(rows)


def _name(objective: Objective) -> str:
    """Returns what a message calls f."""
    name = shown_name(type(objective))
    return name if hasattr(objective, "described") else f"{name}.__call__"


def _wanted(objective: Objective, rows: int) -> str:
    """Returns what f must return for so many rows."""
    if objective.vectorised:
        return f"real numbers of shape ({rows},)"
    return "one real number" if hasattr(objective, "described") else "one real number, or shape (1,)"


def as_array(returned: Any) -> np.ndarray:
    """Returns what a user's function returned as an array; one of objects where its parts have different lengths."""
    try:
        return np.asarray(returned)
    except ValueError:
        return np.empty((), object)
