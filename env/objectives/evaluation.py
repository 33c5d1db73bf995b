"""Evaluates objectives, of whatever kind, and asks them for their optimum: both are checked here, and nowhere else."""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing

import numpy as np

from env.errors import ContractError
from env.importing import shown_name
from env.objectives.base import Objective
from env.objectives.returned import FAILED, Failures, Values, as_array, called, values_of
from env.objectives.under_way import UnderWay
from env.randomness import OWN_RANDOMNESS, set_randomness
from env.words import described


def evaluate(
    objective: Objective,
    x: np.ndarray,
    c: np.ndarray,
    keys: Sequence[int] | None = None,
    failures: Failures | None = None,
) -> np.ndarray:
    """Evaluates f: in one call where the objective is ``vectorised``, side by side where it waits, else in turn.

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
    found = Values(np.empty(rows), np.empty((rows, objective.constraints)), np.empty(rows), c.copy())
    with OWN_RANDOMNESS:
        evaluate_rows = _side_by_side if objective.waits else _in_turn
        evaluate_rows(objective, x, c, keys, failures, found)
    return found


def _in_turn(
    objective: Objective, x: np.ndarray, c: np.ndarray, keys: Iterable[int], failures: Failures | None, found: Values
) -> None:
    """Evaluates one row after the other."""
    for row, key in zip(range(len(x)), keys, strict=True):
        set_randomness(key)
        given = {"rng": np.random.default_rng(key)} if objective.takes_rng else {}
        started = time.perf_counter()
        returned = called(objective, x[row : row + 1], c[row : row + 1], given, failures)
        found.seconds[row] = time.perf_counter() - started
        f, g, actual = values_of(objective, returned, c[row : row + 1], failures)
        found.f[row], found.g[row] = f[0], g[0]
        if objective.observed:
            found.c[row] = actual[0]


def _side_by_side(
    objective: Objective, x: np.ndarray, c: np.ndarray, keys: Iterable[int], failures: Failures | None, found: Values
) -> None:
    """Evaluates as many rows at once as may be, each as soon as there is room for it."""
    rows, keys, begun = len(x), list(keys), 0
    set_randomness(keys[0] if keys else 0)  # all rows draw from it
    with closing(UnderWay(objective, failures)) as under_way:
        while begun < rows or under_way.count:
            end = min(rows, begun + (objective.at_once or rows) - under_way.count)
            under_way.begin(np.arange(begun, end), x[begun:end], c[begun:end], keys[begun:end])
            begun = end
            ended, values = under_way.ended()
            for whole, part in zip(found, values, strict=True):
                whole[ended] = part


def _of_many(
    objective: Objective, x: np.ndarray, c: np.ndarray, failures: Failures | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns f, constraints and conditions of all rows, asked at once.

    Where that fails they are asked one by one, so that only those fail that do.
    """
    returned = called(objective, x, c, {}, failures)
    if returned is not FAILED:
        return values_of(objective, returned, c, failures)
    if len(x) <= 1:
        return np.full(len(x), FAILED), np.full((len(x), objective.constraints), FAILED), c
    rows = range(len(x))
    parts = [_of_many(objective, x[row : row + 1], c[row : row + 1], failures) for row in rows]
    f, g, actual = (np.concatenate(part) for part in zip(*parts, strict=True))
    return f, g, actual


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
    x, f = map(as_array, solved)
    if (x.shape, f.shape) != ((len(c), objective.knobs), (len(c),)):
        raise ContractError(f"{told} returned knobs of shape {x.shape} and f of shape {f.shape}; it {wanted}")
    for name, values in (("knobs", x), ("f", f)):
        if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise ContractError(f"{told} returned {name} that are not all finite numbers; it {wanted}, all finite")
    return x.astype(np.float64, copy=False), f.astype(np.float64, copy=False)
