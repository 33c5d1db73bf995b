"""The thesis's experiments (chapters 4 and 6), with its results beside this program's.

Groups of training runs, all but the last with the thesis's budget (30 episodes x 2 time steps, 5,000 training steps):

    modes        in this process, three threads, three processes: the same curve, bit for bit
    failure      the observation normaliser left out of the snapshot, as in the thesis's multi-process mode
    samplers     each start sampler and their mix, on four objectives
    algorithms   REINFORCE with a value baseline, at as many evaluations
    budget       as many evaluations as --evaluations, with the model that such a budget chooses and without
    ten          5 knobs under 5 conditions, ten times the budget, as --evaluations too; three seeds
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from ppo.config import Config
from ppo.studies.runs import FIRST_SEED, Options, run_groups
from ppo.studies.thesis_report import write_report
from ppo.studies.training_runs import TrainingRun

ENVS = ("ackley", "shifted-ackley", "rosenbrock", "sphere")
SAMPLERS = ("random", "lhs", "uncertainty", "heterogeneous")
TRAINING_STEPS, QUICK_STEPS = 5000, 200
BUDGET = Config(
    drivers=0,
    episodes=30,
    time_steps=2,
    training_steps=TRAINING_STEPS,
    checkpoint_every=10**6,  # none: an interrupted study goes on with whole runs
    checkpoint_seconds=0,
)
BUDGET_SETS: dict[str, Any] = {"episodes": None, "time_steps": None, "training_steps": None}
TAKES = ("seeds", "quick", "only")
GROUPS = ("modes", "failure", "samplers", "algorithms", "budget", "ten")
FEW_SEEDS = 3  # number of seeds of the groups that show an effect without measuring its size, or that take long


def runs_of(group: str, seeds: int, quick: bool) -> list[TrainingRun]:
    """Returns the runs of a group, with a few training steps each if ``quick``."""
    steps = QUICK_STEPS if quick else TRAINING_STEPS
    base = dataclasses.replace(BUDGET, training_steps=steps)
    numbers = range(FIRST_SEED, FIRST_SEED + seeds)

    def training(variant: str, seed: int, **changes: object) -> TrainingRun:
        return TrainingRun(group, variant, dataclasses.replace(base, seed=seed, **changes))  # type: ignore[arg-type]

    if group == "modes":
        modes: dict[str, dict[str, object]] = {
            "in this process": {},
            "3 threads": {"drivers": 3, "backend": "thread"},
            "3 processes": {"drivers": 3},
        }
        return [training(name, FIRST_SEED, sampler="heterogeneous", **changes) for name, changes in modes.items()]
    if group == "failure":
        whole = [
            training("whole snapshot", seed, env=env, norm_obs=True)
            for env in ("ackley", "rosenbrock")
            for seed in numbers[:FEW_SEEDS]
        ]
        return whole + [
            dataclasses.replace(one, variant="normaliser left out", without_normaliser=True) for one in whole
        ]
    if group == "samplers":
        return [training(name, seed, env=env, sampler=name) for env in ENVS for name in SAMPLERS for seed in numbers]
    if group == "algorithms":
        return [training("reinforce", seed, env=env, algo="reinforce") for env in ENVS for seed in numbers]
    if group == "budget":
        return _budgets(60 * steps, numbers)
    samplers = {name: {"sampler": name, "training_steps": 10 * steps} for name in ("random", "lhs", "heterogeneous")}
    budget = BUDGET_SETS | {"evaluations": 600 * steps, "model": "none"}  # as the budget chooses, but for --quick
    variants: dict[str, dict[str, object]] = samplers | {"--evaluations 3000000": budget}
    return [
        training(name, seed, env=env, dims=10, knobs=5, eval_every=100, **changes)
        for name, changes in variants.items()
        for env in ("rosenbrock", "shifted-ackley")
        for seed in numbers[:FEW_SEEDS]
    ]


def _budgets(evaluations: int, seeds: Sequence[int]) -> list[TrainingRun]:
    """Returns the trainings of a budget. They are evaluated at the end alone, so that the best is the law's error."""
    config = dataclasses.replace(BUDGET, **BUDGET_SETS, evaluations=evaluations, eval_every=10**6)
    models: tuple[Literal["gp", "none"], ...] = "gp", "none"
    return [
        TrainingRun("budget", f"--model {model}", dataclasses.replace(config, env=env, model=model, seed=seed))
        for env in ENVS
        for model in models
        for seed in seeds
    ]


def run(options: Options) -> None:
    """Does the missing runs of one group or of all; writes tables and figures of the complete groups."""
    groups = {group: runs_of(group, options.seeds, options.quick) for group in GROUPS}
    write_report(options.out, run_groups(options.out, groups, options.only))
