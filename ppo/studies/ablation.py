"""The defaults of a tuning problem, each changed alone: error after the thesis's budget."""

import dataclasses
import math
import pathlib
from typing import Any

import numpy as np

from ppo.experiments.tables import machine, markdown
from ppo.studies.cells import FIRST_SEED, Cell, run_cells
from ppo.studies.report import grouped, numbers
from ppo.studies.statistics import shown
from ppo.studies.thesis import BUDGET

ENVS = ("ackley", "shifted-ackley", "rosenbrock")
LEARNER = "ppo.algorithm.learner."
VARIANTS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "noise not mirrored": {"noise": "independent"},
    "advantages by GAE and a value network": {"advantages": "gae"},
    "advantages by ranks to the end": {LEARNER + "RANKS_UNTIL": 0.0},
    "advantages by differences alone": {LEARNER + "RANKS_UNTIL": math.inf},
    "conditions not evened out": {LEARNER + "EVENING_WIDTH": 1e3},
    "first layer orthogonal, without biases": {"first_layer": "orthogonal"},
    "two hidden layers of 64": {"hidden_sizes": (64, 64)},
    "no warm-up": {"warmup": 0.0},
    "updates not shortened where they disagree": {"agreement": 0.0},
    "std floor exponential in the progress": {LEARNER + "FLOOR_POWER": 1.0},
}


def ablation(out: pathlib.Path, seeds: int, quick: bool) -> None:
    """Runs what is missing, and writes ``ablation.md`` into ``out``."""
    base = dataclasses.replace(BUDGET, training_steps=200) if quick else BUDGET
    cells = []
    for name, changes in VARIANTS.items():
        fields = {key: value for key, value in changes.items() if "." not in key}
        constants = {key: value for key, value in changes.items() if "." in key}
        for env in ENVS:
            for seed in range(FIRST_SEED, FIRST_SEED + seeds):
                config = dataclasses.replace(base, env=env, seed=seed, **fields)
                cells.append(Cell("ablation", name, config, constants=constants))
    lines = []
    for (env, name), runs in sorted(grouped(run_cells(out, cells)["ablation"]).items(), key=_order):
        target = float(np.median(numbers(runs, "evaluations to target")))
        reached = "never" if math.isinf(target) else f"{target:,.0f}"
        lines.append([env, name, *shown(numbers(runs, "last mean")), reached])
    header = ["objective", "changed", "last 1,000: median", "inter-quartile mean", "worst", "evaluations to 0.01"]
    text = f"{__doc__}\n\n{markdown(header, lines)}\n{machine()}\n"
    (out / "ablation.md").write_text(text, encoding="utf-8")
    print(text)


def _order(item: tuple[tuple[str, str], Any]) -> tuple[int, int]:
    env, name = item[0]
    return ENVS.index(env), list(VARIANTS).index(name)
