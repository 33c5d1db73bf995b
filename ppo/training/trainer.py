"""A run under way: its learner, its drivers, its files and its clock, and what one step of the loop does with them."""

import contextlib
import dataclasses
from types import TracebackType
from typing import Any, Self

import torch
from threadpoolctl import threadpool_limits

from actors.pools.factory import make_pool
from actors.profiling import profiled
from actors.rollout import Collector, Kind
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.errors import UsageError
from ppo.algorithm.learner import Learner, check_finite, policy_spec
from ppo.config.fields import Config, flag
from ppo.evaluation.evaluator import make_evaluator, make_job
from ppo.training.progress import Progress, Tracker, table
from ppo.training.resources import Usage
from ppo.training.run_dir import RunDir
from ppo.training.timing import Timing


class Run:
    """Everything that a training run needs; a context manager, inside which its drivers live.

    Nothing is written before the drivers are up, so that a mistake leaves nothing behind.

    Args:
        config: resolved.
        files: the run's directory.
        resume: take up the checkpoint in it.
        track: write TensorBoard events.
        quiet: show no progress.
        profile: write profiles of the learner and of driver processes.

    Raises:
        UsageError: a setting that cannot work.
    """

    def __init__(self, config: Config, files: RunDir, *, resume: bool, track: bool, quiet: bool, profile: bool = False):
        self.config, self.files, self.resume, self.quiet = config, files, resume, quiet
        torch.set_num_threads(config.torch_threads)
        self.evaluator, eval_starts = make_evaluator(config)
        self.job = make_job(config, eval_starts)
        if profile:
            self.job = dataclasses.replace(self.job, profile=str(files.path.absolute()))
        with contextlib.closing(Collector(self.job)) as collector:
            self.learner = Learner(config, policy_spec(config, collector))
        self.tracker, self.usage = Tracker(track), Usage()
        self.meta = restore(self.learner, files, resume)
        self.eval_evaluations = int(self.meta.get("eval_evaluations", 0))
        self._told = False

    def __enter__(self) -> Self:
        config = self.config
        with contextlib.ExitStack() as stack:
            # One thread, as in the drivers: for matrices of this size more of them only get in each other's way.
            stack.enter_context(threadpool_limits(1, "blas"))
            pool = make_pool(self.job, config.drivers, config.backend, config.driver_timeout)
            self.pool = stack.enter_context(pool)
            if self.resume:
                self.files.rewind(self.learner.step)
            else:
                self.files.create(config)
            self.progress = Progress(self.learner.step, self.learner.training_steps, self.evaluator.column, self.quiet)
            stack.enter_context(profiled(f"{self.job.profile}/profile.txt" if self.job.profile else None))
            stack.callback(self.progress.close)
            stack.callback(self.tracker.close)
            self._open = stack.pop_all()
        self.timing = Timing(self.meta.get("timing"))
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    @property
    def complete(self) -> bool:
        """Whether all training steps are done."""
        return self.learner.step >= self.learner.training_steps

    def training_step(self) -> tuple[Trajectory, dict[str, float]]:
        """Broadcast, collect, train. Returns the merged facts and scalars to log."""
        try:
            facts = self._round(Kind.COLLECT, "collect")
        except Exception:
            self.save()  # what was learned so far is sound; what failed is the environment
            raise
        with self.timing.measure("train"):
            return facts, self.learner.learn(facts)

    def evaluation_due(self) -> bool:
        """Whether this training step, or the end, calls for an evaluation."""
        every = self.config.eval_every
        return every > 0 and (self.learner.step % every == 0 or self.complete)

    def evaluate(self, scalars: dict[str, float]) -> float:
        """Evaluates the current policy on the drivers, writes a row of ``metrics.csv``, and returns the score."""
        facts = self._round(Kind.EVALUATE, "evaluate")
        with self.timing.measure("other"):
            self.eval_evaluations += int(facts.evaluations.sum())
            score = self.evaluator.score(facts)
            row: dict[str, float] = {
                "training_step": self.learner.step,
                "env_steps": self.learner.env_steps,
                "objective_evaluations": self.learner.evaluations,
                "eval_evaluations": self.eval_evaluations,
                self.evaluator.column: score,
            }
            row |= scalars | {f"time/{name}": seconds for name, seconds in self.timing.spent().items()}
            self.files.append(row)
            self.tracker.log(self.files.path, row)
            self.progress.scored(score)
        return score

    def end_step(self, facts: Trajectory) -> None:
        """Closes a training step: a checkpoint when it is time, and a look at the machine."""
        with self.timing.measure("other"):
            if self.learner.step % self.config.checkpoint_every == 0 or self.complete:
                self.save()
            self.usage.sample_if_due()
            self.progress.step(facts.rewards.size, self.timing)
            if self.pool.choice and not self._told:
                self._told = True
                self.progress.say(self.pool.choice)
        self.timing.end_step()

    def snapshot_for(self, kind: Kind) -> Snapshot:
        """The policy that the drivers run a round of this kind with."""
        return self.learner.snapshot()

    def _round(self, kind: Kind, phase: str) -> Trajectory:
        """One round on the pool, merged; its time goes to broadcast and to ``phase``."""
        with self.timing.measure("broadcast"):
            snapshot = self.snapshot_for(kind)
        with self.timing.measure(phase):
            self.pool.submit(self.learner.step, snapshot, kind)
            done = self.pool.result()
            check_finite(done.facts, kind == Kind.COLLECT and self.job.evaluate_starts)
        self.timing.add("broadcast", done.broadcast)
        self.timing.add(phase, -done.broadcast)
        return done.facts

    def save(self) -> None:
        """Writes a checkpoint."""
        meta = {"timing": self.timing.spent(), "eval_evaluations": self.eval_evaluations}
        self.files.save(self.learner.state(), meta | {"driver_restarts": self.driver_restarts})

    @property
    def driver_restarts(self) -> int:
        """Replaced drivers, those of earlier parts of a resumed run included."""
        return self.pool.restarts + int(self.meta.get("driver_restarts", 0))

    def finish(self, pictures: bool) -> dict[str, Any]:
        """Writes what a finished run leaves behind, shows the table, and returns the summary."""
        self.timing.stop()
        self.progress.close()
        snapshot = self.learner.snapshot()
        summary = {
            "policy_sha256": snapshot.sha256,
            "training_steps": self.learner.step,
            "env_steps": self.learner.env_steps,
            "objective_evaluations": self.learner.evaluations,
            "eval_evaluations": self.eval_evaluations,
            "wall_seconds": self.timing.loop,
            "drivers": self.pool.drivers,
            "driver_restarts": self.driver_restarts,
            "eval": self.files.eval_summary(self.evaluator),
            "resources": self.usage.summary(),
        }
        self.files.write_law(snapshot)
        self.files.write_json("timing.json", self.timing.summary())
        self.files.write_json("summary.json", summary)
        drawn: list[str] = []
        if pictures:
            from ppo.training.plots import draw  # matplotlib comes with it

            objective = self.config.problem().objective()
            drawn = draw(self.files.path, self.files.rows, self.timing, self.evaluator, objective, snapshot)
        if not self.quiet:
            print(table(summary, self.timing, self.files.path, drawn))
        return summary


def restore(learner: Learner, files: RunDir, resume: bool) -> dict[str, Any]:
    """Takes up a checkpoint or a finished run's parameters, where asked to; returns the checkpoint's other values."""
    warm = learner.config.warm_start
    if not resume and warm is None:
        return {}
    source, name = (files, "--resume") if resume else (RunDir(str(warm)), "--warm-start")
    theirs = source.config(name)
    state, meta = source.load(name)
    if not learner.accepts(state):
        raise UsageError(f"{name} {source.path}: its networks do not have the shapes that this run's have")
    for field in ("activation", "norm_obs"):
        if getattr(theirs, field) != getattr(learner.config, field):
            raise UsageError(
                f"{name} {source.path}: was trained with {flag(field)} {getattr(theirs, field)}, and this run has "
                f"{getattr(learner.config, field)}"
            )
    if resume:
        learner.restore(state)
        return meta
    learner.warm_start(state)
    return {}
