"""``python -m ppo.compare``: this program beside its rivals on a tuning problem, with equal numbers of evaluations."""

import pathlib
from dataclasses import dataclass, field
from typing import Any

from env.errors import UsageError
from env.make import Problem
from ppo.config.command_line import parse_as, run_main
from ppo.evaluation.plots import matplotlib_installed
from ppo.experiments.rivals.registry import METHODS, check_methods
from ppo.startup import command

LEAST, MOST, MAX_SEEDS, MAX_JOBS = 20, 10**9, 1000, 10_000


@dataclass(frozen=True)
class Arguments:
    """Compares this program with its rivals on any tuning problem whose f is cheap, or on a cheap stand-in for a dear
    one: the same numbers of evaluations of f for all, several seeds, the regret of each law beside that of the best
    constant knobs. The same command continues it after an interruption, and adds what is new to it."""

    env: str = "rosenbrock"
    """A built-in objective, or package.module:Class of your own."""
    dims: int | None = None
    """Coordinates of a built-in objective, knobs and conditions together (2)."""
    knobs: int | None = None
    """How many of the coordinates of a built-in objective are tuned; the rest are conditions (1)."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Keywords of the objective, name=value each, with values as JSON or else text."""
    evaluations: tuple[int, ...] = (300,)
    """Evaluations of f that a method may spend; one number or several."""
    seeds: int = 5
    """Number of seeds, the first of which is 501."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Methods to compare; some need the extra compare."""
    jobs: int = 0
    """Number of runs at a time, each on one thread; 0 for one on each core."""
    out: pathlib.Path | None = None
    """Directory of compare.md, compare.csv and compare.png (runs/compare-<env>)."""


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("compare"), argv)
    problem, budgets = _problem(arguments), sorted(set(arguments.evaluations))
    _check(arguments)
    from ppo.studies.comparison import ScaleRun, results_of, runs_of, scale_of
    from ppo.studies.comparison_report import draw, report
    from ppo.studies.runs import run_all

    out = arguments.out or pathlib.Path(f"runs/compare-{arguments.env.replace('/', '-').replace(':', '-')}")
    jobs, reference = arguments.jobs or None, ScaleRun(problem)
    (row,) = run_all(out, [reference], 1)["scale"]
    scale = scale_of(row)
    runs = runs_of(problem, scale, arguments.methods, budgets, arguments.seeds)
    results = results_of(run_all(out, runs, jobs)["compare"])
    text = report(reference.key, results, scale, arguments.methods, arguments.seeds)
    (out / "compare.md").write_text(text, encoding="utf-8")
    draw(out / "compare.png", reference.key, results)
    print(text)


def _problem(arguments: Arguments) -> Problem:
    """Returns the problem.

    Raises:
        UsageError: it is none, or no tuning problem.
    """
    problem = Problem(arguments.env, arguments.dims, arguments.knobs, env_kwargs=arguments.env_kwargs)
    if problem.family != "tuning":
        raise UsageError(f"--env {arguments.env}: only a tuning problem can be compared, and it is none")
    problem.objective()
    if problem.describe().observed:
        raise UsageError(f"--env {arguments.env}: has conditions that are observed, at which nobody can ask for knobs")
    if problem.describe().asked:
        raise UsageError(f"--env {arguments.env}: is a bench, which no other method asks; only a function is compared")
    return problem


def _check(arguments: Arguments) -> None:
    """Checks the other arguments.

    Raises:
        UsageError: one of them cannot work.
    """
    counts = " ".join(map(str, arguments.evaluations))
    if not arguments.evaluations or not all(LEAST <= count <= MOST for count in arguments.evaluations):
        given = counts or "is empty"
        raise UsageError(f"--evaluations {given}: one number or several, each at least {LEAST} and at most {MOST}")
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        raise UsageError(f"--seeds {arguments.seeds}: must be from 1 to {MAX_SEEDS}")
    if not 0 <= arguments.jobs <= MAX_JOBS:
        raise UsageError(f"--jobs {arguments.jobs}: must be at least 0 and at most {MAX_JOBS}")
    check_methods(arguments.methods)
    if not any(min(arguments.evaluations) <= (METHODS[name].most or 10**9) for name in arguments.methods):
        most = max(METHODS[name].most or 0 for name in arguments.methods)
        raise UsageError(f"--evaluations {counts}: {' '.join(arguments.methods)} takes at most {most}")
    if not matplotlib_installed():
        raise UsageError("ppo.compare: draws with matplotlib; pip install 'tuninglaw[compare]'")


if __name__ == "__main__":
    run_main(main)
