"""``python -m ppo.tune``: searches for the hyper-parameters with which training does best, with Optuna."""

import dataclasses
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from actors.pools.auto import cores
from actors.seeding import MAX_SEED
from env.errors import UsageError
from ppo.config import resolve
from ppo.config.command_line import ConfigArguments, given_flags, parse_as, run_main
from ppo.experiments.search import Search, check_packages, tune


@dataclass(frozen=True)
class Arguments(ConfigArguments):
    """Searches for the hyper-parameters with which training does best (the extra tune), several trials side by side.

    The flags of ppo.train hold for every trial, and what they set is not searched for. The study is a file: the same
    command again goes on where it was.
    """

    trials: int = 50
    """Trials in all, those of earlier calls included; pruned ones count."""
    seeds: int = 2
    """Runs a trial, with the seeds from --seed on; a trial's score is their mean."""
    jobs: int = 0
    """Trials side by side; 0 for one a core."""
    out: str | None = None
    """Directory of the study (runs/tune-<env>)."""
    quiet: bool = False
    """No output."""


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, "python -m ppo.tune", argv)
    check_packages()
    for name, least in (("trials", 1), ("seeds", 1), ("jobs", 0)):
        if getattr(arguments, name) < least:
            raise UsageError(f"--{name} {getattr(arguments, name)}: must be at least {least}")
    if arguments.seed + arguments.seeds - 1 > MAX_SEED:
        raise UsageError(f"--seeds {arguments.seeds}: with --seed {arguments.seed} the last one is above {MAX_SEED}")
    jobs = arguments.jobs or cores()
    base = arguments.to_config()
    if base.drivers == "auto" and jobs > 1:
        base = dataclasses.replace(base, drivers=0)  # the trials have the cores
    if not base.eval_every:
        raise UsageError("--eval-every 0: trials are judged by their evaluations")
    resolve(base)
    out = pathlib.Path(arguments.out or f"runs/tune-{base.env.replace('/', '-').replace(':', '-')}")
    search = Search(base, arguments.seeds, out, tuple(given_flags(argv)))
    best = tune(search, arguments.trials, jobs, arguments.quiet)
    if not arguments.quiet:
        print(f"best trial: number {best.number}, {best.value:.6g}; the study is in {out}")
        print(best.user_attrs["command"])


if __name__ == "__main__":
    run_main(main)
