"""``python -m ppo.train``: trains a tuning law.

One training step, from top to bottom of ``train`` below:

    snapshot ---> drivers roll out slots ---> merge ---> learner.learn ---> next snapshot
     (ppo.learner)   (actors.pool, .rollout)   (actors.trajectory)   (ppo.agent)
"""

import contextlib
import dataclasses
import pathlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from env.errors import UsageError
from ppo.cli import Arguments, given_flags, parse, run_main
from ppo.config import Config
from ppo.run_dir import RunDir, check_free, default_path

if TYPE_CHECKING:  # torch comes with these, and must not slow --help down
    from actors.pool import Pool
    from ppo.evaluation import Evaluator
    from ppo.learner import Learner
    from ppo.timing import Timing


def train(
    config: Config,
    run_dir: str | pathlib.Path | None = None,
    *,
    resume: bool = False,
    quiet: bool = False,
    track: bool = False,
    pictures: bool = True,
) -> dict[str, Any]:
    """Trains from the first training step, or from a checkpoint, to the last.

    Args:
        config: what to train.
        run_dir: directory of the results; None for ``runs/<env>-<seed>-<time>``.
        resume: go on from the checkpoint in ``run_dir``.
        quiet: show nothing.
        track: write TensorBoard events.
        pictures: draw them at the end, where matplotlib is installed.

    Returns:
        What ``summary.json`` holds.

    Raises:
        UsageError: a setting that cannot work; no directory has been made then.
        actors.pool.DriverError: a driver raised an exception (its cause), or a slot cannot be run.
        KeyboardInterrupt: after Ctrl-C, when the step under way is done and a checkpoint written.
    """
    import torch

    from actors.pool import make_pool
    from actors.rollout import Collector
    from ppo.evaluation import make_evaluator, make_job
    from ppo.learner import Learner, policy_spec
    from ppo.report import Progress, Tracker
    from ppo.timing import Timing
    from ppo.usage import Usage

    config = config.resolved()
    torch.set_num_threads(config.torch_threads)
    files = RunDir(run_dir or default_path(config))
    if not resume:
        check_free(files.path)
    objective = config.problem().objective()
    evaluator, eval_starts = make_evaluator(objective)
    job = make_job(config, eval_starts)
    with contextlib.closing(Collector(job)) as collector:
        learner = Learner(config, policy_spec(config, collector))
    tracker, usage = Tracker(track), Usage()
    meta = _restore(learner, files, resume)
    with make_pool(job, config.drivers, config.backend, config.driver_timeout) as pool, _interruptible() as interrupted:
        if not resume:
            files.create(config)
        timing = Timing(meta.get("timing"))
        progress = Progress(learner.step, config.training_steps, evaluator.column, quiet)
        run = Run(config, files, learner, pool, evaluator, timing, meta)
        while learner.step < config.training_steps and not interrupted.is_set():
            facts, scalars = run.training_step()
            if run.evaluation_due():
                row = run.evaluate(scalars)
                with timing.measure("other"):
                    tracker.log(files.path, row)
                    progress.scored(row[evaluator.column])
            with timing.measure("other"):
                if learner.step % config.checkpoint_every == 0:
                    run.save()
                usage.sample_if_due()
                progress.step(facts.rewards.size, timing)
            timing.end_step()
        progress.close()
        tracker.close()
        run.save()
        if learner.step < config.training_steps:
            raise KeyboardInterrupt(f"after training step {learner.step}; go on with --resume {files.path}")
        return _finish(run, usage.summary(), quiet, pictures)


