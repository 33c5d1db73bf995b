"""The defaults of control on tasks of unlike kinds, beside Stable-Baselines3's: returns over 100 held-out episodes.

A training has the environment and its budget of time steps, TempControl-v1 and MountainCarContinuous-v0 have
``--sampler lhs`` as well, and nothing else is given; Stable-Baselines3 has its defaults, and starts as the task does.
Seeds count from 401 on. Where all tasks are measured once more they count from 501 on, and nothing of these had been
seen when the last default was decided. Held-out episodes start as the task does. Chance is the return of random
actions. On HalfCheetah, Stable-Baselines3 is trained as well with normalised observations and rewards, a discount of
0.98, a lambda of 0.92 and an initial std of 0.3, which were chosen for version 0.1 of this program. Every process has
one thread.
"""

import dataclasses
import pathlib
from collections.abc import Sequence

from ppo.config import Config, resolve
from ppo.experiments.stable_baselines3 import PEER_LABEL
from ppo.experiments.tables import Row, machine
from ppo.studies.control_runs import CHANCE, OURS, MeasuredTraining, RandomActionsRun, check_extras, shortened
from ppo.studies.defaults_ablation import ABLATED, ablation_table, changed, differs
from ppo.studies.defaults_report import again_table, draw, furnace_table, peer_table, task_table
from ppo.studies.defaults_tasks import ADVISED_TASKS, TASKS, Task
from ppo.studies.runs import FIRST_SEED, Options, missing_runs, run_all
from ppo.studies.tempcontrol import saved
from ppo.studies.tempcontrol_controllers import controllers, tuned_controllers
from ppo.studies.tempcontrol_problems import LEVELS

ABLATION, AGAIN, ADVISED = "ablation", "again", "advised"
TAKES = ("seeds", "quick", "only")
GROUPS = (*dict.fromkeys(task.config.env for task in TASKS), ABLATION, AGAIN, ADVISED)
UNSEEN_SEED = 501
"""First of the seeds of which nothing had been seen when the last default was decided."""
CURVE_POINTS = 15
UNSEEN = {AGAIN: TASKS, ADVISED: ADVISED_TASKS}
"""Tasks that are measured with the seeds of which nothing had been seen, by group."""


def run(options: Options) -> None:
    """Does the missing runs of a group, or all; writes ``defaults.md`` and ``defaults.png``."""
    out, only, seeds, quick = options.out, options.only, options.seeds, options.quick
    runs = {task.name: runs_of(task, seeds, quick) for task in TASKS}
    more = {group: unseen_runs(group, tasks, seeds, quick) for group, tasks in UNSEEN.items()}
    more[ABLATION] = ablation_runs(seeds, quick)
    wanted = [one for task in TASKS if only in (None, task.config.env) for one in runs[task.name]]
    wanted += [one for group, some in more.items() if only in (None, group) for one in some]
    check_extras(missing_runs(out, wanted))
    run_all(out, wanted)
    complete = [task for task in TASKS if not missing_runs(out, runs[task.name])]
    rows = run_all(out, [one for task in complete for one in runs[task.name]]).get("tasks", [])
    done = run_all(out, [one for some in more.values() if not missing_runs(out, some) for one in some])
    parts = [__doc__ or "", task_table(complete, rows), peer_table(complete, rows)]
    if len(complete) == len(TASKS):
        parts += [again_table(complete, rows, done[AGAIN])] if AGAIN in done else []
        parts += [ablation_table(rows, done[ABLATION])] if ABLATION in done else []
    if any("level" in task.config.env_kwargs for task in complete):
        parts += furnace_tables(saved(out, "controllers", quick), quick, complete, rows, done)
    text = "\n".join([*(part for part in parts if part), machine()])
    (out / "defaults.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    if complete:
        draw(out / "defaults.png", complete, rows)


def furnace_tables(
    kept: pathlib.Path, quick: bool, complete: Sequence[Task], rows: list[Row], done: dict[str, list[Row]]
) -> list[str]:
    """Returns the tables of gains over simple controllers on the furnace.

    Args:
        kept: file of the tuned controllers.
        quick: whether they are tuned in little time.
        complete: tasks without a missing run.
        rows: rows of the tasks.
        done: rows of the other groups that are complete.
    """
    tuned = tuned_controllers(kept, quick)
    simple = {LEVELS[name]: controllers(name, tuned) for name in tuned}
    again, advised = done.get(AGAIN, []), done.get(ADVISED, [])
    shown: list[tuple[str, Sequence[Task], list[Row]]] = [
        ("Gain over simple controllers, on the same episodes", complete, rows),
        ("The same gain, once more", TASKS, again),
        ("The same gain, of all these seeds together", complete, [*rows, *again] if again else []),
        ("The same gain, past actions observed, discount 0.95, observations as they are", ADVISED_TASKS, advised),
    ]
    return [furnace_table(title, tasks, some, simple) for title, tasks, some in shown]


def runs_of(task: Task, seeds: int, quick: bool) -> list[MeasuredTraining | RandomActionsRun]:
    """Returns the runs of a task: this program's, Stable-Baselines3's, and random actions."""
    config = measured(task.config, quick)
    ours = [MeasuredTraining("tasks", task.name, OURS, one) for one in seeded(config, min(seeds, task.seeds))]
    theirs = [
        MeasuredTraining("tasks", task.name, name, one, peer)
        for name, peer in task.sides.items()
        for one in seeded(config, min(seeds, task.peer_seeds if name == PEER_LABEL else task.seeds))
    ]
    start = Config(env=task.config.env, env_kwargs=task.config.env_kwargs)
    return [*ours, *theirs, RandomActionsRun("tasks", task.name, CHANCE, start)]


def ablation_runs(seeds: int, quick: bool) -> list[MeasuredTraining]:
    """Returns the runs of the ablation; those of the defaults themselves are the tasks'."""
    return [
        MeasuredTraining(ABLATION, task.name, name, one)
        for task in TASKS
        if task.ablated
        for name in ABLATED
        if differs(task.config, name)
        for one in seeded(measured(changed(task.config, name), quick), min(seeds, task.seeds))
    ]


def unseen_runs(group: str, tasks: Sequence[Task], seeds: int, quick: bool) -> list[MeasuredTraining]:
    """Returns this program's runs of tasks with the seeds of which nothing had been seen."""
    return [
        MeasuredTraining(group, task.name, OURS, one)
        for task in tasks
        for one in seeded(measured(task.config, quick), min(seeds, task.seeds), UNSEEN_SEED)
    ]


def measured(config: Config, quick: bool) -> Config:
    """Returns a configuration in this process, with evaluations for a curve; a quick one has few training steps."""
    config = shortened(config) if quick else config
    steps = resolve(config).training_steps
    return dataclasses.replace(config, drivers=0, eval_every=max(1, steps // CURVE_POINTS))


def seeded(config: Config, seeds: int, first: int = FIRST_SEED) -> list[Config]:
    """Returns a configuration with each of ``seeds`` seeds, from ``first`` on."""
    return [dataclasses.replace(config, seed=seed) for seed in range(first, first + seeds)]
