"""Evaluates objectives, of whatever kind, and asks them for their optimum: both are checked here, and nowhere else."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from env.errors import ContractError
from env.importing import shown_name
from env.objectives.base import Objective
from env.randomness import OWN_RANDOMNESS, set_randomness
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


def evaluate(
    objective: Objective,
    x: np.ndarray,
    c: np.ndarray,
    keys: Sequence[int] | None = None,
    failures: Failures | None = None,
) -> np.ndarray:
    """Evaluates f: all rows at once where the objective is ``vectorised``, else one after the other.

    Args:
        objective: the objective f.
        x: knobs, ``[n, knobs]``.
        c: conditions, ``[n, conditions]``.
        keys: for each row the key, 32 bits, of what f draws at random in it (None: the number of the row).
        failures: lets evaluations fail (None: an exception in f ends it).

    Returns:
        f(x, c), ``[n]``.

    Raises:
        ContractError: f did not return a real number for each row.
    """
    return timed_evaluation(objective, x, c, range(len(x)) if keys is None else keys, failures)[0]


def timed_evaluation(
    objective: Objective, x: np.ndarray, c: np.ndarray, keys: Iterable[int], failures: Failures | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns what ``evaluate`` does and the seconds that each row took, ``[n]``; rows of one call share its time.

    A key is taken when the turn of its row comes, and none where all rows are evaluated at once.
    """
    rows = len(x)
    if objective.vectorised:
        started = time.perf_counter()
        values = _of_many(objective, x, c, failures)
        return values, np.full(rows, (time.perf_counter() - started) / max(rows, 1))
    x, c = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(c, np.float64)
    values, seconds = np.empty(rows), np.empty(rows)
    with OWN_RANDOMNESS:
        for row, key in zip(range(rows), keys, strict=True):
            set_randomness(key)
            given = {"rng": np.random.default_rng(key)} if objective.takes_rng else {}
            started = time.perf_counter()
            value = _called(objective, x[row : row + 1], c[row : row + 1], given, failures)
            seconds[row] = time.perf_counter() - started
            values[row] = _finite(_checked(objective, value, 1), failures)[0]
    return values, seconds


def _of_many(objective: Objective, x: np.ndarray, c: np.ndarray, failures: Failures | None) -> np.ndarray:
    """Returns f of all rows, asked at once; one by one where that fails, so that only those that fail do."""
    returned = _called(objective, x, c, {}, failures)
    if returned is not FAILED:
        return _finite(_checked(objective, returned, len(x)), failures)
    if len(x) <= 1:
        return np.full(len(x), FAILED)
    rows = range(len(x))
    return np.concatenate([_of_many(objective, x[row : row + 1], c[row : row + 1], failures) for row in rows])


def _called(
    objective: Objective, x: np.ndarray, c: np.ndarray, given: dict[str, Any], failures: Failures | None
) -> Any:
    """Returns what f returns, or ``FAILED`` where it raises an exception and may."""
    call: Any = objective
    try:
        return call(x, c, **given)
    except (Exception, SystemExit) as error:  # Ctrl-C, and what limits the time, are no failures of f
        if failures is None:
            raise
        failures.note(f"{type(error).__name__}: {error}", error)
        return FAILED


def _finite(values: np.ndarray, failures: Failures | None) -> np.ndarray:
    """Returns values ``[n]``, in which those that are not finite failed where they may."""
    failed = ~np.isfinite(values)
    if failures is None or not failed.any():
        return values
    failures.note(f"f is {values[failed][0]}")
    return np.where(failed, FAILED, values)


def _checked(objective: Objective, returned: Any, rows: int) -> np.ndarray:
    """Returns what f returned as float64, ``[rows]``.

    Raises:
        ContractError: it is not one real number a row.
    """
    values = _as_array(returned)
    a_number = values.shape == () and not objective.vectorised
    if not (a_number or values.shape == (rows,)) or values.dtype.kind not in "fiub":
        wanted = f"real numbers of shape ({rows},)" if objective.vectorised else "one real number, or shape (1,)"
        told = shown_name(type(objective)) + ("" if hasattr(objective, "described") else ".__call__")
        asked = f"x of shape ({rows}, {objective.knobs})"
        raise ContractError(f"{told} returned {described(returned)} for {asked}; it must return {wanted}")
    return values.astype(np.float64, copy=False).reshape(rows)


def _as_array(returned: Any) -> np.ndarray:
    """Returns what a user's function returned as an array; one of objects where its parts have different lengths."""
    try:
        return np.asarray(returned)
    except ValueError:
        return np.empty((), object)


def solution(objective: Objective, c: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns what ``Objective.solve`` does, checked.

    Args:
        objective: the objective f.
        c: conditions, ``[m, conditions]``.

    Returns:
        Best knobs ``[m, knobs]`` and their f ``[m]``, both finite; None where the optimum is not known.

    Raises:
        ContractError: ``solve`` returned anything else.
    """
    solved = objective.solve(c)
    if solved is None:
        return None
    told = f"--env {shown_name(type(objective))}: solve(c) for c of shape {c.shape}"
    wanted = f"must return knobs of shape {(len(c), objective.knobs)} and their f of shape {(len(c),)}"
    if not isinstance(solved, tuple | list) or len(solved) != 2:
        raise ContractError(f"{told} returned {described(solved)}; it {wanted}, or None")
    x, f = map(_as_array, solved)
    if (x.shape, f.shape) != ((len(c), objective.knobs), (len(c),)):
        raise ContractError(f"{told} returned knobs of shape {x.shape} and f of shape {f.shape}; it {wanted}")
    for name, values in (("knobs", x), ("f", f)):
        if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise ContractError(f"{told} returned {name} that are not all finite numbers; it {wanted}, all finite")
    return x.astype(np.float64, copy=False), f.astype(np.float64, copy=False)
