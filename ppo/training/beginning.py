"""What comes around the loop of a training, of one run or of several: checks before it, and words if it is ended."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from env.errors import UsageError
from ppo.config import Config, ResolvedConfig, resolve
from ppo.config.memory import check_memory
from ppo.data.files import how_to_go_on
from ppo.processor import remark
from ppo.startup import command
from ppo.training.hints import hint_at_replay

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

AT_ONCE = "at once; all but the evaluations under way is kept"


def resolved_here(config: Config, quiet: bool) -> ResolvedConfig:
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
def told_how_to_go_on(run_dir: pathlib.Path, config: Config | None = None) -> Iterator[None]:
    """Adds to a Ctrl-C that ends the training at once how to go on; with a configuration to errors of slots as well."""
    try:
        with hint_at_replay(run_dir, config) if config else contextlib.nullcontext():
            yield
    except KeyboardInterrupt as interrupt:
        if str(interrupt) != AT_ONCE:
            raise
        raise type(interrupt)(f"{AT_ONCE}; {how_to_go_on(run_dir)}") from None


def finished(trainer: "Trainer") -> dict[str, Any] | None:
    """Returns the summary of a run that was finished before; None of one that goes on."""
    there = trainer.complete and (trainer.files.path / "law.npz").is_file()
    return trainer.files.summary() if there else None
