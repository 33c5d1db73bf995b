"""``python -m ppo.study NAME``: runs a study, or continues it after an interruption."""

import importlib
import pathlib
from dataclasses import dataclass
from typing import Literal

import tyro

from env.errors import UsageError
from ppo.config.command_line import given_flags, parse_as, run_main
from ppo.evaluation.plots import matplotlib_installed
from ppo.startup import command
from ppo.studies.runs import Options

MAX_SEEDS = 1000
OPTIONS = {"seeds", "quick", "only"}  # options that only some studies take


Study = Literal[
    "scaling",
    "cluster",
    "scale",
    "lag",
    "thesis",
    "ablation",
    "budget",
    "frugal",
    "gallery",
    "polish",
    "defaults",
    "tempcontrol",
]


@dataclass(frozen=True)
class Arguments:
    """Runs a study. The same command continues it after an interruption."""

    study: tyro.conf.Positional[Study]
    """scaling: collect, train and broadcast for 0 to 64 drivers and evaluations of 0, 1 and 20 ms (64 episodes x 2
    time steps of 2-D Ackley); rho = collect(1) / collect(k), rho* = collect(1) / (collect(k) + broadcast(k)).
    cluster: two nodes of a Ray cluster on this machine, beside pipes, killed, joining and leaving, and 1,000
    drivers. scale: what messages, snapshots and merging cost, and what 100 to 10,000 drivers would do by that.
    lag: time of a training step, and final errors, with and without --lag. thesis: the thesis's learning experiments,
    its results beside this program's. ablation: the defaults, each changed alone. budget: laws of 300 to 18,000
    evaluations without a model. frugal: laws of 100 to 100,000 evaluations with the defaults. gallery: problems of
    engineering whose best knobs are known. polish: evaluations at a query, beside differential evolution. defaults: the
    defaults of control on thirteen tasks, beside Stable-Baselines3's. tempcontrol: the article's models on its slow
    process, and simple controllers."""
    out: pathlib.Path | None = None
    """Directory of the results (runs/reference/NAME; with --quick runs/quick-NAME)."""
    seeds: int = 10
    """Number of seeds of each experiment (not scaling)."""
    quick: bool = False
    """Take a small fraction of the training steps, to check that the study works (not scaling)."""
    only: str | None = None
    """Group of runs to do alone: modes, failure, samplers, algorithms or ten (thesis); times or errors (lag); small,
    every, large or none (frugal); returns, times or race (tempcontrol); an environment's id, ablation, again or advised
    (defaults)."""


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("study"), argv)
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
