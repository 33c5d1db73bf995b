"""``python -m ppo.tune``: searches for the best hyper-parameters of a training with Optuna."""

import dataclasses
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from actors.pools.processes import cores
from actors.seeding import MAX_SEED
from env.errors import UsageError
from ppo.config import resolve
from ppo.config.command_line import ConfigArguments, given_flags, parse_as, run_main
from ppo.config.memory import check_memory
from ppo.experiments.search import check_packages, outcome, tune
from ppo.experiments.search_settings import FRESH_SEEDS, Search
from ppo.startup import command


@dataclass(frozen=True)
class Arguments(ConfigArguments):
    """Searches for the best hyper-parameters of a training (the extra tune), with several trials at a time.

    The flags of ppo.train hold for every trial, and what they set is not searched for. The first trial has the
    defaults. At the end the best ones are compared with it, one after the other, by seeds that no trial was chosen by,
    until one is better; if none is, the defaults are what comes out. The study is kept in a file: the same command
    continues it after an interruption.
    """

    trials: int = 50
    """Number of trials in all, including those of earlier calls and pruned ones."""
    seeds: int = 2
    """Number of runs of a trial, with the seeds from --seed on; the score of a trial is their mean."""
    jobs: int = 0
    """Number of trials at a time; 0 for one on each core."""
    out: str | None = None
    """Directory of the study (runs/tune-<env>)."""
    quiet: bool = False
    """No output."""


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("tune"), argv)
    check_packages()
    for name, least in (("trials", 1), ("seeds", 1), ("jobs", 0)):
        if getattr(arguments, name) < least:
            raise UsageError(f"--{name} {getattr(arguments, name)}: must be at least {least}")
    if arguments.seed + arguments.seeds + FRESH_SEEDS - 1 > MAX_SEED:
        what = f"--seeds {arguments.seeds}: with --seed {arguments.seed}, and {FRESH_SEEDS} more to compare by"
        raise UsageError(f"{what}, the last one is above {MAX_SEED}")
    jobs = arguments.jobs or cores()
    base = arguments.to_config()
    if base.drivers == "auto" and jobs > 1:
        base = dataclasses.replace(base, drivers=0)  # the cores are taken by the trials
    if base.eval_every == 0:
        raise UsageError("--eval-every 0: trials are judged by their evaluations")
    check_memory(resolve(base))
    if base.problem().describe().whole_rounds:
        raise UsageError(
            f"--env {base.env}: trials are judged at conditions of their own, at which it cannot be called"
        )
    out = pathlib.Path(arguments.out or f"runs/tune-{base.env.replace('/', '-').replace(':', '-')}")
    search = Search(base, arguments.seeds, out, tuple(given_flags(argv)))
    best = tune(search, arguments.trials, jobs, arguments.quiet)
    if not arguments.quiet:
        print(f"{outcome(search, best)}; the study is in {out}")
        print(best.user_attrs["command"])


if __name__ == "__main__":
    run_main(main)
