"""The rows of an archive: one for each evaluation of a tuning problem, or each time step of any other environment."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from actors.job import SAMPLED, Job, Kind
from actors.trajectory import Trajectory

REUSED, LATE = 0, 100
"""Kinds of a row that was copied from elsewhere, and of one that was told after its round was closed; the others are
those of ``actors.job.Kind``."""
SKIPPED = np.inf
"""The value of a point that was asked and not measured, in a row that failed."""
KIND_NAMES = {REUSED: "reused", LATE: "late"} | {kind.value: kind.name.lower() for kind in Kind}
KEY = ("kind", "step", "slot", "time_step")


def kind_name(kind: int) -> str:
    """Returns the name of a row's kind; of one that this version does not know, its number."""
    return KIND_NAMES.get(kind, f"kind_{kind}")


def key_name(row: np.void) -> str:
    """Returns the name of a row's key, such as ``plan-3-7``: its kind, training step, slot, and time step after 1."""
    parts = [kind_name(int(row["kind"])), *(int(row[name]) for name in KEY[1:])]
    return "-".join(map(str, parts if parts[-1] != 1 else parts[:-1]))


def in_order(rows: np.ndarray) -> np.ndarray:
    """Returns rows in the order of their keys; those with the same key in the order in which they were written."""
    return rows[np.lexsort([rows[name] for name in reversed(KEY)])]


def accepted(rows: np.ndarray, keep_failures: bool = False) -> np.ndarray:
    """Returns the rows that a run learns from, in the order of their keys.

    A slot that was run again, since a value was not finite or a driver was taken for lost, has several copies. The
    first one without a failure counts, whole: its time steps belong together.

    Args:
        rows: rows of the archive.
        keep_failures: whether the first one of all counts where none is without a failure, as it does in the run.
    """
    ordered = in_order(rows)
    position = np.arange(len(ordered))
    first = np.maximum.accumulate(np.where(differs_from_last(ordered, KEY), position, 0)) if len(ordered) else position
    copy = position - first
    order = np.lexsort([ordered["time_step"], copy, ordered["slot"], ordered["step"], ordered["kind"]])
    ordered, copy = ordered[order], copy[order]
    new_slot = differs_from_last(ordered, KEY[:3])
    group = np.cumsum(new_slot | np.append(True, copy[1:] != copy[:-1])[: len(copy)]) - 1
    slot = np.cumsum(new_slot) - 1
    counts = (np.bincount(group, ordered["failed"]) == 0)[group]
    if keep_failures:
        counts |= (np.bincount(slot, counts) == 0)[slot]
    ordered, group = ordered[counts], group[counts]
    leading = np.maximum.accumulate(np.where(differs_from_last(ordered, KEY[:3]), group, 0)) if len(group) else group
    return ordered[group == leading]


def differs_from_last(rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Returns for each row whether any of these fields differs from that of the row before; True for the first."""
    differs = np.zeros(len(rows), bool)
    differs[:1] = True
    for name in names:
        differs[1:] |= rows[name][1:] != rows[name][:-1]
    return differs


def values_of(rows: np.ndarray, asked: bool) -> np.ndarray:
    """Returns f in rows as a run that keeps failures has it: NaN where it failed, whatever was returned there.

    Args:
        rows: rows of the archive.
        asked: whether the points were asked; those that were skipped stay ``SKIPPED`` then.
    """
    failed = rows["failed"] & ~(rows["f"] == SKIPPED) if asked else rows["failed"]
    return np.where(failed, np.nan, rows["f"])


def constraints_of(rows: np.ndarray) -> np.ndarray:
    """Returns the values of the constraints in rows, ``[n, constraints]``; of no constraints where there are none."""
    return rows["g"] if "g" in (rows.dtype.names or ()) else np.empty((len(rows), 0))


def row_type(job: Job) -> np.dtype:
    """Returns the type of a row.

    For a tuning problem it holds knobs ``x``, conditions ``c``, the value ``f``, those of constraints ``g`` if there
    are any, the ``seconds`` that it took, and whether it ``failed`` (was not finite); for any other environment the raw
    observation ``obs``, the ``action`` as sampled, the ``reward``, and whether the episode was ``terminated`` or
    ``truncated``.
    """
    described = job.description
    head: list[Any] = [("kind", "u1"), ("step", "<i8"), ("slot", "<i4"), ("time_step", "<i4")]
    if job.problem.family == "tuning":
        knobs = described.action_dim
        state: list[Any] = [("x", "<f8", (knobs,)), ("c", "<f8", (described.obs_dim - knobs,)), ("f", "<f8")]
        beside = [("g", "<f8", (described.constraints,))] if described.constraints else []
        return np.dtype([*head, *state, *beside, ("seconds", "<f4"), ("driver", "<i4"), ("failed", "?")])
    state = [("obs", "<f8", (described.obs_dim,)), ("action", "<f8", (described.action_dim,)), ("reward", "<f8")]
    return np.dtype([*head, *state, ("driver", "<i4"), ("terminated", "?"), ("truncated", "?")])


def rows_of(trajectory: Trajectory, kind: Kind, step: int, kind_of_row: np.dtype, starts_evaluated: bool) -> np.ndarray:
    """Returns the rows of a trajectory, ``[n * per_slot]``, in the order of slots and time steps.

    Args:
        trajectory: the trajectory.
        kind: what its slots were run for.
        step: training step.
        kind_of_row: what ``row_type`` returned.
        starts_evaluated: whether f of the starts was evaluated; it is time step 0 then.
    """
    tuning = "f" in (kind_of_row.names or ())
    first = int(not (starts_evaluated and kind in SAMPLED)) if tuning else 0
    columns = trajectory.rewards.shape[1] + int(tuning) - first
    rows = np.empty((len(trajectory), columns), kind_of_row)
    rows["kind"], rows["step"] = kind, step
    rows["slot"], rows["driver"] = trajectory.slots[:, None], trajectory.drivers[:, None]
    rows["time_step"] = np.arange(first, first + columns)
    if tuning:
        _set_evaluations(rows, trajectory, first)
    else:
        rows["obs"], rows["action"], rows["reward"] = trajectory.obs, trajectory.actions, trajectory.rewards
        rows["terminated"], rows["truncated"] = trajectory.terminations, trajectory.truncations
    return rows.reshape(-1)


def _set_evaluations(rows: np.ndarray, trajectory: Trajectory, first: int) -> None:
    """Fills in states and values; ``first`` is 0 where the starts were evaluated, else 1."""
    knobs = rows.dtype["x"].shape[0]  # actions may name a component too
    states = trajectory.final_obs
    if first == 0:
        states = np.concatenate([trajectory.obs[:, :1], states], axis=1)
    rows["x"], rows["c"] = states[..., :knobs], states[..., knobs:]
    rows["f"], rows["seconds"] = trajectory.objectives[:, first:], trajectory.seconds[:, first:]
    rows["failed"] = ~np.isfinite(rows["f"])
    if "g" in (rows.dtype.names or ()):
        rows["g"] = trajectory.constraints[:, first:]
        rows["failed"] |= ~np.isfinite(rows["g"]).all(axis=2)