@dataclasses.dataclass
class Run:
    """A run under way: what the steps of the loop share."""

    config: Config
    files: RunDir
    learner: "Learner"
    pool: "Pool"
    evaluator: "Evaluator"
    timing: "Timing"
    meta: dict[str, Any]

    def __post_init__(self) -> None:
        self.eval_evaluations = int(self.meta.get("eval_evaluations", 0))

    def training_step(self) -> tuple[Any, dict[str, float]]:
        """Broadcast, collect, train. Returns the merged facts and scalars to log."""
        from actors.rollout import Kind

        facts = self._round(Kind.COLLECT, "collect")
        with self.timing.measure("train"):
            return facts, self.learner.learn(facts)

    def evaluation_due(self) -> bool:
        """Whether this training step, or the end, calls for an evaluation."""
        every, step = self.config.eval_every, self.learner.step
        return every > 0 and (step % every == 0 or step == self.config.training_steps)

    def evaluate(self, scalars: dict[str, float]) -> dict[str, float]:
        """Evaluates the current policy on the drivers, and writes a row of ``metrics.csv``."""
        from actors.rollout import Kind

        facts = self._round(Kind.EVALUATE, "evaluate")
        with self.timing.measure("other"):
            self.eval_evaluations += int(facts.evaluations.sum())
            row: dict[str, float] = {
                "training_step": self.learner.step,
                "env_steps": self.learner.env_steps,
                "objective_evaluations": self.learner.evaluations,
                "eval_evaluations": self.eval_evaluations,
                self.evaluator.column: self.evaluator.score(facts),
            }
            row |= scalars | {f"time/{name}": seconds for name, seconds in self.timing.spent().items()}
            self.files.append(row)
        return row

    def _round(self, kind: Any, phase: str) -> Any:
        """One round on the pool, merged; its time goes to broadcast and to ``phase``."""
        from actors.trajectory import merge

        with self.timing.measure("broadcast"):
            snapshot = self.learner.snapshot()
        with self.timing.measure(phase):
            self.pool.submit(self.learner.step, snapshot, kind)
            done = self.pool.result()
            facts = merge(done.parts, self.pool.layout(kind), self.pool.job.slots(kind), snapshot.version)
        self.timing.add("broadcast", done.broadcast)
        self.timing.add(phase, -done.broadcast)
        return facts

    def save(self) -> None:
        """Writes a checkpoint."""
        meta = {"timing": self.timing.spent(), "eval_evaluations": self.eval_evaluations}
        meta["driver_restarts"] = self.driver_restarts
        self.files.save(self.learner.state(), meta)

    @property
    def driver_restarts(self) -> int:
        """Replaced drivers, those of earlier parts of a resumed run included."""
        return self.pool.restarts + int(self.meta.get("driver_restarts", 0))


def _restore(learner: "Learner", files: RunDir, resume: bool) -> dict[str, Any]:
    """Takes up a checkpoint or a finished run's parameters, where asked to; returns the checkpoint's other values."""
    warm = learner.config.warm_start
    if not resume and warm is None:
        return {}
    source, name = (files, "--resume") if resume else (RunDir(str(warm)), "--warm-start")
    state, meta = source.load(name)
    if not learner.accepts(state):
        raise UsageError(f"{name} {source.path}: its networks do not have the shapes that this run's have")
    if not resume:
        learner.warm_start(state)
        return {}
    learner.restore(state)
    files.rewind(learner.step)
    return meta


def _finish(run: Run, resources: dict[str, Any], quiet: bool, pictures: bool) -> dict[str, Any]:
    """Writes what a finished run leaves behind."""
    from ppo.pictures import available, draw
    from ppo.report import table

    snapshot = run.learner.snapshot()
    summary = {
        "policy_sha256": snapshot.sha256,
        "training_steps": run.learner.step,
        "env_steps": run.learner.env_steps,
        "objective_evaluations": run.learner.evaluations,
        "eval_evaluations": run.eval_evaluations,
        "wall_seconds": run.timing.loop,
        "driver_restarts": run.driver_restarts,
        "eval": run.files.eval_summary(run.evaluator),
        "resources": resources,
    }
    run.files.write_law(snapshot)
    run.files.write_json("timing.json", run.timing.summary())
    run.files.write_json("summary.json", summary)
    drawn: list[str] = []
    if pictures and available():
        objective = run.config.problem().objective()
        drawn = draw(run.files.path, run.files.rows, run.timing, run.evaluator, objective, snapshot)
    if not quiet:
        print(table(summary, run.timing, run.files.path, drawn))
    return summary


@contextlib.contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turns the first Ctrl-C into an event, so that a step is finished and saved; a second one stops at once."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def handle(number: int, frame: Any) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt("at once; the last checkpoint stands")
        interrupted.set()

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments: Arguments = parse(argv)
    if arguments.resume is None:
        config, run_dir = arguments.to_config(), arguments.run_dir
        train(config, run_dir, quiet=arguments.quiet, track=arguments.track, pictures=arguments.pictures)
        return
    config = RunDir(arguments.resume).config()
    where = {
        name: getattr(arguments, name) for name in given_flags(argv) if name in ("drivers", "backend", "driver_timeout")
    }
    train(
        dataclasses.replace(config, **where),
        arguments.resume,
        resume=True,
        quiet=arguments.quiet,
        pictures=arguments.pictures,
    )


if __name__ == "__main__":
    run_main(main)
