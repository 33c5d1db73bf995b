"""One slot of a run, run again alone and in this process: by the policy that acted in it, on the real environment."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from actors.job import TRAINING, Kind, Task
from actors.pools.failed_slots import FailedSlots
from actors.rollout import Collector
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.errors import UsageError
from env.objectives.returned import Failures
from ppo.algorithm.learner import Learner
from ppo.algorithm.model import make_learner
from ppo.algorithm.not_finite import NotFiniteError
from ppo.config import ResolvedConfig, resolve
from ppo.config.budget import LEAST_CHECK
from ppo.data.rows import row_type, rows_of
from ppo.evaluation.check import rounds_of
from ppo.evaluation.evaluator import make_evaluator
from ppo.training.archiving import RunArchive
from ppo.training.checking import compared
from ppo.training.device import settled
from ppo.training.job import make_job
from ppo.training.resume import imitate_reused, restore
from ppo.training.run_dir import RunDir

CHECKS = frozenset({Kind.CHECK, Kind.CHECK_CONSTANT, Kind.CHECK_MEAN})
OF_NO_RESULT = ("driver", "seconds")
"""Fields of a row that differ from one time to the next."""


@dataclass(frozen=True)
class SlotRun:
    """What a slot gave.

    Attributes:
        trajectory: of the slot alone.
        rows: its rows, as the archive holds them, one for each evaluation or time step.
        recorded: the rows that the archive holds of it; empty where it has none.
        failure: why an evaluation of f failed, the first one, in a run that keeps such; empty for none.
        error: the first exception that f raised in it, in such a run; None for none.
    """

    trajectory: Trajectory
    rows: np.ndarray
    recorded: np.ndarray
    failure: str = ""
    error: BaseException | None = None

    @property
    def other_bits(self) -> list[str]:
        """What differs from the record, ``f of time step 1`` each; the numbers of rows first."""
        if len(self.rows) != len(self.recorded):
            return [f"the number of rows ({len(self.recorded)} recorded)"]
        names = [name for name in self.rows.dtype.names or () if name not in OF_NO_RESULT]
        pairs = zip(self.rows, self.recorded, strict=True)
        return [f"{name} of time step {a['time_step']}" for a, b in pairs for name in names if _bits(a, name, b)]


class FailuresWithError(Failures):
    """Keeps the first exception as well, with all that its traceback holds.

    Attributes:
        error: the exception; None before there is one.
    """

    error: BaseException | None = None

    def note(self, reason: str, error: BaseException | None = None) -> None:
        super().note(reason)
        self.error = self.error or error


def _bits(a: np.void, name: str, b: np.void) -> bool:
    """Returns whether a field of two rows has other bits."""
    return a[name].tobytes() != b[name].tobytes()


def _resolved(files: RunDir, slot: int | None) -> ResolvedConfig:
    """Returns the configuration of a run; for a slot of a check that was made later, with a check that has the slot."""
    given = files.config("RUN_DIR")
    try:
        if slot is not None and not given.check and given.problem().family == "tuning":
            rounds = rounds_of(given.step_limit is not None)
            given = dataclasses.replace(given, check=max(LEAST_CHECK, rounds * (slot + 1)))
        return resolve(given)
    except UsageError as error:
        raise UsageError(f"RUN_DIR {files.shown}: by its config.json, {error}") from None


class SlotOfRun:
    """A slot of a run that may be over, under way or have failed; nothing is written to its directory.

    The policy that acts in a training step comes from the checkpoint where that stands before the step or at it, or
    from the start of the run; the training steps between are learned from again, as ``--resume`` does: in tuning over
    the recorded values of f, and in any other environment by running them again.

    Args:
        files: directory of the run.
        step: training step.
        slot: number of the slot.
        kind: what the slot is run for; None for what the training step learns from.
        run_again: whether training steps may be run again that no archive answers for.

    Attributes:
        task: the slot, as a task.
        tuning: whether it is one of a tuning problem.
        named: names and units of its knobs and conditions; None where they have none.

    Raises:
        UsageError: there is no such slot, or the policy that acts in it cannot be had.
    """

    def __init__(self, files: RunDir, step: int, slot: int, kind: Kind | None, run_again: bool):
        self._files = files
        if step < 0:
            raise UsageError(f"--training-step {step}: must be 0 or more")
        config = _resolved(files, slot if kind in CHECKS else None)
        if config.problem().describe().asked:
            raise UsageError(f"RUN_DIR {files.shown}: its --env {config.env} is a bench, which no slot calls")
        self.tuning = config.problem().family == "tuning"
        if self.tuning and run_again:
            raise UsageError("--from-start: only for an environment that is no tuning problem, whose archive answers")
        config = settled(config, f"RUN_DIR {files.shown}")
        self._job = make_job(config, make_evaluator(config)[1], run_dir=files.path)
        self.named = self._job.description.named
        self._archive = RunArchive(config, self._job, files.path, f"RUN_DIR {files.shown}")
        with threadpool_limits(1, "blas"):  # as in training: more threads may change the last bits
            learner = self._learner(config, step)
            self._learn_until(learner, step, run_again or self.tuning)
            self.task = self._checked(learner, step, slot, kind)
            self._snapshot = self._policy(learner)

    def _learner(self, config: ResolvedConfig, step: int) -> Learner:
        """Returns the learner as near before a training step as it was saved."""
        reused = self._archive.to_imitate()
        learner = make_learner(config, self._job, len(reused))
        restore(learner, self._files, self._saved_before(step), "RUN_DIR")
        imitate_reused(learner, reused)
        return learner

    def _saved_before(self, step: int) -> bool:
        """Returns whether the checkpoint stands before a training step or at it; a damaged one is refused later."""
        if not self._files.checkpoint.exists():
            return False
        counters = self._files.load("RUN_DIR")[0].get("counters", np.zeros(3, np.int64))
        return counters.dtype.kind != "i" or counters.shape != (3,) or int(counters[0]) <= step

    def _learn_until(self, learner: Learner, step: int, allowed: bool) -> None:
        """Learns from all training steps before ``step``."""
        collector: Collector | None = None
        if learner.step < step and not allowed:
            raise UsageError(
                f"--training-step {step}: the checkpoint is not of this step, and outside tuning no archive suffices "
                f"to learn again; --from-start runs {step - learner.step} training steps again in this process"
            )
        while learner.step < step:
            if learner.complete:
                raise UsageError(f"--training-step {step}: the run has only {learner.step} training steps")
            kind, snapshot = learner.kind, learner.round_snapshot()
            if self._job.problem.family == "tuning":
                trajectory = self._archive.played(kind, learner.step, snapshot)
            else:
                collector = collector or Collector(self._job)
                collector.update(snapshot)
                trajectory = collector.run(Task(kind, learner.step, 0, self._job.slots(kind)))
            if trajectory is None:
                raise UsageError(
                    f"--training-step {step}: the archive lacks evaluations of training step {learner.step}, so that "
                    f"the policy of step {step} is not known"
                )
            try:
                learner.learn(trajectory)
            except NotFiniteError as error:
                raise UsageError(f"--training-step {step}: the run stops before it, in {error}") from None
        if collector:
            collector.close()

    def _checked(self, learner: Learner, step: int, slot: int, kind: Kind | None) -> Task:
        """Returns the slot as a task, if the training step has it."""
        if kind is None or kind in TRAINING:
            if learner.complete:
                raise UsageError(
                    f"--training-step {step}: the run has training steps 0 to {step - 1}; after the last one there is "
                    f"only --kind evaluate, check, check_constant or check_mean"
                )
            if kind not in (None, learner.kind):
                raise UsageError(f"--kind {kind.name.lower()}: training step {step} is of {learner.kind.name.lower()}")
            kind = learner.kind
        limited = kind == Kind.CHECK_MEAN and self._job.limit is not None
        none = limited or (kind in CHECKS and self._job.problem.family != "tuning")
        slots = 0 if none else self._job.slots(kind)
        if not 0 <= slot < slots:
            has = f"has slots 0 to {slots - 1}" if slots else "has none"
            raise UsageError(f"--slot {slot}: a round of {kind.name.lower()} {has}")
        return Task(kind, step, slot, slot + 1)

    def _policy(self, learner: Learner) -> Snapshot:
        """Returns what acts in the slot."""
        kind = self.task.kind
        if kind in TRAINING:
            return learner.round_snapshot()
        law = learner.snapshot()
        if kind in (Kind.CHECK_CONSTANT, Kind.CHECK_MEAN):
            return compared(self._job, self._files, law)[kind][1]
        return law

    def run(self) -> SlotRun:
        """Runs the slot. Whatever the environment raises comes through, unless the run keeps it as a failure of f."""
        collector, failures = Collector(self._job), FailuresWithError()
        if collector.failures:
            collector.failures = failures
        collector.update(self._snapshot)
        with threadpool_limits(1, "blas"):
            trajectory = collector.run(self.task)
        collector.close()
        return SlotRun(
            trajectory, self._rows(trajectory), self._archive.rows_of(self.task), failures.first, failures.error
        )

    def without_f(self) -> tuple[Trajectory, np.ndarray]:
        """Returns trajectory and rows of a slot of a tuning problem, in which no value of f is known yet."""
        trajectory = FailedSlots(self._job).trajectory(self.task, self._snapshot)
        return trajectory, self._rows(trajectory)

    def _rows(self, trajectory: Trajectory) -> np.ndarray:
        """Returns the rows of the slot, as the archive would hold them."""
        evaluated = self._job.evaluate_starts
        return rows_of(trajectory, self.task.kind, self.task.step, row_type(self._job), evaluated)
