"""The training loop as an iterator.

    with Trainer(resolve(config), "runs/mine") as trainer:
        for step in trainer:
            print(step.number, step.score)
        summary = trainer.finish()

One training step, from top to bottom of ``Trainer.__next__``:

    snapshot ---> drivers roll out slots ---> merge -------------> learner.learn ---> next snapshot
     (learner)     (pools, rollout)            (actors.trajectory)  (learner, agent)
"""

import contextlib
import dataclasses
import pathlib
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import torch
from threadpoolctl import threadpool_limits

from actors.job import TRAINING, Kind
from actors.pools.factory import make_pool
from actors.profiling import profiled
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.errors import UsageError
from ppo.algorithm.model import make_learner
from ppo.config import ResolvedConfig
from ppo.evaluation.check import ROUNDS, Check
from ppo.evaluation.evaluator import make_evaluator
from ppo.evaluation.regret import known_regret
from ppo.training.archiving import RunArchive
from ppo.training.checking import run_check
from ppo.training.job import make_job
from ppo.training.progress import Progress, Tracker, table
from ppo.training.resources import Resources
from ppo.training.resume import restore
from ppo.training.rounds import Rounds
from ppo.training.run_dir import Row, RunDir, check_free
from ppo.training.timing import Timing


@dataclass(frozen=True)
class TrainingStep:
    """What one training step gave.

    Attributes:
        number: training steps done.
        score: of the evaluation after it, by the evaluator's metric; None where there was none.
        scalars: losses and other scalars to log, by name.
    """

    number: int
    score: float | None
    scalars: dict[str, float]


