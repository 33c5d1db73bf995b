"""What a training starts from: nothing, an interrupted run's checkpoint, or a finished run's parameters."""

import json
import pathlib
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from env.errors import UsageError
from ppo.algorithm.learner import Learner
from ppo.config import Config, ResolvedConfig
from ppo.config.fields import flag
from ppo.data.archive import NAME
from ppo.data.rows import constraints_of
from ppo.processor import LEVEL, kernels
from ppo.training.run_dir import RunDir
from ppo.training.soundness import changed_field, counters_flaw, flaw, meta_flaw, result_fields


class ChangedConfigError(UsageError):
    """A run is to go on with another configuration than it was begun with."""


def restore(learner: Learner, files: RunDir, resume: bool, name: str = "--resume") -> dict[str, Any]:
    """Restores a checkpoint, or a finished run's parameters, where asked to.

    A run without a checkpoint starts again: a training step is a pure function of the configuration and of what the
    archive holds, so it ends in the same bits. Messages call the run that is resumed ``name``.

    Returns:
        The checkpoint's values beside the learner's state; empty where no run is resumed.

    Raises:
        UsageError: there is no run to resume or to start from, or it does not suit the configuration.
    """
    if resume:
        theirs = files.config(name)  # refuses what is no run directory
        archived = (files.path / NAME).is_file() and learner.config.problem().family == "tuning"
        if files.checkpoint.exists() or (files.summary() is not None and not archived):
            try:
                state, meta = _state_for(learner, files, theirs, name)
                _take_up(learner, state, files)
            except ChangedConfigError:
                raise
            except UsageError as error:
                hint = f"; without checkpoint.npz the run goes on from {NAME}" if archived else ""
                raise UsageError(f"{error}{hint}") from None
            return meta
        _check_same(learner, files, name)
    if learner.config.warm_start is not None:
        source = RunDir(pathlib.Path(learner.config.warm_start))
        learner.warm_start(_state_for(learner, source, source.config("--warm-start"), "--warm-start")[0])
    return {}


def check_taken_up(config: ResolvedConfig, files: RunDir, reused: np.ndarray) -> None:
    """Checks that a run may go on with another ``--on-failure`` than it had so far.

    Args:
        config: what it is to go on with.
        files: directory of the run.
        reused: evaluations that it started from, rows of the archive ``[n]``.

    Raises:
        UsageError: it may not.
    """
    told = f"--on-failure {config.on_failure}: --resume {files.shown}"
    if config.on_failure == files.config().on_failure:
        return
    if config.on_failure == "stop":
        raise UsageError(f"{told} keeps what failed, and goes on so")
    if config.model != "none" and reused["failed"].any():
        raise UsageError(
            f"{told} has a model that was not told of the failures among what it reused; begin a new run with "
            f"--reuse {files.shown}"
        )


def imitate_reused(learner: Learner, reused: np.ndarray) -> None:
    """Lets a run that has not begun start from evaluations made before, rows of the archive ``[n]``."""
    if len(reused) and learner.step == 0:
        with threadpool_limits(1, "blas"):  # as in training: more threads may change the last bits
            learner.imitate(reused["x"], reused["c"], reused["f"], constraints_of(reused))


def _state_for(learner: Learner, source: RunDir, theirs: Config, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Loads the checkpoint of a run with configuration ``theirs``, and checks that the learner can use it.

    Messages name the flag ``name``.
    """
    state, meta = source.load(name)
    if wrong := meta_flaw(meta):
        raise _damaged(name, source, wrong)
    if name == "--resume":
        _check_kernels(meta.get("kernels"), source)
        _check_unchanged(meta.get("config") or {}, learner, source)
    for field, otherwise in (("activation", None), ("norm_obs", None), ("std", "state")):
        then, now = (_or_else(getattr(config, field, None), otherwise) for config in (theirs, learner.config))
        if then != now:
            raise UsageError(f"{name} {source.shown}: was trained with {flag(field)} {then}, and this run has {now}")
    if not learner.accepts(state):
        raise UsageError(
            f"{name} {source.shown}: its networks do not have the shapes that this run's have, or another version of "
            f"this program wrote its checkpoint"
        )
    if wrong := flaw(state, learner) or (counters_flaw(state, learner.config) if name == "--resume" else ""):
        raise _damaged(name, source, wrong)
    return state, meta


def _or_else(value: Any, otherwise: Any) -> Any:
    """Returns a field's value, or what stands for it where it is not used, or was not there when the run was begun."""
    return otherwise if value is None else value


def _take_up(learner: Learner, state: dict[str, Any], source: RunDir) -> None:
    """Restores a learner; what a model adds to a state has no shapes that could be compared before."""
    try:
        learner.restore(state)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise _damaged("--resume", source, f"{type(error).__name__}: {error}") from None


def _check_unchanged(before: dict[str, Any], learner: Learner, source: RunDir) -> None:
    """Checks that a run goes on with the configuration that it was begun with; older checkpoints do not tell."""
    now = result_fields(learner.config)
    if before.get("on_failure") == "stop":  # nothing has failed so far
        before = before | {"on_failure": now["on_failure"]}
    if (name := changed_field(before, now)) is not None:
        raise ChangedConfigError(
            f"--resume {source.shown}: {flag(name)} was {json.dumps(before[name])} when the run was begun, and its "
            f"config.json now has {json.dumps(now[name])}; change it back, or begin a new run with --config"
        )


def _check_same(learner: Learner, files: RunDir, name: str) -> None:
    """Checks that a run without a checkpoint begins again with the configuration of its ``config.json``."""
    before, now = files.read_json("config.json") or {}, result_fields(learner.config)
    for other in ("on_failure", "check"):  # the one is checked elsewhere, and the other comes after the training
        now.pop(other)
    if (field := changed_field(before, now)) is not None:
        raise ChangedConfigError(
            f"{name} {files.shown}: its config.json has {flag(field)} {json.dumps(before[field])}, and it was to go on "
            f"with {json.dumps(now[field])}"
        )


def _check_kernels(before: Any, source: RunDir) -> None:
    """Checks that a run goes on with the kernels that it was begun with; older checkpoints do not tell."""
    if before in (None, now := kernels()):
        return
    first, then = ("tuninglaw", "NumPy") if before == LEVEL else ("NumPy", "tuninglaw")
    raise ChangedConfigError(
        f"--resume {source.shown}: was begun with {before} kernels, and this process has {now} ones, which end in "
        f"other bits; go on from a program that imports {first} before {then}"
    )


def _damaged(name: str, source: RunDir, what: str) -> UsageError:
    return UsageError(f"{name} {source.shown}: checkpoint.npz is damaged ({what})")
