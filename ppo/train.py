"""``python -m ppo.train``: trains a tuning law. The loop itself is ``ppo.training.trainer.Trainer``."""

import contextlib
import dataclasses
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from env.errors import UsageError
from ppo.algorithm.not_finite import NotFiniteError
from ppo.config import Config
from ppo.config.command_line import (
    FROM_NOW_ON,
    WHAT_IS_SHOWN,
    WHERE_IT_RUNS,
    TrainArguments,
    given_flags,
    parse,
    run_main,
)
from ppo.config.signals import handling_signals, raise_for
from ppo.data.files import how_to_go_on
from ppo.startup import command
from ppo.training.beginning import AT_ONCE, finished, resolved_here, told_how_to_go_on
from ppo.training.run_dir import RunDir, check_free, default_path
from ppo.training.seeds import begun_configs, check_seeds, holds_seeds, listed_seeds, parse_seeds
from ppo.training.together import WhatIsShown, train_together
from ppo.training.undone import undone_by_mistake


def train(
    config: Config,
    run_dir: str | pathlib.Path | None = None,
    *,
    resume: bool = False,
    quiet: bool = False,
    track: bool = False,
    pictures: bool = True,
    profile: bool = False,
    interrupted: threading.Event | None = None,
) -> dict[str, Any]:
    """Trains from the first training step, or from a checkpoint, to the last.

    Args:
        config: what to train.
        run_dir: directory of the results; None for ``runs/<env>-<seed>-<time>``.
        resume: go on with the run in ``run_dir``.
        quiet: show nothing.
        track: write TensorBoard events.
        pictures: draw them at the end, where matplotlib is installed.
        profile: write profiles of the learner and of driver processes.
        interrupted: once it is set, the training ends after the step under way.

    Returns:
        What ``summary.json`` holds.

    Raises:
        UsageError: a setting that cannot work; no directory has been made then.
        actors.pools.base.DriverError: a driver raised an exception (its cause), or a slot cannot be run.
        FloatingPointError: a value of the environment or of an update is not finite.
        KeyboardInterrupt: ``interrupted`` was set; a checkpoint of the steps that were done has been written.
    """
    files = RunDir(run_dir or default_path(config))  # before the environment is made, which may change the directory
    if not resume:
        check_free(files.shown)  # Trainer does so too, but torch would be imported first
    resolved = resolved_here(config, quiet)
    from ppo.training.trainer import Trainer  # torch comes with it, and must not slow a user's mistake down

    trainer = Trainer(resolved, files, resume=resume, track=track, quiet=quiet, profile=profile)
    if summary := finished(trainer):
        return _nothing_left(files, summary, quiet)
    with undone_by_mistake([trainer], resume), trainer, told_how_to_go_on(files.shown, config):
        while not trainer.complete:
            if interrupted is not None and interrupted.is_set():
                law = f", or measure its law with {command('evaluate')} {files.shown}" if trainer.learner.step else ""
                raise KeyboardInterrupt(f"after training step {trainer.learner.step}; {how_to_go_on(files.shown)}{law}")
            next(trainer)
        return trainer.finish(pictures)


def train_seeds(
    config: Config,
    seeds: Sequence[int],
    run_dir: str | pathlib.Path | None = None,
    *,
    resume: bool = False,
    quiet: bool = False,
    track: bool = False,
    pictures: bool = True,
    interrupted: threading.Event | None = None,
) -> dict[int, dict[str, Any]]:
    """Trains a run for each of several seeds, side by side: rounds are shared, and the bits are those of each alone.

    Args:
        config: what to train; its seed is not used.
        seeds: the seeds.
        run_dir: directory of the runs, each in its ``seed-N``; None for ``runs/<env>-<first>-<last>-<time>``.
        resume: go on with the runs in ``run_dir``.
        quiet, track, pictures, interrupted: as ``train`` takes them.

    Returns:
        What each ``summary.json`` holds, by the seed.

    Raises:
        What ``train`` raises, for all of them.
    """
    check_seeds(seeds)
    root = pathlib.Path(run_dir or default_path(config, f"{seeds[0]}-{seeds[-1]}"))
    if resume and (listed := listed_seeds(root)) != list(seeds):
        raise UsageError(f"--resume {root}: was begun with the seeds {listed}, and is to go on with {list(seeds)}")
    configs = [dataclasses.replace(config, seed=seed) for seed in seeds]
    return train_together(root, configs, WhatIsShown(quiet, track, pictures), resume, interrupted)


def _nothing_left(files: RunDir, summary: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """Says that a run that is resumed was finished before, and returns its summary."""
    if not quiet:
        done = f"its {summary['training_steps']:,} training steps are done"
        print(f"{files.shown}: {done}; nothing was run or paid for")
    return summary


@contextlib.contextmanager
def interruptible(quiet: bool) -> Iterator[threading.Event]:
    """Turns the first Ctrl-C or SIGTERM into an event, so that a step is finished and saved; a second ends at once.

    Args:
        quiet: no bar is shown, below which what is said would have to begin.

    Raises:
        Terminated: where the training ended for that event, and it was SIGTERM.
    """
    interrupted, received = threading.Event(), list[int]()

    def handle(number: int, frame: Any) -> None:
        if interrupted.is_set():
            raise_for(number, AT_ONCE)
        interrupted.set()
        received.append(number)
        again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
        below = "" if quiet and not sys.stderr.isatty() else "\n"  # the bar, and what a terminal shows for Ctrl-C
        print(f"{below}ending after this training step; {again} ends at once", file=sys.stderr)

    try:
        with handling_signals(handle):
            yield interrupted
    except KeyboardInterrupt as interrupt:
        if received and AT_ONCE not in str(interrupt):
            raise_for(received[0], str(interrupt))
        raise


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse(argv)
    with interruptible(arguments.quiet) as interrupted:
        try:
            summaries = _run(arguments, argv, interrupted)
        except NotFiniteError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
    from ppo.training.summary import all_failed  # torch comes with it

    if all(map(all_failed, summaries)):
        print("error: every evaluation of f failed, so that nothing was learned", file=sys.stderr)
        sys.exit(1)


def _run(arguments: TrainArguments, argv: list[str], interrupted: threading.Event) -> list[dict[str, Any]]:
    """Trains what a command line says, or goes on with it; returns the summaries."""
    config, run_dir, resume = arguments.to_config(), arguments.run_dir, arguments.resume is not None
    together = arguments.seeds is not None or (resume and holds_seeds(pathlib.Path(str(arguments.resume))))
    if together and arguments.profile:
        raise UsageError("--profile: profiles a single run; leave out --seeds")
    shown = {name: getattr(arguments, name) for name in WHAT_IS_SHOWN}
    if arguments.seeds is not None:
        del shown["profile"]
        seeds = parse_seeds(arguments.seeds)
        return list(train_seeds(config, seeds, run_dir, interrupted=interrupted, **shown).values())
    if arguments.resume is not None:
        run_dir = arguments.resume
        given = {name: getattr(arguments, name) for name in {*WHERE_IT_RUNS, *FROM_NOW_ON} & {*given_flags(argv)}}
        if given.get("backend", "ray") != "ray":
            given.setdefault("ray_address", None)  # which no other backend has
        if together:
            root, wanted = pathlib.Path(run_dir), WhatIsShown(arguments.quiet, arguments.track, arguments.pictures)
            return list(train_together(root, begun_configs(root, given), wanted, True, interrupted).values())
        config = dataclasses.replace(RunDir(run_dir).config("--resume"), **given)
    return [train(config, run_dir, resume=resume, interrupted=interrupted, **shown)]


if __name__ == "__main__":
    run_main(main)
