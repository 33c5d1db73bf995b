"""The article's study of ``TempControl``: its four models, Stable-Baselines3 beside them, and simple controllers.

Base, Optuna, Parallel, and Parallel + Optuna are this program with its defaults or searched settings, in one process or
with driver processes. All models train for the article's 20,000 time steps. On v1 the slots start at any temperature,
and the last five actions are observed, by Stable-Baselines3 too. Stable-Baselines3 has its own defaults, except for 4
environments of 512 time steps and for normalised observations and rewards. There is one search for each version, with
other seeds, for v1 at the medium level. Longer trainings are a part of the study of the defaults. Groups of runs:

    returns    each model, level of complexity and seed, without the load, which changes no result
    times      the same with the load, which is the same at all levels: one run at a time
    race       time until the mean return of 20 episodes passes that of the best PID, with the load

Every process has one thread for BLAS and torch, on either side. PID and PD with bias are tuned by differential
evolution on 100 other episodes.
"""

import dataclasses
import json
import pathlib
from typing import Any

from actors.pools.processes import cores
from env.controllers import PID
from ppo.config import Config
from ppo.experiments.stable_baselines3 import PEER_LABEL, PeerSetup
from ppo.studies.control_runs import MeasuredTraining, check_extras, shortened
from ppo.studies.runs import FIRST_SEED, Options, missing_runs, run_all
from ppo.studies.tempcontrol_controllers import BY_RULE, TUNED_PID, controllers, tuned_controllers
from ppo.studies.tempcontrol_problems import BASE, LEVELS, MODELS, tempcontrol_config
from ppo.studies.tempcontrol_race import RaceRun
from ppo.studies.tempcontrol_report import write_report

TAKES = ("seeds", "quick", "only")
GROUPS = ("returns", "times", "race")
TIMED = ("v0", "v1 medium")  # problems on which times are measured and settings are searched for
TRIALS, SEARCH_SEEDS = 50, 3
FEW_SEEDS = 3  # number of seeds of the groups whose runs are done one at a time
DRIVERS = 2  # one for each core of the machine on which the reference results were measured
RACE_STEPS = {"Parallel + Optuna": 40_000, PEER_LABEL: 61_440}  # budgets of time steps of the group race
TEMPCONTROL_PEER = PeerSetup(environments=4, processes=True, normalise={}, settings={"n_steps": 512})


def run(options: Options) -> None:
    """Does the missing runs of one group or of all; writes tables and figures of the complete groups."""
    out, only, quick = options.out, options.only, options.quick
    searches = {version: searched(out, version, quick) for version in BASE}
    tuned = tuned_controllers(saved(out, "controllers", quick), quick)
    found = {version: search["settings"] for version, search in searches.items()}
    rivals = (*BY_RULE.values(), tuned["v1 medium"][TUNED_PID])
    groups = {group: runs_of(group, options.seeds, found, rivals, quick) for group in GROUPS}
    for group in GROUPS:
        if only in (None, group):
            check_extras(missing_runs(out, groups[group]))
            run_all(out, groups[group], 1 if group in ("times", "race") else None)
    complete = {g: run_all(out, some)[g] for g, some in groups.items() if not missing_runs(out, some)}
    shown = {name: controllers(name, tuned) for name in LEVELS}
    write_report(out, f"# TempControl\n\n{__doc__}", complete, searches, shown)


def runs_of(
    group: str, seeds: int, found: dict[str, dict[str, Any]], rivals: tuple[PID, ...], quick: bool
) -> list[Any]:
    """Returns the runs of a group.

    Args:
        group: name of the group, one of ``GROUPS``.
        seeds: number of seeds.
        found: searched settings of each version.
        rivals: controllers of which the runs of the group ``race`` must pass the best.
        quick: whether each run has only two training steps.
    """
    all_seeds, load = range(FIRST_SEED, FIRST_SEED + seeds), group in ("times", "race")

    def set_up(name: str, seed: int, model: str, **changes: Any) -> tuple[Config, PeerSetup | None]:
        """Returns the configuration of a model, and the set-up of the peer where it is the model."""
        settings = found[name.split()[0]] if "Optuna" in model else {}
        drivers = DRIVERS if "Parallel" in model else 0
        config = dataclasses.replace(tempcontrol_config(name, load), seed=seed, drivers=drivers, **settings, **changes)
        return shortened(config) if quick else config, TEMPCONTROL_PEER if model == PEER_LABEL else None

    if group == "race":
        return [
            RaceRun(group, "v1 medium", model, *set_up("v1 medium", seed, model, env_steps=steps), rivals)
            for seed in all_seeds[:FEW_SEEDS]
            for model, steps in RACE_STEPS.items()
        ]
    return [
        MeasuredTraining(group, name, model, *set_up(name, seed, model))
        for seed in (all_seeds[:FEW_SEEDS] if group == "times" else all_seeds)
        for name in (TIMED if group == "times" else LEVELS)
        for model in MODELS
    ]


def saved(out: pathlib.Path, name: str, quick: bool) -> pathlib.Path:
    """Returns the path of a search's result; quick searches have another one than whole searches."""
    return out / f"{'quick-' if quick else ''}{name}.json"


def searched(out: pathlib.Path, version: str, quick: bool) -> dict[str, Any]:
    """Returns the result of a search with Optuna, which is done unless its result is in ``out``.

    The result holds the settings, their score, the number of trials, and the sum of their seconds.
    """
    path = saved(out, f"search-{version}", quick)
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    from ppo.experiments.search import check_packages, finished, tune
    from ppo.experiments.search_settings import Search

    check_packages()
    # The load changes no result and is left out. Evaluations are frequent enough to prune trials by.
    name = next(name for name in TIMED if name.startswith(version))
    base = dataclasses.replace(tempcontrol_config(name, load=False), eval_every=4)
    if quick:
        base = shortened(base)
    search = Search(base, SEARCH_SEEDS, out / f"search-{version}", tuple(base.changed()))  # its seeds count from 0 on
    best = tune(search, 2 if quick else TRIALS, cores())
    # The lengths of trials are added, since the time stamps of an interrupted study span the interruption.
    lengths = [trial.duration.total_seconds() for trial in finished(search.study())]
    found = {"settings": best.params, "score": best.value, "trials": len(lengths), "seconds": sum(lengths)}
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found
