"""``python -m ppo.train``: trains a tuning law.

One training step, from top to bottom of the loop in ``train``:

    snapshot ---> drivers roll out slots ---> merge ---> learner.learn ---> next snapshot
     (ppo.algorithm.learner)   (actors.pools.base, .rollout)   (actors.trajectory)   (ppo.algorithm.agent)
"""

import contextlib
import dataclasses
import pathlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ppo.config.command_line import WHAT_IS_SHOWN, WHERE_IT_RUNS, given_flags, parse, run_main
from ppo.config.fields import Config
from ppo.training.run_dir import RunDir, check_free, default_path


def train(
    config: Config,
    run_dir: str | pathlib.Path | None = None,
    *,
    resume: bool = False,
    quiet: bool = False,
    track: bool = False,
    pictures: bool = True,
    profile: bool = False,
    scored: Callable[[int, float], None] | None = None,
) -> dict[str, Any]:
    """Trains from the first training step, or from a checkpoint, to the last.

    Args:
        config: what to train.
        run_dir: directory of the results; None for ``runs/<env>-<seed>-<time>``.
        resume: go on from the checkpoint in ``run_dir``.
        quiet: show nothing.
        track: write TensorBoard events.
        pictures: draw them at the end, where matplotlib is installed.
        profile: write profiles of the learner and of driver processes.
        scored: called after each evaluation with the training step and its score; what it raises ends the run.

    Returns:
        What ``summary.json`` holds.

    Raises:
        UsageError: a setting that cannot work; no directory has been made then.
        actors.pools.base.DriverError: a driver raised an exception (its cause), or a slot cannot be run.
        KeyboardInterrupt: after Ctrl-C, when the step under way is done and a checkpoint written.
    """
    config = config.resolved()
    files = RunDir(run_dir or default_path(config))
    if not resume:
        check_free(files.path)
    from ppo.training.trainer import Run  # torch comes with it, and must not slow a user's mistake down

    run = Run(config, files, resume=resume, track=track, quiet=quiet, profile=profile)
    if run.complete and (summary := files.summary()):
        return summary  # resumed, and there was nothing left to do
    with run, _interruptible() as interrupted:
        while not run.complete and not interrupted.is_set():
            facts, scalars = run.training_step()
            if run.evaluation_due():
                score = run.evaluate(scalars)
                if scored is not None:
                    scored(run.learner.step, score)
            run.end_step(facts)
        if not run.complete:
            run.save()
            raise KeyboardInterrupt(f"after training step {run.learner.step}; go on with --resume {files.path}")
        return run.finish(pictures)


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
    arguments = parse(argv)
    shown = {name: getattr(arguments, name) for name in WHAT_IS_SHOWN}
    if arguments.resume is None:
        train(arguments.to_config(), arguments.run_dir, **shown)
        return
    config = RunDir(arguments.resume).config("--resume")
    where = {name: getattr(arguments, name) for name in given_flags(argv) if name in WHERE_IT_RUNS}
    train(dataclasses.replace(config, **where), arguments.resume, resume=True, **shown)


if __name__ == "__main__":
    run_main(main)
