"""The defaults of a tuning problem, each changed alone: the error after the thesis's budget."""

import dataclasses
import math
from typing import Any

import numpy as np

from ppo.experiments.tables import grouped, machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_all
from ppo.studies.statistics import summarised
from ppo.studies.thesis import BUDGET, QUICK_STEPS
from ppo.studies.training_runs import TrainingRun

TAKES, GROUPS = ("seeds", "quick"), ()
ENVS = ("ackley", "shifted-ackley", "rosenbrock")
VARIANTS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "independent noise": {"noise": "independent"},
    "advantages by GAE and a value network": {"advantages": "gae"},
    "ranks to the end": {"rank_fade": 0.0},
    "differences alone": {"rank_fade": 1e300},
    "no inverse-density weights": {"density_bandwidth": 1e3},
    "first layer orthogonal, without biases": {"first_layer": "orthogonal"},
    "two hidden layers of 64": {"hidden_sizes": (64, 64)},
    "no warm-up": {"warmup": 0.0},
    "no update damping": {"update_damping": 0.0},
    "std floor exponential in the progress": {"std_floor_power": 1.0},
}


def run(options: Options) -> None:
    """Does the runs that are missing, and writes ``ablation.md``."""
    base = dataclasses.replace(BUDGET, training_steps=QUICK_STEPS) if options.quick else BUDGET
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    runs = [
        TrainingRun("ablation", name, dataclasses.replace(base, env=env, seed=seed, **changes))
        for name, changes in VARIANTS.items()
        for env in ENVS
        for seed in seeds
    ]
    lines = []
    for (env, name), found in sorted(grouped(run_all(options.out, runs)["ablation"]).items(), key=_order):
        target = float(np.median(numbers(found, "evaluations to target")))
        reached = "never" if math.isinf(target) else f"{target:,.0f}"
        lines.append([env, name, *summarised(numbers(found, "last mean")), reached])
    header = ["objective", "changed", "last 1,000: median", "inter-quartile mean", "worst", "evaluations to 0.01"]
    text = f"{__doc__}\n\n{markdown(header, lines)}\n{machine()}\n"
    (options.out / "ablation.md").write_text(text, encoding="utf-8")
    print(text)


def _order(item: tuple[tuple[str, str], Any]) -> tuple[int, int]:
    """Returns the sort key of a row: its objective, then its variant."""
    env, name = item[0]
    return ENVS.index(env), list(VARIANTS).index(name)
