"""The defaults of control on tasks of unlike kinds, beside Stable-Baselines3's: returns over 100 held-out episodes.

A training has the environment and its budget of time steps; nothing else is given, on either side. TempControl-v1 and
MountainCarContinuous-v0 have ``--sampler lhs`` here; Stable-Baselines3 starts where the task starts. Seeds count from
401 on, and none of them was used to choose anything; nor was any task that is held out. Episodes start as the task
does. Chance is the return of random actions. On HalfCheetah, Stable-Baselines3 is trained as well with normalised
observations and rewards, which its defaults are not, a discount of 0.98, a lambda of 0.92 and an initial std of 0.3:
those were chosen for this program. Every process has one thread.
"""

import dataclasses

from ppo.config import Config, resolve
from ppo.experiments.stable_baselines3 import PEER_LABEL
from ppo.experiments.tables import machine
from ppo.studies.control_runs import CHANCE, OURS, MeasuredTraining, RandomActionsRun, check_extras, shortened
from ppo.studies.defaults_ablation import ABLATED, ablation_table, changed, differs
from ppo.studies.defaults_report import draw, furnace_tables, peer_table, task_table
from ppo.studies.defaults_tasks import TASKS, Task
from ppo.studies.runs import FIRST_SEED, Options, missing_runs, run_all
from ppo.studies.tempcontrol import saved
from ppo.studies.tempcontrol_controllers import controllers, tuned_controllers
from ppo.studies.tempcontrol_problems import LEVELS

ABLATION = "ablation"
TAKES = ("seeds", "quick", "only")
GROUPS = (*dict.fromkeys(task.config.env for task in TASKS), ABLATION)
CURVE_POINTS = 15


def run(options: Options) -> None:
    """Does the missing runs of an environment, of the ablation, or all; writes ``defaults.md`` and ``defaults.png``."""
    out, only = options.out, options.only
    runs = {task.name: runs_of(task, options.seeds, options.quick) for task in TASKS}
    ablated = ablation_runs(options.seeds, options.quick)
    wanted = [one for task in TASKS if only in (None, task.config.env) for one in runs[task.name]]
    wanted += ablated if only in (None, ABLATION) else []
    check_extras(missing_runs(out, wanted))
    run_all(out, wanted)
    complete = [task for task in TASKS if not missing_runs(out, runs[task.name])]
    rows = run_all(out, [one for task in complete for one in runs[task.name]]).get("tasks", [])
    parts = [__doc__ or "", task_table(complete, rows), peer_table(complete, rows)]
    if any("level" in task.config.env_kwargs for task in complete):
        tuned = tuned_controllers(saved(out, "controllers", options.quick), options.quick)
        simple = {LEVELS[name]: controllers(name, tuned) for name in tuned}
        parts.append(furnace_tables(complete, rows, simple))
    if len(complete) == len(TASKS) and not missing_runs(out, ablated):
        parts.append(ablation_table(rows, run_all(out, ablated)[ABLATION]))
    text = "\n".join([*(part for part in parts if part), machine()])
    (out / "defaults.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    if complete:
        draw(out / "defaults.png", complete, rows)


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


def measured(config: Config, quick: bool) -> Config:
    """Returns a configuration in this process, with evaluations for a curve; a quick one has few training steps."""
    config = shortened(config) if quick else config
    steps = resolve(config).training_steps
    return dataclasses.replace(config, drivers=0, eval_every=max(1, steps // CURVE_POINTS))


def seeded(config: Config, seeds: int) -> list[Config]:
    """Returns a configuration with each of the first seeds."""
    return [dataclasses.replace(config, seed=seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
