"""The defaults of control, each changed alone."""

import dataclasses
from typing import Any

import numpy as np
from scipy import stats

from ppo.config import Config, resolve
from ppo.config.control import BATCH, LEARNING_RATE
from ppo.experiments.tables import Row, grouped, markdown
from ppo.studies.control_runs import OURS, mean_returns, rows_of

DEFAULTS = "the defaults"
SURE = 0.01
"""Largest p-value of a difference that the table marks; two times five seeds can have 0.008."""
GRADED = ("learning_rate", "episodes", "time_steps", "num_minibatches", "training_steps")
"""Fields whose changes of a tenth or less are ignored."""
ABLATED: dict[str, dict[str, Any]] = {
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
    """Returns whether a change makes a difference to a task: rates and sizes must change by more than a tenth."""
    if config.problem().describe().choices and ABLATED[name].keys() <= {"std", "init_std"}:
        return False
    before, after = (dataclasses.asdict(resolve(one)) for one in (config, changed(config, name)))
    names = [field for field in before if before[field] != after[field]]
    return any(field not in GRADED or abs(after[field] / before[field] - 1) > 0.1 for field in names)


def ablation_table(tasks: list[Row], ablation: list[Row]) -> str:
    """Returns the median over seeds, and the worst seed, of each change on each task, as Markdown.

    Args:
        tasks: rows of the tasks, for the defaults.
        ablation: rows of the ablation.
    """
    found = grouped(ablation, "problem")
    names = list(dict.fromkeys(problem for problem, _ in found))
    defaults = [mean_returns(rows_of(tasks, name, OURS)) for name in names]
    lines = [[DEFAULTS, *map(_median_with_worst, defaults)]]
    for variant in ABLATED:
        after = [mean_returns(found.get((name, variant), [])) for name in names]
        lines.append([variant, *map(_cell, defaults, after)])
    table = markdown(["changed", *names], lines)
    words = f"p is that of a Mann-Whitney test against the defaults, with a * where it is below {SURE:g}."
    return f"## Each changed alone: median (worst) of the seeds\n\n{table}\n{words}\n"


def _cell(before: list[float], after: list[float]) -> str:
    """Returns the median and the worst of the mean returns of a change, the p-value, and a mark where it tells."""
    if not after:
        return "-"
    chance = stats.mannwhitneyu(before, after).pvalue
    return f"{_median_with_worst(after)}, p {chance:.1g}{' *' if chance < SURE else ''}"


def _median_with_worst(means: list[float]) -> str:
    digits = 0 if max(map(abs, means)) >= 1000 else 1
    return f"{np.median(means):,.{digits}f} ({min(means):,.{digits}f})"
