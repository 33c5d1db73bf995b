"""``python -m ppo.study NAME``: the studies of this program. One that was interrupted goes on where it was."""

import importlib
import pathlib
from dataclasses import dataclass
from typing import Literal

import tyro

from env.errors import UsageError
from ppo.config.command_line import given_flags, parse_as, run_main
from ppo.evaluation.plots import matplotlib_installed
from ppo.studies.runs import Options

MAX_SEEDS = 1000
OPTIONS = {"seeds", "quick", "only"}


@dataclass(frozen=True)
class Arguments:
    """Studies of this program. A study that was interrupted goes on where it was."""

    study: tyro.conf.Positional[Literal["scaling", "thesis", "ablation", "control", "tempcontrol"]]
    """scaling: collect, train and broadcast for 0 to 64 drivers and evaluations of 0, 1 and 20 ms (64 episodes x 2
    time steps of 2-D Ackley); rho = collect(1) / collect(k), rho* = collect(1) / (collect(k) + broadcast(k)).
    thesis: its learning experiments, ours beside theirs. ablation: the defaults, each changed alone. control:
    Gymnasium's tasks. tempcontrol: the article's models on its slow process, and simple controllers."""
    out: pathlib.Path | None = None
    """Directory of the results (runs/reference/NAME; with --quick runs/quick-NAME)."""
    seeds: int = 10
    """Seeds of each experiment (not scaling)."""
    quick: bool = False
    """A small fraction of the training steps, to see that it works (not scaling)."""
    only: str | None = None
    """One group of the runs: modes, failure, samplers, algorithms or ten (thesis); returns, times, longer or race
    (tempcontrol); an environment's id (control)."""


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, "python -m ppo.study", argv)
    name = arguments.study
    if not matplotlib_installed():
        raise UsageError("ppo.study: draws with matplotlib; pip install 'tuninglaw[plot]'")
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        raise UsageError(f"--seeds {arguments.seeds}: must be from 1 to {MAX_SEEDS}")
    study = importlib.import_module(f"ppo.studies.{name}")
    for option in sorted(OPTIONS & set(given_flags(argv, Arguments)) - set(study.TAKES)):
        raise UsageError(f"--{option}: the study {name} does not take it")
    if arguments.only not in (None, *study.GROUPS):
        raise UsageError(f"--only {arguments.only}: must be one of {', '.join(study.GROUPS)}")
    out = arguments.out or pathlib.Path(f"runs/quick-{name}" if arguments.quick else f"runs/reference/{name}")
    study.run(Options(out, arguments.seeds, arguments.quick, arguments.only))


if __name__ == "__main__":
    run_main(main)
