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
from collections.abc import Callable, Generator
from functools import partial
from types import TracebackType
from typing import Any, Self

from threadpoolctl import threadpool_limits

from actors.job import Kind
from actors.pools.base import Pool
from actors.profiling import profiled
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.errors import UsageError
from ppo.algorithm.model import make_learner
from ppo.algorithm.not_finite import NotFiniteError
from ppo.config import Config, resolve
from ppo.evaluation.check import cost_words
from ppo.evaluation.evaluator import make_evaluator
from ppo.training.ahead import Ahead
from ppo.training.archiving import RunArchive
from ppo.training.asking import Asks, pool_of
from ppo.training.checking import checked
from ppo.training.device import fallback_words, gpu_in_use, prepared, ranges, settled
from ppo.training.evaluated import evaluated, tried
from ppo.training.job import make_job, unscaled_words
from ppo.training.not_finite import Updates
from ppo.training.plots import FinishedRun, draw
from ppo.training.progress import Progress, Tracker, table
from ppo.training.provenance import about_law
from ppo.training.resources import Resources
from ppo.training.resume import check_taken_up, imitate_reused, restore
from ppo.training.run_dir import RunDir, check_free
from ppo.training.scoring import Scoring
from ppo.training.soundness import result_fields
from ppo.training.step import TrainingStep, WantedRound
from ppo.training.summary import summarise
from ppo.training.timing import Timing


