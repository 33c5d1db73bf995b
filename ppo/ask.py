"""``tuninglaw ask RUN_DIR``: prints the points that a bench is to measure next, as a table."""

import pathlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from env.errors import UsageError
from ppo.config import Config, resolve
from ppo.config.command_line import ConfigArguments, given_flags, parse_as, run_main
from ppo.config.fields import flag
from ppo.data.answers import write_points
from ppo.startup import command
from ppo.training.run_dir import RunDir


@dataclass(frozen=True)
class Arguments(ConfigArguments):
    """Prints the points that a bench is to measure next, as CSV; what was measured goes back with tell.

    The first call begins the run, and takes the flags of the training: --env and --evaluations at the least.
    """

    run_dir: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="RUN_DIR")] = None
    """Directory of the run, which the first call makes."""


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("ask"), argv)
    if arguments.run_dir is None:
        raise UsageError("RUN_DIR: name the directory of the run")
    files, given = RunDir(pathlib.Path(arguments.run_dir)), set(given_flags(argv, Config))
    begun = (files.path / "config.json").is_file()
    if begun and given:
        raise UsageError(f"RUN_DIR {files.shown}: the run is begun, and takes no flags of the training any more")
    if not begun and not {"env", "evaluations"} <= given:
        missing = " and ".join(flag(name) for name in ("env", "evaluations") if name not in given)
        begin = "begin it with --env ./bench.py:NAME --evaluations N"
        raise UsageError(f"RUN_DIR {files.shown}: is no run yet, and {missing} is not given; {begin}")
    config = resolve(files.config("RUN_DIR") if begun else arguments.to_config())
    described = config.problem().describe()
    if not described.asked:
        raise UsageError(f"--env {config.env}: is called by the training itself; use {command('train')}")
    from ppo.training.trainer import Trainer  # torch comes with it, and must not slow a user's mistake down

    with Trainer(config, files, resume=begun, quiet=True) as trainer:
        points = trainer.ask()
        if not points:
            trainer.finish()
    write_points(sys.stdout, points, described)
    print(trainer.state_words(points), file=sys.stderr)


if __name__ == "__main__":
    run_main(main)
