"""The runs of several seeds: where they are, and what came of them."""

import pathlib
import re
import statistics
from collections.abc import Mapping
from typing import Any

from actors.seeding import MAX_SEED
from env.errors import UsageError
from ppo.training.run_dir import RunDir

MOST_SEEDS = 1000
SHARE = "median regret, as a share of that of the best constant knobs"
GAIN = "mean of f under the best constant knobs minus that under the law, by the check"
EXPECTED = "mean of f by the model"
MORE_IS_BETTER = {"mean_return", GAIN}
_DIRECTORY = re.compile(r"seed-(\d+)")


def parse_seeds(text: str) -> range:
    """Returns the seeds of ``FIRST:END``, END not among them.

    Raises:
        UsageError: it is not that, or none, or too many, or a seed is out of range.
    """
    found = re.fullmatch(r"(\d{1,12}):(\d{1,12})", text.strip())
    if not found:
        raise UsageError(f"--seeds {text}: must be FIRST:END, such as 0:10 for the ten seeds from 0 to 9")
    first, end = map(int, found.groups())
    if not 0 < end - first <= MOST_SEEDS:
        raise UsageError(f"--seeds {text}: has {max(0, end - first)} seeds, and must have from 1 to {MOST_SEEDS}")
    if end - 1 > MAX_SEED:
        raise UsageError(f"--seeds {text}: the last seed is above {MAX_SEED}")
    return range(first, end)


def directory_of(root: pathlib.Path, seed: int) -> RunDir:
    """Returns the directory of a seed's run."""
    return RunDir(root / f"seed-{seed}")


def begun_seeds(root: pathlib.Path) -> list[int]:
    """Returns the seeds whose runs are in a directory, in ascending order; none where it is no directory of seeds."""
    if not root.is_dir() or (root / "config.json").exists():
        return []
    found = [_DIRECTORY.fullmatch(path.name) for path in root.iterdir() if (path / "config.json").is_file()]
    return sorted(int(match[1]) for match in found if match)


def seeds_table(root: pathlib.Path, summaries: Mapping[int, Mapping[str, Any]]) -> str:
    """Returns the table at the end: a figure of each seed's law, the median of all, and the worst.

    Args:
        root: directory of all runs.
        summaries: of the runs, by their seed.
    """
    figures = {seed: _figures(one) for seed, one in summaries.items()}
    # The first that most of the runs have: one is not finite, or not known, in some.
    names = list(dict.fromkeys(name for known in figures.values() for name in known))
    lines = []
    if names:
        name = max(names, key=lambda one: sum(one in known for known in figures.values()))
        values = {seed: known[name] for seed, known in figures.items() if name in known}
        lines = [("seed", name)]
        lines += [(str(seed), f"{values[seed]:.4g}" if seed in values else "not finite") for seed in figures]
        worst = (min if name in MORE_IS_BETTER else max)(values, key=values.__getitem__)
        median = statistics.median(values.values())
        lines.append(("all", f"median {median:.4g}, worst {values[worst]:.4g} (seed {worst})"))
    lines.append(("files", f"{root}: seed-{min(summaries)} to seed-{max(summaries)}, each a run of its own"))
    return "\n".join(f"{name:>8}  {text}" for name, text in lines)


def _figures(summary: Mapping[str, Any]) -> dict[str, float]:
    """Returns what is known of how good a law is, by its name; what tells most comes first."""
    regret, score = summary.get("regret", {}), summary["eval"]
    found = {score["metric"]: score["final"], SHARE: None}
    if regret.get("median") is not None and regret.get("constant_median"):
        found[SHARE] = regret["median"] / regret["constant_median"]
    found |= {GAIN: summary.get("check", {}).get("gain"), EXPECTED: summary.get("model", {}).get("law")}
    return {name: value for name, value in found.items() if value is not None}