class Trainer:
    """A training run: iterate over its training steps inside its context, in which its drivers live.

    Nothing is written before the drivers are up, so that a mistake leaves nothing behind. Leaving the context before
    the last training step, by ``break`` or by an exception, writes a checkpoint of the last complete step.

    Args:
        config: what to train.
        run_dir: directory of the run.
        resume: go on from what it holds.
        track: write TensorBoard events.
        quiet: show no progress.
        profile: write profiles of the learner and of driver processes.
        collect_without_normaliser: leave the observation normaliser out of the snapshots that drivers collect with,
            the thesis's failure.

    Attributes:
        learner: the state of the training.
        timing: where its time goes.
        files: the run directory.
        rounds: runs and records the rounds of slots.

    Raises:
        UsageError: a setting that cannot work.
    """

    def __init__(
        self,
        config: ResolvedConfig,
        run_dir: str | pathlib.Path,
        *,
        resume: bool = False,
        track: bool = False,
        quiet: bool = False,
        profile: bool = False,
        collect_without_normaliser: bool = False,
    ):
        self.config, self.files, self.quiet = config, RunDir(run_dir), quiet
        if not resume:
            check_free(self.files.path)
        self._resume, self._without_normaliser = resume, collect_without_normaliser
        torch.set_num_threads(config.torch_threads)
        self.evaluator, eval_starts = make_evaluator(config)
        self.job = make_job(config, eval_starts, str(self.files.path.absolute()) if profile else None)
        self._archive = RunArchive(config, self.job, self.files.path, f"--resume {run_dir}" if resume else None)
        reused = self._archive.to_imitate()
        self.learner = make_learner(config, self.job, len(reused))
        self._tracker, self._resources = Tracker(track), Resources()
        self._meta = restore(self.learner, self.files, resume)
        if not self.complete:
            self._archive.check_whole(self.learner.step)
        if len(reused) and self.learner.step == 0:
            with threadpool_limits(1, "blas"):  # as in the context: more threads may change the last bits
                self.learner.imitate(reused["x"], reused["c"], reused["f"])
        self._eval_evaluations = int(self._meta.get("eval_evaluations", 0))
        self._choice_shown = False

    def __enter__(self) -> Self:
        config = self.config
        with contextlib.ExitStack() as stack:
            # One thread, as in the drivers: for matrices of this size more of them only get in each other's way.
            stack.enter_context(threadpool_limits(1, "blas"))
            pool = make_pool(self.job, config.drivers, config.backend, config.driver_timeout)
            self.pool = stack.enter_context(pool)
            if not self._resume:
                self.files.create(config)
            self._progress = Progress(config, self.learner, self.evaluator.column, self.quiet)
            if self._archive.too_few:
                self._progress.message(self._archive.too_few)
            recorder = stack.enter_context(self._archive.recording(self._progress.paid))
            if self._resume:  # only now, since opening the archive tells whether another process is at it
                self.files.rewind(self.learner.step)
            stack.enter_context(profiled(f"{self.job.profile}/profile.txt" if self.job.profile else None))
            stack.callback(self._progress.close)
            stack.callback(self._tracker.close)
            self._open = stack.pop_all()
        self.timing = Timing(self._meta.get("timing"))
        self.rounds = Rounds(pool, self.job, recorder, self.timing, int(self._meta.get("failed_evaluations", 0)))
        self._saved_at, self._saved_step, self._between_steps = time.monotonic(), self.learner.step, True
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._open:
            # What the state holds is sound unless a step was cut short after the learner had begun to change it.
            if self._between_steps and self.learner.step > self._saved_step:
                self.timing.begin_step()  # what has passed since the last step was the caller's time
                with contextlib.suppress(*([UsageError] if error else [])):  # what ended the run is what to say
                    self._save()

    @property
    def complete(self) -> bool:
        """Whether all training steps are done."""
        return self.learner.complete

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TrainingStep:
        """Broadcasts, collects, trains, and evaluates when it is time.

        Raises:
            DriverError: a driver raised an exception (its cause), or a slot cannot be run.
            FloatingPointError: the environment or the update gave a value that is not finite.
        """
        if self.complete:
            raise StopIteration
        self.timing.begin_step()
        trajectory = self._round(self.learner.kind)
        self._between_steps = False
        with self.timing.measure("train"):
            scalars = self.learner.learn(trajectory)
        score = self._evaluate(scalars) if self._evaluation_due() else None
        if not self.config.eval_every:  # else a row at each evaluation tells the same
            with self.timing.measure("other"):
                self._tracker.log(self.files.path, self._row({}, scalars))
        self._progress.learned(scalars)
        self._between_steps = True
        self._end_step(trajectory.rewards.size)
        return TrainingStep(self.learner.step, score, scalars)

    def _evaluation_due(self) -> bool:
        """Whether this training step, or the end, calls for an evaluation."""
        every = self.config.eval_every
        return every > 0 and (self.learner.step % every == 0 or self.complete)

    def _evaluate(self, scalars: dict[str, float]) -> float:
        """Evaluates the current policy on the drivers, writes a row of ``metrics.csv``, and returns the score."""
        trajectory = self._round(Kind.EVALUATE)
        with self.timing.measure("other"):
            self._eval_evaluations += int(trajectory.evaluations.sum())
            score = self.evaluator.score(trajectory)
            row = self._row({self.evaluator.column: score}, scalars)
            self.files.append(row)
            self._tracker.log(self.files.path, row)
            self._progress.scored(score)
        return score

    def _row(self, score: Row, scalars: dict[str, float]) -> Row:
        """Returns the counts so far, a score, a training step's scalars, and times."""
        counts = {
            "training_step": self.learner.step,
            "env_steps": self.learner.env_steps,
            "objective_evaluations": self.learner.evaluations,
            "eval_evaluations": self._eval_evaluations,
        }
        return counts | score | scalars | {f"time/{name}": seconds for name, seconds in self.timing.spent().items()}

    def _end_step(self, env_steps: int) -> None:
        """Closes a training step: writes a checkpoint when it is time, and samples the use of the machine."""
        with self.timing.measure("other"):
            seconds = self.config.checkpoint_seconds
            overdue = seconds > 0 and time.monotonic() - self._saved_at >= seconds
            if self.learner.step % self.config.checkpoint_every == 0 or self.complete or overdue:
                self._save()
            self._resources.sample_if_due()
            self._progress.step(env_steps, self.timing)
            self._progress.failed(self.pool.failure)
            if self.pool.choice and not self._choice_shown:
                self._choice_shown = True
                self._progress.message(self.pool.choice)
        self.timing.end_step()

    def _round(self, kind: Kind) -> Trajectory:
        """Runs a round with the current policy; making its snapshot is part of the broadcast."""
        with self.timing.measure("broadcast"):
            snapshot = self._snapshot(kind)
        return self.rounds.run(kind, self.learner.step, snapshot)

    def _snapshot(self, kind: Kind) -> Snapshot:
        """Returns the policy for a round of this kind."""
        whole = self.learner.round_snapshot() if kind in TRAINING else self.learner.snapshot()
        if self._without_normaliser and kind == Kind.COLLECT:
            return dataclasses.replace(whole, obs_mean=None, obs_var=None)
        return whole

    def _save(self) -> None:
        """Writes a checkpoint and the law; what they rest on is durable before."""
        self.rounds.sync()
        meta = {"timing": self.timing.spent(), "eval_evaluations": self._eval_evaluations}
        meta |= {"failed_evaluations": self.rounds.failed}
        self.files.save(self.learner.state(), meta | {"driver_restarts": self._driver_restarts})
        self.files.write_law(self.learner.snapshot())
        self._saved_at, self._saved_step = time.monotonic(), self.learner.step

    def _check(self) -> Check:
        """Checks the law beside constant knobs, and says before what it costs."""
        self.timing.begin_step()
        self._progress.message(
            f"--check: {self.config.check // ROUNDS * ROUNDS} more evaluations of f, a third under the law and a third "
            f"under each of two constant knobs, at the same fresh conditions"
        )
        return run_check(self.rounds, self.job, self.files, self.learner.snapshot())

    @property
    def _driver_restarts(self) -> int:
        """Replaced drivers, those of earlier parts of a resumed run included."""
        return self.pool.restarts + int(self._meta.get("driver_restarts", 0))

    def finish(self, pictures: bool = True) -> dict[str, Any]:
        """Checks the law if asked to, writes what a finished run leaves, shows the table, and returns the summary."""
        check = self._check() if self.config.check else None
        self.timing.stop()
        self._progress.close()
        snapshot = self.learner.snapshot()
        summary = {
            "policy_sha256": snapshot.sha256,
            "training_steps": self.learner.step,
            "env_steps": self.learner.env_steps,
            "objective_evaluations": self.learner.evaluations,
            "eval_evaluations": self._eval_evaluations,
            "lost_evaluations": self._archive.lost + self.rounds.lost,
            "failed_evaluations": self.rounds.failed,
            "wall_seconds": self.timing.loop,
            "drivers": self.pool.drivers,
            "driver_restarts": self._driver_restarts,
            "eval": self.files.eval_summary(self.evaluator),
            "resources": self._resources.summary(),
        }
        if check is not None:
            summary["check"] = check.as_json()
        if (judgement := self.learner.judgement()) is not None:
            summary["model"] = judgement.as_json()
        summary |= known_regret(self.config, snapshot)
        self.files.write_law(snapshot)
        self.files.write_json("timing.json", self.timing.summary())
        summary = self.files.write_json("summary.json", summary)
        drawn: list[str] = []
        if pictures:
            from ppo.training.plots import draw  # matplotlib comes with it

            objective = self.config.problem().objective()
            drawn = draw(self.files.path, self.files.rows, self.timing, self.evaluator, objective, snapshot)
        if not self.quiet:
            print(table(summary, self.timing, self.files.path, drawn))
        return summary