class Trainer(Asks):
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
        collect_without_normaliser: collect without the observation normaliser, the thesis's failure.

    Attributes:
        learner: the state of the training.
        timing: where its time goes.
        files: the run directory.
        rounds: runs and records the rounds of slots, with a lag those to come beside the learner.
        words: what is to be said of the run as it begins.

    Raises:
        UsageError: a setting that cannot work.
    """

    rounds: Ahead
    _lane: Pool | None
    _message: Callable[[str], None] | None

    def __init__(
        self,
        config: Config,
        run_dir: str | pathlib.Path | RunDir,
        *,
        resume: bool = False,
        track: bool = False,
        quiet: bool = False,
        profile: bool = False,
        collect_without_normaliser: bool = False,
    ):
        self.quiet = quiet
        self.files = run_dir if isinstance(run_dir, RunDir) else RunDir(run_dir)
        if not resume:
            check_free(self.files.path)
        self._resume, self._without_normaliser = resume, collect_without_normaliser
        asked, taken_up = resolve(config), f"--resume {self.files.shown}" if resume else None
        self.config = config = settled(asked, taken_up)
        self.evaluator, eval_starts = make_evaluator(config)
        self.job = make_job(config, eval_starts, str(self.files.path) if profile else None, self.files.path)
        self._archive = RunArchive(config, self.job, self.files.path, taken_up)
        if resume:
            check_taken_up(config, self.files, self._archive.reused)
        reused = self._archive.to_imitate()
        self.learner = make_learner(config, self.job, len(reused))
        self._resources = Resources(gpu_in_use(config))
        self._meta = restore(self.learner, self.files, resume)
        self._kept = self.learner.step - (self._meta.get("open") is not None)  # the last step whose row is written
        self._tracker = Tracker(track, self._kept + 1)
        self._scoring = Scoring(config, self.learner, self.evaluator, self.files, self._tracker, self._meta)
        if not self.complete:
            self._archive.check_whole(self.learner.step, int(self._meta.get("archive_bytes", 0)))
        imitate_reused(self.learner, reused)
        self.words = [self._archive.too_few, unscaled_words(config, self.job), fallback_words(asked, config)]
        self._choice_shown, self._lane, self._message = "", None, None

    def share(self, lane: Pool, beside: "Trainer", message: Callable[[str], None]) -> None:
        """Has the slots run by a pool that another run uses too, and lines shown by ``message``; before the context."""
        self._lane, self._resources, self._message = lane, beside._resources, message

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            # One thread, as in the drivers: for matrices of this size more of them only get in each other's way.
            stack.enter_context(threadpool_limits(1, "blas"))
            if self._resume:
                stack.enter_context(self.files.taken_up(self.config))
            with prepared(self.learner, self.job.description.asked):
                self.pool = self._lane or stack.enter_context(pool_of(self.job, self.config))
            if not self._resume:
                self.files.create(self.config, self.job.limit)
                stack.enter_context(self.files.locked())
            self._progress = Progress(self.config, self.learner, self.evaluator.column, self.quiet, self._message)
            for words in filter(None, self.words):
                self._progress.message(words)
            recorder = stack.enter_context(self._archive.recording(self._progress.paid))
            if self._resume:
                self.files.rewind(self._kept)
            stack.enter_context(profiled(f"{self.job.profile}/profile.txt" if self.job.profile else None))
            stack.callback(self._progress.close)
            stack.callback(self._tracker.close)
            self._open = stack.pop_all()
        self.timing = Timing(self._meta.get("timing"), ranges(self.config))
        failed = int(self._meta.get("failed_evaluations", 0))
        self.rounds = Ahead(self.pool, self.job, recorder, self.timing, failed, self.learner, self._round_snapshot)
        self._open.callback(self.rounds.close)  # before all that it uses
        self._updates = Updates(self.files, int(self._meta.get("skipped_steps", 0)), self._progress.message)
        self._saved_at, self._saved_state, self._between_steps = time.monotonic(), self._state, True
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._open:
            # What the state holds is sound unless a step was cut short after the learner had begun to change it; an
            # update that was not finite has been taken back.
            if (self._between_steps or isinstance(error, NotFiniteError)) and self._state != self._saved_state:
                self.timing.begin_step()  # what has passed since the last step was the caller's time
                with contextlib.suppress(*([UsageError] if error else [])):  # what ended the run is what to say
                    self._save()

    @property
    def _state(self) -> tuple[int, bool]:
        """What tells the states between training steps apart: steps done, and whether the last one is open."""
        return self.learner.step, self._scoring.open is not None

    @property
    def complete(self) -> bool:
        """Whether all training steps are done, and scored where that is due."""
        return self.learner.complete and self._scoring.open is None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TrainingStep:
        """Broadcasts, collects, trains, and evaluates when it is time.

        Where an evaluation failed or was interrupted, in this part of the run or in the one before, the training step
        that it belongs to comes once it is made, and is not trained again.

        Raises:
            DriverError: a driver raised an exception (its cause), or a slot cannot be run.
            FloatingPointError: the environment gave a value that is not finite, or (NotFiniteError) the update did.
        """
        if self.complete:
            raise StopIteration
        return self.rounds.through(self.parts())

    def parts(self) -> Generator[WantedRound, Any, TrainingStep]:
        """Goes through a training step: yields each round that it waits for, is sent its trajectory, and returns."""
        self.timing.begin_step()
        env_steps = 0
        if self._scoring.open is None:
            trajectory = yield WantedRound(self.learner.kind, self.learner.step, partial(self._round_snapshot, 0))
            env_steps = self._learn(trajectory)
        scalars, score = self._scoring.open or {}, None
        if self._scoring.due:
            score = self._score((yield WantedRound(Kind.EVALUATE, self.learner.step, self.learner.snapshot)))
        else:
            with self.timing.measure("other"):
                self._scoring.skip(self.timing.spent())
        self.rounds.begin()
        self._end_step(env_steps)
        return TrainingStep(self.learner.step, score, scalars)

    def _learn(self, trajectory: Trajectory) -> int:
        """Learns from what was collected; returns its time steps."""
        with self.timing.measure("train"):
            self.learner.late = self.rounds.late(self.learner.step)
            self._between_steps = False
            scalars = self._updates.learn(self.learner, trajectory)
            self._scoring.open, self._between_steps = scalars, True
        with self.timing.measure("other"):
            self._progress.learned(scalars)
        return trajectory.rewards.size

    def _score(self, trajectory: Trajectory) -> float:
        """Returns the score of an evaluation of the current policy."""
        with self.timing.measure("other"):
            score = self._scoring.score(trajectory, self.timing.spent())
            self._progress.scored(score)
        return score

    def _end_step(self, env_steps: int) -> None:
        """Closes a training step: writes a checkpoint when it is time, and samples the use of the machine."""
        with self.timing.measure("other"):
            seconds = self.config.checkpoint_seconds
            overdue = seconds > 0 and time.monotonic() - self._saved_at >= seconds
            if self.learner.step % self.config.checkpoint_every == 0 or self.complete or overdue:
                self._save()
            self._resources.sample_if_due()
            self._progress.step(env_steps, self.timing, self._resources.gpu_words)
            self._progress.failed(self.pool.failure)
            if self.pool.choice != self._choice_shown:
                self._choice_shown = self.pool.choice
                self._progress.message(self._choice_shown)
        self.timing.end_step()

    def _round_snapshot(self, ahead: int) -> Snapshot:
        """Returns what the drivers need for the training round that comes ``ahead`` rounds after the next one."""
        whole = self.learner.round_snapshot(ahead)
        bare = self._without_normaliser and self.learner.kind == Kind.COLLECT
        return dataclasses.replace(whole, obs_mean=None, obs_var=None) if bare else whole

    def _save(self) -> None:
        """Writes a checkpoint and the law; what they rest on is durable before."""
        archive_bytes = self.rounds.sync()
        meta = {"archive_bytes": archive_bytes, "timing": self.timing.spent(), "driver_restarts": self._driver_restarts}
        meta |= {"config": result_fields(self.config), "skipped_steps": self._updates.skipped}
        meta |= {"failed_evaluations": self.rounds.failed}
        self.files.save(self.learner.state(), meta | self._scoring.meta())
        law = self.learner.snapshot()
        self.files.write_law(law, about_law(self.config, self.job, law))
        self._saved_at, self._saved_state = time.monotonic(), self._state

    @property
    def _driver_restarts(self) -> int:
        """Replaced drivers, those of earlier parts of a resumed run included."""
        return self.pool.restarts + int(self._meta.get("driver_restarts", 0))

    def finish(self, pictures: bool = True) -> dict[str, Any]:
        """Checks the law if asked to, writes what a finished run leaves, shows the table, and returns the summary."""
        return self.rounds.through(self.ending(pictures))

    def ending(self, pictures: bool) -> Generator[WantedRound, Any, dict[str, Any]]:
        """Goes through what ``finish`` does, as ``parts`` goes through a training step."""
        check = None
        if self.config.check:
            self.timing.begin_step()
            self._progress.message(cost_words(self.config.check, self.job.limit))
            check = yield from checked(self.rounds, self.job, self.files, self.learner.snapshot())
        self.timing.stop()
        self._progress.close()
        snapshot = self.learner.snapshot()
        spent = {
            "eval_evaluations": self._scoring.evaluations,
            "lost_evaluations": self._archive.lost + self.rounds.lost,
            "skipped_steps": self._updates.skipped,
            "failed_evaluations": self.rounds.failed,
            "wall_seconds": self.timing.loop,
            "drivers": self.pool.drivers,
            "driver_restarts": self._driver_restarts,
            "eval": self.files.eval_summary(self.evaluator),
            "resources": self._resources.summary(),
        }
        summary = summarise(self.config, self.learner, snapshot, spent, check, self.job.limit)
        rows = evaluated(self.files, self.job)
        about = dataclasses.replace(about_law(self.config, self.job, snapshot, summary), tried=tried(rows))
        self.files.write_law(snapshot, about)
        self.files.write_json("timing.json", self.timing.summary())
        summary = self.files.write_json("summary.json", summary)
        run = FinishedRun(self.config, self.files, self.timing, self.evaluator, snapshot, about, rows, summary)
        drawn = draw(run) if pictures else []
        if not self.quiet:
            print(table(summary, self.timing, self.files, drawn))
        return summary
