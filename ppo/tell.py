"""``tuninglaw tell RUN_DIR results.csv``: takes what a bench has measured."""

import pathlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from env.errors import UsageError
from ppo.config import resolve
from ppo.config.command_line import parse_as, run_main
from ppo.data.answers import check_settings, read_answers
from ppo.startup import command
from ppo.training.run_dir import RunDir


@dataclass(frozen=True)
class Arguments:
    """Takes what a bench has measured: the table that ask printed, with its column f filled in.

    In it a number is f, failed says that f cannot be had there, skipped that it was not measured; what is empty is told
    later. Constraints are told in columns g_0, g_1, .., conditions that are observed in columns of their names. A row
    with the id close takes all open points of the round for skipped.
    """

    run_dir: tyro.conf.Positional[pathlib.Path]
    """Directory of the run."""
    results: tyro.conf.Positional[pathlib.Path]
    """The table, a CSV file."""


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("tell"), argv)
    files = RunDir(arguments.run_dir)
    config = resolve(files.config("RUN_DIR"))
    described = config.problem().describe()
    if not described.asked:
        raise UsageError(f"RUN_DIR {files.shown}: its --env {config.env} is no bench, and is not told")
    answers = read_answers(arguments.results, described)
    from ppo.training.trainer import Trainer  # torch comes with it, and must not slow a user's mistake down

    with Trainer(config, files, resume=True, quiet=True) as trainer:
        check_settings(answers, trainer.ask(), described)
        trainer.tell(answers.values, answers.close)
        points = trainer.ask()
        if not points:
            trainer.finish()
    print(trainer.state_words(points), file=sys.stderr)


if __name__ == "__main__":
    run_main(main)
