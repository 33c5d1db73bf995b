"""The check of a law on the drivers of a run: paid for, kept in the archive, and played back when asked for again."""

import functools
from collections.abc import Generator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from actors.job import Job, Kind
from actors.policy import Policy
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.errors import UsageError
from env.objectives.evaluation import kept
from ppo.algorithm.outcomes import merits
from ppo.config import ResolvedConfig
from ppo.data.archive import NAME
from ppo.data.rows import constraints_of
from ppo.evaluation.check import Check, compare, constant_snapshot, mean_knobs
from ppo.evaluation.constants import estimated_best_constant
from ppo.training.archiving import RunArchive
from ppo.training.evaluated import training_rows
from ppo.training.job import configured_pool, make_job
from ppo.training.rounds import Rounds
from ppo.training.run_dir import RunDir
from ppo.training.step import WantedRound
from ppo.training.timing import Timing


def checked(rounds: Rounds, job: Job, files: RunDir, snapshot: Snapshot) -> Generator[WantedRound, Any, Check]:
    """Evaluates f under a law and under two constant knobs, or the start law, at the same conditions.

    Yields each round that it waits for, and is sent its trajectory.

    Args:
        rounds: keeps what was evaluated.
        job: the job of the run, with the states of the check.
        files: directory of the run.
        snapshot: the law.
    """
    assert job.check_starts is not None, "the job has a check"
    rounds.sync()
    law = _last((yield WantedRound(Kind.CHECK, snapshot.version, lambda: snapshot)))
    constants = []
    for kind, (knobs, other) in compared(job, files, snapshot).items():
        constants.append((knobs, _last((yield WantedRound(kind, snapshot.version, functools.partial(_itself, other))))))
    return compare(law, constants, job.description.constraints > 0)


def _itself(snapshot: Snapshot) -> Snapshot:
    return snapshot


def _last(trajectory: Trajectory) -> np.ndarray:
    """Returns f after the last time step of each slot, ``[n]``; NaN where it failed or a constraint is broken.

    It is infinite where it was asked and not measured.
    """
    return kept(trajectory.objectives[:, -1], trajectory.constraints[:, -1]).copy()


def compared(job: Job, files: RunDir, snapshot: Snapshot) -> dict[Kind, tuple[tuple[float, ...], Snapshot]]:
    """Returns what a law is compared with by the kind of its round: constant knobs and the policy that gives them.

    They are the best constant knobs by a model of what the run evaluated, and the mean of the law's. Where knobs may
    not be far from those of a start law, it is that one, which has no constant knobs.
    """
    if job.limit is not None:
        return {Kind.CHECK_CONSTANT: ((), snapshot)}  # drivers know the start law
    x, c, f = paid_before(files, snapshot.version, job.keep_failures)
    best = estimated_best_constant(x, c, f, job.description.knob_steps)
    constants = {Kind.CHECK_CONSTANT: best, Kind.CHECK_MEAN: Policy(snapshot).valid(mean_knobs(snapshot))}
    return {kind: (tuple(x.tolist()), constant_snapshot(snapshot, x)) for kind, x in constants.items()}


def paid_before(files: RunDir, step: int, keep_failures: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns knobs, conditions and values that a run had evaluated for training step ``step``, in their order.

    Whatever breaks a constraint has a worse value than all that does not.

    Evaluations that failed are left out.
    """
    rows = training_rows(files, keep_failures)
    rows = rows[~rows["failed"] & (rows["step"] < step)]
    f, g = rows["f"], constraints_of(rows)
    return rows["x"], rows["c"], merits(f, g) if g.shape[1] else f


def check_later(config: ResolvedConfig, files: RunDir, snapshot: Snapshot) -> Check:
    """Checks the law of a run that is not being trained, with ``config.check`` evaluations.

    Raises:
        UsageError: the run has no archive to keep the evaluations in, or it is damaged.
    """
    if not (files.path / NAME).is_file():
        raise UsageError(f"RUN_DIR {files.shown}: there is no {NAME} in it, in which the evaluations would be kept")
    job = make_job(config, None, run_dir=files.path)
    archive = RunArchive(config, job, files.path, f"RUN_DIR {files.shown}")
    with (
        threadpool_limits(1, "blas"),  # as in a training, so that the constant knobs have the same bits
        configured_pool(job, config) as pool,
        archive.recording(lambda kind, evaluations: None) as recorder,
    ):
        rounds = Rounds(pool, job, recorder, Timing())
        return rounds.through(checked(rounds, job, files, snapshot))
