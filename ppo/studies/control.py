"""Gymnasium's tasks: return over 100 held-out episodes, from the task's own starts, after a fixed number of time steps.

Seeds count from 401 on; the settings are the defaults of version 0.1, but for a few that were chosen with other seeds.
``python -m ppo.study defaults`` is about the defaults of today. Chance is the return of random actions, and the
threshold is the return from which Gymnasium considers a task solved. On HalfCheetah, Stable-Baselines3 is trained as
well, with the same discount, lambda and initial std, with normalised observations and rewards, and otherwise with its
defaults; this program's other settings were chosen with seeds 1 to 3, after its default settings had not been better
than that.
"""

import dataclasses
import pathlib
from dataclasses import dataclass

import gymnasium
import numpy as np

from ppo.config import Config, resolve
from ppo.config.command_line import command_words
from ppo.experiments.control_benchmarks import HALF_CHEETAH, HALF_CHEETAH_PEER
from ppo.experiments.stable_baselines3 import PEER_LABEL, PeerSetup
from ppo.experiments.tables import Row, machine, markdown
from ppo.studies.control_runs import (
    CHANCE,
    FORMER,
    OURS,
    MeasuredTraining,
    RandomActionsRun,
    check_extras,
    draw_curve,
    mean_returns,
    median_seconds,
    rows_of,
)
from ppo.studies.runs import FIRST_SEED, Options, missing_runs, run_all


@dataclass(frozen=True)
class Task:
    """A task, and the return that its training should reach.

    Attributes:
        config: configuration, with the settings that are not defaults.
        aim: mean return that a seed should reach; None where it is the median of Stable-Baselines3.
        share: share of the seeds that should reach the aim; a half for the median.
        max_seeds: largest number of seeds, which is small for tasks that take long.
        peer: set-up of Stable-Baselines3, which is then trained as well; None where it is not.
    """

    config: Config
    aim: float | None
    share: float
    max_seeds: int = 1000
    peer: PeerSetup | None = None


TASKS = [
    Task(Config(env="CartPole-v1", training_steps=30, episodes=4, **FORMER), 500.0, 1.0),
    Task(
        Config(env="Pendulum-v1", training_steps=75, episodes=10, **FORMER | {"gamma": 0.95, "learning_rate": 1e-3}),
        -180.0,
        0.5,
    ),
    Task(
        Config(
            env="MountainCarContinuous-v0",
            training_steps=150,
            episodes=10,
            sampler="lhs",
            time_steps=200,
            **FORMER,
        ),
        90.0,
        0.8,
    ),
    Task(
        dataclasses.replace(HALF_CHEETAH, std=FORMER["std"], norm_value=FORMER["norm_value"]),
        aim=None,
        share=0.5,
        max_seeds=3,
        peer=HALF_CHEETAH_PEER,
    ),
]
TAKES = ("seeds", "quick", "only")
GROUPS = tuple(task.config.env for task in TASKS)


def run(options: Options) -> None:
    """Does the missing runs of one task or of all; writes ``control.md`` and ``control.png`` for complete tasks."""
    out = options.out
    runs = {task.config.env: runs_of(task, options.seeds, options.quick) for task in TASKS}
    wanted = [run for env in runs if options.only in (None, env) for run in runs[env]]
    check_extras(missing_runs(out, wanted))
    run_all(out, wanted)
    complete = [task for task in TASKS if not missing_runs(out, runs[task.config.env])]
    rows = run_all(out, [run for task in complete for run in runs[task.config.env]])["control"]
    text = f"{__doc__}\n\n{table(complete, rows)}\n{machine()}\n"
    (out / "control.md").write_text(text, encoding="utf-8")
    print(text)
    draw(out / "control.png", rows)


def runs_of(task: Task, seeds: int, quick: bool) -> list[MeasuredTraining | RandomActionsRun]:
    """Returns the runs of a task: this program's, Stable-Baselines3's if any, and random actions."""
    steps = 2 if quick else resolve(task.config).training_steps
    config = dataclasses.replace(task.config, drivers=0, training_steps=steps, eval_every=max(1, steps // 15))
    configs = [
        dataclasses.replace(config, seed=seed) for seed in range(FIRST_SEED, FIRST_SEED + min(seeds, task.max_seeds))
    ]
    ours = [MeasuredTraining("control", config.env, OURS, seeded) for seeded in configs]
    theirs = [MeasuredTraining("control", config.env, PEER_LABEL, seeded, task.peer) for seeded in configs if task.peer]
    return [*ours, *theirs, RandomActionsRun("control", config.env, CHANCE, Config(env=config.env))]


def table(tasks: list[Task], rows: list[Row]) -> str:
    """Returns the table, with a line for each task and for each peer, as Markdown."""
    lines = []
    for task in tasks:
        here, there, by_chance = (rows_of(rows, task.config.env, variant) for variant in (OURS, PEER_LABEL, CHANCE))
        ours, theirs = mean_returns(here), mean_returns(there)
        aim = float(np.median(theirs)) if task.aim is None else task.aim
        reached = sum(mean >= aim for mean in ours)
        threshold = gymnasium.spec(task.config.env).reward_threshold
        lines.append(
            [
                *(task.config.env, f"{int(here[0]['env steps']):,}", settings(task.config)),
                *(f"{mean_returns(by_chance)[0]:.1f}", "-" if threshold is None else f"{threshold:g}"),
                *(f"{np.median(ours):.1f}", f"{min(ours):.1f}", f"{aim:.1f}{' (theirs)' if theirs else ''}"),
                *(f"{reached} of {len(ours)}", f"{task.share:.0%}", median_seconds(here)),
            ]
        )
        if theirs:
            shown = (f"{np.median(theirs):.1f}", f"{min(theirs):.1f}", "-", "-", "-", median_seconds(there))
            lines.append([f"{task.config.env}, {PEER_LABEL}", f"{int(there[0]['env steps']):,}", "-", "-", "-", *shown])
    header = ["task", "time steps", "not default", "chance", "threshold", "median over seeds", "worst seed", "aim"]
    return markdown([*header, "seeds that reach it", "should", "s"], lines)


def settings(config: Config) -> str:
    """Returns the flags of the settings that are not defaults, without the environment and the training's length."""
    return " ".join(command_words(dataclasses.replace(config, env=Config.env, training_steps=None))) or "-"


def draw(path: pathlib.Path, rows: list[Row]) -> None:
    """Draws the return of evaluations over time steps, with a panel for each task and a line for each seed."""
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(row["problem"] for row in rows))
    figure = Figure(figsize=(4.0 * len(tasks), 3.4), layout="constrained")
    for axis, env in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        for row in rows:
            if row["problem"] == env and row["curve"]:
                draw_curve(axis, row)
        for level in mean_returns(rows_of(rows, env, PEER_LABEL)):
            axis.axhline(level, color="#ee6677", ls="--", lw=1, label=f"{PEER_LABEL}, at the end")
        axis.set(title=env, xlabel="time steps")
        axis.locator_params(axis="x", nbins=4)
        axis.grid(alpha=0.3)
        if handles := axis.get_legend_handles_labels()[0]:
            axis.legend(handles=handles[:1], fontsize=8)
        axis.set_ylabel("return")
    figure.savefig(path, dpi=100)
