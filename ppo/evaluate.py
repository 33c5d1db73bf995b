"""``python -m ppo.evaluate RUN_DIR``: measures what a run has trained.

For a tuning problem it measures the regret of the law at each condition; where the optimum is not known, it says what
a check of the law beside constant knobs found. For any other environment it measures the return of the policy, and that
of random actions, over held-out episodes.
"""

import dataclasses
import math
import pathlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import tyro

from actors.law import Law
from actors.law_file import About, read_law
from actors.policy import Policy
from actors.snapshot import Snapshot
from env.description import Description
from env.errors import UsageError
from env.make import Problem
from ppo.config import Config, resolve
from ppo.config.command_line import parse_as, run_main
from ppo.config.resolution import check_ranges
from ppo.data.files import how_to_go_on
from ppo.evaluation.held_out import RandomActions, TrainedPolicy, held_out_returns
from ppo.evaluation.regret import KINDS, Regret, constant_regret, measure_regret, regret_words
from ppo.startup import command
from ppo.training.hints import hint_at_replay
from ppo.training.run_dir import RunDir


@dataclass(frozen=True)
class Arguments:
    """Evaluates what a run has trained: the regret of its law over 201 conditions on a line, or over 256 Sobol points,
    or where the optimum is not known its check beside constant knobs; outside tuning, the return of its policy over 100
    held-out episodes."""

    run_dir: tyro.conf.Positional[pathlib.Path]
    """Directory of the run, to which evaluation.json is written; for a law, evaluation.csv and regret.png as well."""
    check: int = 0
    """Evaluations of f to spend on checking the law beside constant knobs, 15 or more; those of an earlier check
    count."""
    pictures: bool = True
    """Draw regret.png (the extra plot)."""
    quiet: bool = False
    """No output."""


def evaluate(run_dir: pathlib.Path, pictures: bool = True, check: int = 0) -> dict[str, Any]:
    """Measures what was trained in ``run_dir`` and writes ``evaluation.json``; for a law, more files.

    Args:
        run_dir: directory of a finished run. For a law, ``evaluation.csv`` and ``regret.png`` are written to it too.
        pictures: whether to draw ``regret.png``.
        check: evaluations of f to spend on checking the law beside constant knobs.

    Returns:
        The contents of ``evaluation.json``. For a law these are mean, median, 95th percentile and maximum of its regret
        and of the minimum of f, and ``constant_regret_median``, the median regret of the best constant knobs, where
        the optimum is known; and ``check``, what a check of this law found, if there was one. Outside tuning they are
        ``return_mean``, ``return_sd``, ``return_worst``, ``chance_return_mean`` (the mean return of random actions),
        and ``reward_threshold`` where Gymnasium has one.

    Raises:
        UsageError: ``run_dir`` holds no law, or a damaged file, or the optimum of its tuning problem is not known and
            there was no check.
    """
    files = RunDir(run_dir)
    config = _config_of(files)
    problem = config.problem()
    objective = problem.objective()
    snapshot, about = _law_of(files, problem)
    if objective is None:
        if check:
            raise UsageError(f"--check {check}: only a tuning problem takes it, and --env {config.env} is none")
        summary = _returns(problem, Policy(snapshot))
        _write(files, summary)
        return summary
    checked = _check(files, config, snapshot, check)
    keep_failures = config.on_failure == "infeasible"
    found = measure_regret(objective, Law(snapshot, about), keep_failures)
    if found is None:
        if not checked:
            raise UsageError(
                f"RUN_DIR {run_dir}: the optimum of {type(objective).__name__} is not known, and the law was not "
                f"checked; {_how_to_check(problem.describe())}"
            )
        _write(files, checked)
        return checked
    summary = checked | found.summary() | ({"failed_conditions": found.failed} if found.failed else {})
    summary["constant_regret_median"] = constant_regret(objective, found, keep_failures)
    _write(files, summary, keep_failures)
    _write_table(files.path / "evaluation.csv", found)
    from ppo.evaluation.plots import draw_regret, matplotlib_installed

    if pictures and matplotlib_installed():
        draw_regret(files.path / "regret.png", found)
    return summary


def _how_to_check(described: Description) -> str:
    """Returns how the law of a problem can be checked, in words."""
    if described.observed:
        return "nobody can set conditions that are observed, at which it would be compared with constant knobs"
    if described.asked:
        return "a run that is begun with --check asks for the points of its check too"
    return "--check 60 pays 60 evaluations of f for that (or give it a solve(c), if f is cheap)"


def _config_of(files: RunDir) -> Config:
    """Reads the configuration of a run, and checks what the evaluation uses of it.

    Raises:
        UsageError: there is none, or a value in it cannot work.
    """
    config = files.config("RUN_DIR")
    try:
        check_ranges(config)
        config.problem().describe()
    except UsageError as error:
        raise UsageError(f"RUN_DIR {files.shown}: by its config.json, {error}") from None
    return config


