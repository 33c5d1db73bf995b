"""Evaluates objectives, of whatever kind, and asks them for their optimum: both are checked here, and nowhere else."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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
        f(x, c), ``[n]``; NaN where a constraint is broken.

    Raises:
        ContractError: f did not return a real number for each row.
    """
    found = timed_evaluation(objective, x, c, range(len(x)) if keys is None else keys, failures)
    return kept(found.f, found.g)


def kept(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Returns f ``[...]``, and NaN where one of the constraints ``[..., constraints]`` is broken."""
    return np.where((g > 0).any(axis=-1), np.nan, f) if g.shape[-1] else f


def timed_evaluation(
    objective: Objective, x: np.ndarray, c: np.ndarray, keys: Iterable[int], failures: Failures | None = None
) -> Values:
    """Evaluates f and the constraints, and takes the time; see ``evaluate``.

    A key is taken when the turn of its row comes, and none where all rows are evaluated at once.
    """
    rows = len(x)
    if objective.vectorised:
        started = time.perf_counter()
        f, g, actual = _of_many(objective, x, c, failures)
        return Values(f, g, np.full(rows, (time.perf_counter() - started) / max(rows, 1)), actual)
    x, c = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(c, np.float64)
    actual = c.copy() if objective.observed else c
    found = Values(np.empty(rows), np.empty((rows, objective.constraints)), np.empty(rows), actual)
    with OWN_RANDOMNESS:
        for row, key in zip(range(rows), keys, strict=True):
            set_randomness(key)
            given = {"rng": np.random.default_rng(key)} if objective.takes_rng else {}
            started = time.perf_counter()
            value = _called(objective, x[row : row + 1], c[row : row + 1], given, failures)
            found.seconds[row] = time.perf_counter() - started
            if objective.observed:
                value, actual[row] = _and_conditions(objective, value, c[row : row + 1])
            (found.f[row],), (found.g[row],) = _finite(_checked(objective, value, 1), failures)
    return found


def _of_many(
    objective: Objective, x: np.ndarray, c: np.ndarray, failures: Failures | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns f, constraints and conditions of all rows, asked at once.

    Where that fails they are asked one by one, so that only those fail that do.
    """
    returned = _called(objective, x, c, {}, failures)
    if returned is not FAILED:
        value, actual = _and_conditions(objective, returned, c)
        return *_finite(_checked(objective, value, len(x)), failures), actual
    if len(x) <= 1:
        return np.full(len(x), FAILED), np.full((len(x), objective.constraints), FAILED), c
    rows = range(len(x))
    parts = [_of_many(objective, x[row : row + 1], c[row : row + 1], failures) for row in rows]
    f, g, actual = (np.concatenate(part) for part in zip(*parts, strict=True))
    return f, g, actual


def _and_conditions(objective: Objective, returned: Any, c: np.ndarray) -> tuple[Any, np.ndarray]:
    """Returns what f returned without conditions, and these as they were, ``[n, conditions]``.

    Where f failed before it said so, they are those that were expected.

    Raises:
        ContractError: it did not return conditions that are observed.
    """
    if not objective.observed or returned is FAILED:
        return returned, c
    *parts, actual = returned if isinstance(returned, tuple) and len(returned) > 1 else (returned, None)
    found = _as_array(actual)
    if found.shape != c.shape or found.dtype.kind != "f" or not (np.abs(found) <= 1).all():
        told = f"{shown_name(type(objective))}.__call__ returned {described(returned)}"
        raise ContractError(f"{told}; conditions of shape {c.shape} in [-1, 1], as they were, must come last in it")
    return parts[0] if len(parts) == 1 else tuple(parts), found


def _called(
    objective: Objective, x: np.ndarray, c: np.ndarray, given: dict[str, Any], failures: Failures | None
) -> Any:
    """Returns what f returns, or ``FAILED`` where it raises an exception and may."""
    call: Any = objective
    try:
        return call(x, c, **given)
    except ContractError:  # a mistake in f, and no failure
        raise
    except (Exception, SystemExit) as error:  # Ctrl-C, and what limits the time, are no failures of f
        if failures is None:
            raise
        failures.note(f"{type(error).__name__}: {error}", error)
        return FAILED


def _finite(found: tuple[np.ndarray, np.ndarray], failures: Failures | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns f ``[n]`` and constraints, in which rows that are not finite failed where they may."""
    f, g = found
    failed = ~(np.isfinite(f) & np.isfinite(g).all(axis=1))
    if failures is None or not failed.any():
        return found
    bad = np.column_stack([f, g])[failed][0]
    failures.note(
        f"f is {f[failed][0]}" if not np.isfinite(bad[0]) else f"a constraint of f is {bad[~np.isfinite(bad)][0]}"
    )
    return np.where(failed, FAILED, f), np.where(failed[:, None], FAILED, g)


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
    values = _as_array(returned)
    a_number = values.shape == () and not objective.vectorised
    if not (a_number or values.shape == (rows,)) or values.dtype.kind not in "fiub":
        told, wanted = shown_name(type(objective)), "one real number"
        if hasattr(objective, "described"):  # a function of knobs by name, which has no x
            asked = f"{rows} rows" if objective.vectorised else "one point"
        else:
            told, wanted, asked = (
                f"{told}.__call__",
                f"{wanted}, or shape (1,)",
                f"x of shape ({rows}, {objective.knobs})",
            )
        if objective.vectorised:
            wanted = f"real numbers of shape ({rows},)"
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
