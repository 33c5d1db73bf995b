"""The runs of several seeds: where they are, and what came of them."""

import dataclasses
import json
import pathlib
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from actors.seeding import MAX_SEED
from env.errors import UsageError
from ppo.config import Config, ResolvedConfig
from ppo.config.fields import flag
from ppo.data.files import make_directories, write_new
from ppo.training.run_dir import RunDir
from ppo.training.soundness import changed_field, result_fields

MOST_SEEDS = 100  # each keeps two files open, of which many systems allow a process 1,024
SHARE = "median regret, as a share of that of the best constant knobs"
GAIN = "mean of f under the best constant knobs minus that under the law, by the check"
EXPECTED = "mean of f by the model"
MORE_IS_BETTER = {"mean_return", GAIN}
LISTED = "seeds.json"


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


def check_seeds(seeds: Sequence[int]) -> None:
    """Raises UsageError unless there are seeds, each once, and not too many."""
    if not 0 < len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds):
        raise UsageError(f"--seeds: from 1 to {MOST_SEEDS} seeds, each once, got {len(seeds)}: {list(seeds)[:8]}")


def directory_of(root: pathlib.Path, seed: int) -> RunDir:
    """Returns the directory of a seed's run."""
    return RunDir(root / f"seed-{seed}")


def write_seeds(root: pathlib.Path, seeds: Sequence[int]) -> None:
    """Writes which runs are begun in a directory, before any of them is: a start that is cut loses none.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        make_directories(root)
        write_new(root / LISTED, (json.dumps({"seeds": list(seeds)}) + "\n").encode())
    except FileExistsError:
        raise UsageError(f"--run-dir {root}: other runs have just begun in it") from None
    except OSError as error:
        raise UsageError(f"--run-dir {root}: cannot be made ({error.strerror})") from None


def holds_seeds(root: pathlib.Path) -> bool:
    """Returns whether a directory is that of the runs of several seeds."""
    return (root / LISTED).is_file()


def begun_configs(root: pathlib.Path, given: Mapping[str, Any]) -> list[Config]:
    """Returns the configurations of the runs that were begun together in a directory, in the order of their seeds.

    One of which nothing is there yet has that of the others.

    Args:
        root: the directory.
        given: fields that all of them take other values of.

    Raises:
        UsageError: it is not what ``write_seeds`` wrote, or a run's own configuration is damaged.
    """
    seeds = listed_seeds(root)
    begun = {seed: directory_of(root, seed).config() for seed in seeds if has_begun(directory_of(root, seed))}
    if not begun:
        raise UsageError(f"--resume {root}: none of its runs was begun; remove it, and start them anew")
    first = next(iter(begun.values()))
    return [dataclasses.replace(begun.get(seed, first), seed=seed, **given) for seed in seeds]


def listed_seeds(root: pathlib.Path) -> list[int]:
    """Returns the seeds of the runs that were begun together in a directory.

    Raises:
        UsageError: there is no sound list of them.
    """
    if not holds_seeds(root):
        raise UsageError(f"--resume {root}: not a directory of several seeds, there is no {LISTED} in it")
    try:
        seeds = json.loads((root / LISTED).read_text(encoding="utf-8"))["seeds"]
        if not (isinstance(seeds, list) and all(type(seed) is int and 0 <= seed <= MAX_SEED for seed in seeds)):
            raise ValueError("seeds")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--resume {root}: {LISTED} is damaged; go on with each run alone, by its directory") from None
    check_seeds(seeds)
    return seeds


def has_begun(files: RunDir) -> bool:
    """Returns whether a run was begun in a directory."""
    return (files.path / "config.json").is_file()


def check_alike(root: pathlib.Path, configs: Sequence[ResolvedConfig]) -> None:
    """Checks that runs differ by their seed alone, and by what changes no slot.

    Raises:
        UsageError: they do not.
    """
    first = result_fields(configs[0])
    for config in configs[1:]:
        other = result_fields(config) | {"seed": first["seed"]}
        if (name := changed_field(first, other)) is not None:
            raise UsageError(
                f"--resume {root}: {flag(name)} is {json.dumps(first[name])} in seed-{configs[0].seed} and "
                f"{json.dumps(other[name])} in seed-{config.seed}; go on with each alone, by its directory"
            )


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