def _law_of(files: RunDir, problem: Problem) -> tuple[Snapshot, About]:
    """Reads the law of a run, and what it is of.

    Raises:
        UsageError: there is none, it is damaged, or it is not one of the run's problem.
    """
    path, described = files.path, problem.describe()
    if not (path / "law.npz").is_file():
        raise UsageError(f"RUN_DIR {files.shown}: there is no law.npz in it yet; {how_to_go_on(files.shown)}")
    try:
        snapshot, about = read_law(path / "law.npz")
    except ValueError as error:
        raise UsageError(f"RUN_DIR {files.shown}: its law.npz is damaged or of another version: {error}") from None
    except OSError as error:
        raise UsageError(f"RUN_DIR {files.shown}: its law.npz cannot be read ({error.strerror})") from None
    spec, ours = snapshot.spec, (described.obs_dim, described.action_dim, described.choices)
    if (spec.obs_dim, spec.action_dim, spec.choices) != ours:
        raise UsageError(
            f"RUN_DIR {files.shown}: its law.npz is of another problem than its config.json: it observes "
            f"{spec.obs_dim} values and chooses {spec.action_dim}, where --env {problem.env} has {ours[0]} "
            f"and {ours[1]}"
        )
    with np.errstate(all="ignore"):
        if not np.isfinite(Policy(snapshot).mode(np.zeros((1, spec.obs_dim)))).all():
            raise UsageError(f"RUN_DIR {files.shown}: its law.npz is damaged: what it does is not finite")
    return snapshot, about


def _check(files: RunDir, config: Config, snapshot: Snapshot, evaluations: int) -> dict[str, Any]:
    """Checks the law, or returns what an earlier check of it found; empty where there was none."""
    sha256, described = snapshot.sha256, config.problem().describe()
    if evaluations and described.asked:
        raise UsageError(f"--check {evaluations}: --env {config.env} is a bench; {_how_to_check(described)}")
    if evaluations:
        from ppo.training.checking import check_later  # torch comes with it

        resolved = resolve(dataclasses.replace(config, check=evaluations))
        with hint_at_replay(files.path):
            return {"policy_sha256": sha256, "check": check_later(resolved, files, snapshot).as_json()}
    known = [files.read_json(name) for name in ("evaluation.json", "summary.json")]
    checks = [check for one in known if one and one.get("policy_sha256") == sha256 for check in _checks_in(one)]
    if not checks:
        return {}
    return {"policy_sha256": sha256, "check": max(checks, key=lambda check: check["evaluations"])}


def _checks_in(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what a check found, if a file holds that; else nothing."""
    found = content.get("check")
    if not isinstance(found, dict) or type(found.get("evaluations")) is not int:
        return []
    return [found] if isinstance(found.get("words"), str) else []


def _write(files: RunDir, summary: dict[str, Any], keep_failures: bool = False) -> None:
    """Writes ``evaluation.json``.

    Raises:
        UsageError: a number is not finite, and no failure of f is kept that would explain it.
    """
    finite = all(math.isfinite(value) for value in summary.values() if isinstance(value, float))
    if not finite and not keep_failures:
        raise UsageError(f"RUN_DIR {files.shown}: f, or what the law does, is not finite everywhere")
    files.write_json("evaluation.json", summary)


def _returns(problem: Problem, policy: Policy) -> dict[str, float]:
    """Measures the returns of the policy and of random actions over held-out episodes, and summarises them."""
    returns = held_out_returns(problem, TrainedPolicy(policy, problem))
    summary = {
        "return_mean": returns.mean(),
        "return_sd": returns.std(ddof=1),
        "return_worst": returns.min(),
        "chance_return_mean": held_out_returns(problem, RandomActions(problem)).mean(),
    }
    threshold = problem.describe().reward_threshold
    numbers = {name: float(value) for name, value in summary.items()}
    return numbers if threshold is None else numbers | {"reward_threshold": float(threshold)}


def _write_table(path: pathlib.Path, found: Regret) -> None:
    """Writes a CSV with a row for each condition: conditions, knobs, best knobs, f and its minimum."""
    parts = {"condition": found.conditions, "knob": found.knobs, "best_knob": found.best_knobs}
    names = [f"{name}_{j}" for name, part in parts.items() for j in range(part.shape[1])]
    table = np.concatenate([*parts.values(), found.values[:, None], found.best_values[:, None]], axis=1)
    np.savetxt(path, table, "%.9g", ",", header=",".join([*names, "f", "minimum"]), comments="")


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("evaluate"), argv)
    check_ranges(Config(check=arguments.check))  # before it is said what is paid
    if arguments.check and not arguments.quiet:
        print(f"--check: {arguments.check} evaluations of f at the most, less those of an earlier check of this law")
    summary = evaluate(arguments.run_dir, arguments.pictures, arguments.check)
    if arguments.quiet:
        return
    if "return_mean" in summary:
        for name, value in summary.items():
            print(f"{name.replace('_', ' '):24}{value:12.5g}")
        return
    if "check" in summary:
        print(f"the law is {summary['check']['words']}")
    if "regret_mean" not in summary:
        return
    print(f"{'':24}{'mean':>12}{'median':>12}{'95 %':>12}{'worst':>12}")
    for name, label in (("regret", "regret of the law"), ("minimum", "minimum of f")):
        print(f"{label:24}" + "".join(f"{summary[f'{name}_{kind}']:12.3g}" for kind in KINDS))
    print(regret_words(summary["regret_median"], summary["constant_regret_median"]))
    if "failed_conditions" in summary:
        print(f"f failed under the law at {summary['failed_conditions']} of these conditions, which are left out")


if __name__ == "__main__":
    run_main(main)
