"""The defaults of control, each changed alone."""

import dataclasses
from typing import Any

import numpy as np

from ppo.config import Config, resolve
from ppo.config.control import BATCH, LEARNING_RATE
from ppo.experiments.tables import Row, grouped, markdown
from ppo.studies.control_runs import mean_returns

DEFAULTS = "the defaults"
ABLATED: dict[str, dict[str, Any]] = {
    DEFAULTS: {},
    "values as they are": {"norm_value": False},
    "initial std 1": {"init_std": 1.0},
    "std of the state": {"std": "state"},
    f"learning rate {LEARNING_RATE:g} for any budget": {"learning_rate": LEARNING_RATE},
    f"batch of {BATCH:,} for any budget": {"batch": BATCH},
    "lambda 0.95": {"gae_lambda": 0.95},
    "slots of whole episodes": {"whole": True},
    "observations as they are": {"norm_obs": False},
    "rewards as they are": {"norm_reward": False},
    "learning rate not annealed": {"anneal_lr": False},
}


def changed(config: Config, name: str) -> Config:
    """Returns the configuration of a task with one of its defaults changed."""
    changes = dict(ABLATED[name])
    if changes.pop("whole", False):
        changes["time_steps"] = config.problem().slot_length()
    if batch := changes.pop("batch", None):
        changes["episodes"] = max(1, round(batch / resolve(config).time_steps))
    return dataclasses.replace(config, **changes)


def differs(config: Config, name: str) -> bool:
    """Returns whether a change makes a difference to a task."""
    if name == DEFAULTS:
        return True
    if config.problem().describe().choices and ABLATED[name].keys() <= {"std", "init_std"}:
        return False
    return resolve(changed(config, name)) != resolve(config)


def ablation_table(rows: list[Row]) -> str:
    """Returns the median over seeds, and the worst seed, of each change on each task, as Markdown."""
    found = grouped(rows, "problem")
    tasks = list(dict.fromkeys(problem for problem, _ in found))
    lines = []
    for name in ABLATED:
        cells = [mean_returns(found.get((task, name), [])) for task in tasks]
        lines.append([name, *(f"{np.median(means):,.0f} ({min(means):,.0f})" if means else "-" for means in cells)])
    return f"## Each changed alone: median (worst) of the seeds\n\n{markdown(['changed', *tasks], lines)}"
