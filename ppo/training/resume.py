"""What a training starts from: nothing, an interrupted run's checkpoint, or a finished run's parameters."""

import pathlib
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from env.errors import UsageError
from ppo.algorithm.learner import Learner
from ppo.config import Config
from ppo.config.fields import flag
from ppo.data.archive import NAME
from ppo.training.run_dir import RunDir


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
            except UsageError as error:
                hint = f"; without checkpoint.npz the run goes on from {NAME}" if archived else ""
                raise UsageError(f"{error}{hint}") from None
            learner.restore(state)
            return meta
    if learner.config.warm_start is not None:
        source = RunDir(pathlib.Path(learner.config.warm_start))
        learner.warm_start(_state_for(learner, source, source.config("--warm-start"), "--warm-start")[0])
    return {}


def imitate_reused(learner: Learner, reused: np.ndarray) -> None:
    """Lets a run that has not begun start from evaluations made before, rows of the archive ``[n]``."""
    if len(reused) and learner.step == 0:
        with threadpool_limits(1, "blas"):  # as in training: more threads may change the last bits
            learner.imitate(reused["x"], reused["c"], reused["f"])


def _state_for(learner: Learner, source: RunDir, theirs: Config, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Loads the checkpoint of a run with configuration ``theirs``, and checks that the learner can use it.

    Messages name the flag ``name``.
    """
    state, meta = source.load(name)
    if not learner.accepts(state):
        raise UsageError(
            f"{name} {source.path}: its networks do not have the shapes that this run's have, or another version of "
            f"this program wrote its checkpoint"
        )
    for field in ("activation", "norm_obs"):
        if getattr(theirs, field) != getattr(learner.config, field):
            raise UsageError(
                f"{name} {source.path}: was trained with {flag(field)} {getattr(theirs, field)}, and this run has "
                f"{getattr(learner.config, field)}"
            )
    return state, meta
