"""``python -m ppo.train``: trains a tuning law. The loop itself is ``ppo.training.trainer.Trainer``."""

import contextlib
import dataclasses
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from env.errors import UsageError
from ppo.algorithm.not_finite import NotFiniteError
from ppo.config import Config, ResolvedConfig, resolve
from ppo.config.command_line import FROM_NOW_ON, WHAT_IS_SHOWN, WHERE_IT_RUNS, given_flags, parse, run_main
from ppo.config.memory import check_memory
from ppo.config.signals import handling_signals, raise_for
from ppo.data.files import how_to_go_on
from ppo.processor import remark
from ppo.startup import command
from ppo.training.hints import hint_at_replay
from ppo.training.run_dir import RunDir, check_free, default_path
from ppo.training.seeds import begun_seeds, directory_of, parse_seeds, seeds_table
from ppo.training.undone import undone_by_mistake

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

AT_ONCE = "at once; all but the evaluations under way is kept"


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
    resolved = _resolved(config, quiet)
    from ppo.training.trainer import Trainer  # torch comes with it, and must not slow a user's mistake down

    trainer = Trainer(resolved, files, resume=resume, track=track, quiet=quiet, profile=profile)
    if summary := _finished(trainer):
        return _nothing_left(files, summary, quiet)
    with undone_by_mistake([trainer], resume), trainer, _told_how_to_go_on(files.shown, config):
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
    root = pathlib.Path(run_dir or default_path(config, f"{seeds[0]}-{seeds[-1]}"))
    if not resume:
        check_free(root)
    if config.lag:
        raise UsageError(f"--seeds: cannot be combined with --lag {config.lag}, which overlaps the rounds of one run")
    configs = [_resolved(dataclasses.replace(config, seed=seed), quiet or seed != seeds[0]) for seed in seeds]
    from ppo.training.side_by_side import SideBySide  # torch comes with it
    from ppo.training.trainer import Trainer

    places = [directory_of(root, seed) for seed in seeds]
    trainers = [Trainer(*one, resume=resume, track=track, quiet=True) for one in zip(configs, places, strict=True)]
    left = [trainer for trainer in trainers if not _finished(trainer)]
    if left:
        with undone_by_mistake(left, resume), SideBySide(left, quiet) as runs, _told_how_to_go_on(root):
            while not runs.complete:
                if interrupted is not None and interrupted.is_set():
                    raise KeyboardInterrupt(f"after training step {runs.done} of each seed; {how_to_go_on(root)}")
                runs.step()
            for trainer in left:
                trainer.finish(pictures)
    summaries = {seed: files.summary() or {} for seed, files in zip(seeds, places, strict=True)}
    if not quiet:
        print(seeds_table(root, summaries))
    return summaries


def _resolved(config: Config, quiet: bool) -> ResolvedConfig:
    """Resolves a configuration, checks that it can be trained here, and says what bits it will have if that matters.

    Raises:
        UsageError: it cannot.
    """
    resolved = resolve(config)
    check_memory(resolved)
    if config.problem().family == "tuning" and config.problem().describe().asked:
        begin = f"{command('ask')} RUN_DIR --env {config.env} --evaluations N"
        raise UsageError(f"--env {config.env}: is a bench, which no training calls; its points are asked with {begin}")
    if not quiet and (words := remark()):
        print(words, file=sys.stderr)
    return resolved


@contextlib.contextmanager
def _told_how_to_go_on(run_dir: pathlib.Path, config: Config | None = None) -> Iterator[None]:
    """Adds to a Ctrl-C that ends the training at once how to go on; with a configuration to errors of slots as well."""
    try:
        with hint_at_replay(run_dir, config) if config else contextlib.nullcontext():
            yield
    except KeyboardInterrupt as interrupt:
        if str(interrupt) != AT_ONCE:
            raise
        raise type(interrupt)(f"{AT_ONCE}; {how_to_go_on(run_dir)}") from None


def _finished(trainer: "Trainer") -> dict[str, Any] | None:
    """Returns the summary of a run that was finished before; None of one that goes on."""
    there = trainer.complete and (trainer.files.path / "law.npz").is_file()
    return trainer.files.summary() if there else None


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
    config, run_dir = arguments.to_config(), arguments.run_dir
    seeds: Sequence[int] = parse_seeds(arguments.seeds) if arguments.seeds is not None else ()
    if arguments.resume is not None:
        run_dir = arguments.resume
        seeds = begun_seeds(pathlib.Path(run_dir))
        names = {*WHERE_IT_RUNS, *FROM_NOW_ON} & {*given_flags(argv)}
        given = {name: getattr(arguments, name) for name in names}
        if given.get("backend", "ray") != "ray":
            given.setdefault("ray_address", None)  # which no other backend has
        files = directory_of(pathlib.Path(run_dir), seeds[0]) if seeds else RunDir(run_dir)
        config = dataclasses.replace(files.config("--resume"), **given)
    shown = {name: getattr(arguments, name) for name in WHAT_IS_SHOWN}
    if seeds and shown.pop("profile"):
        raise UsageError("--profile: profiles a single run; leave out --seeds")
    with interruptible(arguments.quiet) as interrupted:
        more = {"resume": arguments.resume is not None, "interrupted": interrupted, **shown}
        try:
            summaries = (
                list(train_seeds(config, seeds, run_dir, **more).values())
                if seeds
                else [train(config, run_dir, **more)]
            )
        except NotFiniteError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
    from ppo.training.summary import all_failed  # torch comes with it

    if all(map(all_failed, summaries)):
        print("error: every evaluation of f failed, so that nothing was learned", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    run_main(main)
