"""Whether a checkpoint holds what a learner can hold: types, finite values, and counts within their ranges."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ppo.algorithm.state import State
from ppo.config import ResolvedConfig
from ppo.config.command_line import WHERE_IT_RUNS

if TYPE_CHECKING:
    from ppo.algorithm.learner import Learner

NEVER_NEGATIVE = ("counters", "steps", "count", "exp_avg_sq", "square", "m2", "imagined", "collected", "finished_at")
"""Arrays, by the last part of their names, that count something or are means of squares."""

OUT_OF_USE = "remembered.means"
"""Infinite for components that are not in use."""


def flaw(state: State, learner: "Learner") -> str:
    """Returns what is wrong with the content of a state whose arrays have the learner's names and shapes, or nothing.

    Args:
        state: what a checkpoint holds.
        learner: one of the same configuration.
    """
    ours = learner.state()
    for name, array in state.items():
        like = ours[name] if name in ours and ours[name].size else array  # what a model has not filled yet has no type
        if array.dtype.kind not in "biuf" or array.dtype.kind != like.dtype.kind:
            return f"{name} is of type {array.dtype}"
        if np.isnan(array).any() or (name != OUT_OF_USE and np.isinf(array).any()):
            return f"{name} is not finite"
        if name.rpartition(".")[2] in NEVER_NEGATIVE and (array < 0).any():
            return f"{name} is negative"
    return _taken_flaw(state)


def _taken_flaw(state: State) -> str:
    """Returns what is wrong with the evaluations that a model takes, or nothing."""
    rows, count = state.get("surrogate.evidence.rows"), state.get("surrogate.evidence.count")
    if rows is None or count is None:
        return ""
    if int(count) > len(rows):
        return "surrogate.evidence.count is too large"
    taken = [array for name, array in state.items() if name.endswith(".taken") and array.size]
    absent = any((array < 0).any() or (array >= int(count)).any() for array in taken)
    return "the model takes evaluations that are not there" if absent else ""


def counters_flaw(state: State, config: ResolvedConfig) -> str:
    """Returns which count is larger than it can be in a run with this configuration, or nothing."""
    (step, _, evaluations), budget = state["counters"].tolist(), config.evaluations
    rounds = budget if budget and config.model != "none" else config.training_steps
    if step > rounds:
        return f"it stands at training step {step}, of {rounds} at the most"
    return f"it counts {evaluations} evaluations, of {budget}" if budget and evaluations > budget else ""


def meta_flaw(meta: Any) -> str:
    """Returns what is wrong with the values beside the state, or nothing."""
    if not isinstance(meta, dict):
        return "meta is no object"
    for part in ("timing", "open", "config"):
        if not isinstance(meta.get(part) or {}, dict):
            return f"{part} is {meta[part]}"
    for name, seconds in (meta.get("timing") or {}).items():
        if not _is_number(seconds) or seconds < 0:
            return f"timing {name} is {seconds}"
    for name in ("eval_evaluations", "driver_restarts", "skipped_steps", "failed_evaluations", "archive_bytes"):
        if not _is_count(meta.get(name, 0)):
            return f"{name} is {meta[name]}"
    scalars = (meta.get("open") or {}).values()
    return "" if all(isinstance(value, int | float) for value in scalars) else "open holds what is no number"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def result_fields(config: ResolvedConfig) -> dict[str, Any]:
    """Returns the fields of a configuration that a result so far depends on, as JSON has them."""
    without = {*WHERE_IT_RUNS, "on_nan"}
    return {name: value for name, value in json.loads(config.to_json()).items() if name not in without}


def changed_field(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Returns the first field that both configurations have, and have differently."""
    return next((name for name, value in before.items() if name in now and now[name] != value), None)
