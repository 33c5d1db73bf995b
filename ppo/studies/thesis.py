"""The thesis's experiments (chapters 4 and 6), its results beside ours.

Groups of training runs, all of the thesis's budget (30 episodes x 2 time steps, 5,000 training steps) but the last:

    modes        in this process, three threads, three processes: the same curve, bit for bit
    failure      the observation normaliser left out of the snapshot, as in the thesis's multi-process mode
    samplers     each start sampler and their mix, on four objectives
    algorithms   REINFORCE with a value baseline, at as many evaluations
    ten          5 knobs under 5 conditions, ten times the budget; three seeds
"""

import dataclasses
import pathlib

from ppo.config.fields import Config
from ppo.studies.cells import FIRST_SEED, Cell, missing_cells, run_cells
from ppo.studies.report import write_report

ENVS = ("ackley", "shifted-ackley", "rosenbrock", "sphere")
SAMPLERS = ("random", "lhs", "uncertainty", "heterogeneous")
BUDGET = Config(drivers=0, episodes=30, time_steps=2, training_steps=5000, checkpoint_every=10**6)
GROUPS = ("modes", "failure", "samplers", "algorithms", "ten")
FEW = 3  # seeds of the groups that show that something is so, rather than how large it is, or that take long


def cells(group: str, seeds: int, quick: bool) -> list[Cell]:
    """The runs of a group."""
    base = dataclasses.replace(BUDGET, training_steps=200) if quick else BUDGET
    numbers = range(FIRST_SEED, FIRST_SEED + seeds)

    def cell(variant: str, seed: int, **changes: object) -> Cell:
        return Cell(group, variant, dataclasses.replace(base, seed=seed, **changes))  # type: ignore[arg-type]

    if group == "modes":
        modes: dict[str, dict[str, object]] = {
            "in this process": {},
            "3 threads": {"drivers": 3, "backend": "thread"},
            "3 processes": {"drivers": 3},
        }
        return [cell(name, FIRST_SEED, sampler="heterogeneous", **changes) for name, changes in modes.items()]
    if group == "failure":
        whole = [
            cell("whole snapshot", seed, env=env, norm_obs=True)
            for env in ("ackley", "rosenbrock")
            for seed in numbers[:FEW]
        ]
        return whole + [
            dataclasses.replace(one, variant="normaliser left out", without_normaliser=True) for one in whole
        ]
    if group == "samplers":
        return [cell(name, seed, env=env, sampler=name) for env in ENVS for name in SAMPLERS for seed in numbers]
    if group == "algorithms":
        return [cell("reinforce", seed, env=env, algo="reinforce") for env in ENVS for seed in numbers]
    ten = {"dims": 10, "knobs": 5, "training_steps": 10 * (base.training_steps or 0), "eval_every": 100}
    return [
        cell(name, seed, env=env, sampler=name, **ten)
        for name in ("random", "lhs", "heterogeneous")
        for env in ("rosenbrock", "shifted-ackley")
        for seed in numbers[:FEW]
    ]


def thesis(out: pathlib.Path, seeds: int, quick: bool, only: str | None) -> None:
    """Runs what is missing of one group or of all, and writes tables and figures of the complete ones into ``out``."""
    groups = {group: cells(group, seeds, quick) for group in GROUPS}
    run_cells(out, [cell for group in GROUPS if only in (None, group) for cell in groups[group]])
    complete = [cell for group in GROUPS if not missing_cells(out, groups[group]) for cell in groups[group]]
    write_report(out, run_cells(out, complete))
