"""The figures of README.md and docs/results.md on ``ppo.compare`` are those of the recorded runs."""

import pathlib
import re

import numpy as np

from ppo.studies.comparison import ComparisonRun, results_of
from tests.ppo.studies.test_reference_runs import REFERENCE, Table

ROOT = pathlib.Path(__file__).parents[3]
FOLDERS = {
    "Rosenbrock, 1 + 1": "rosenbrock",
    "Branin, x1 tuned, 1 + 1": "branin-x1",
    "Branin, whose best knob jumps, 1 + 1": "branin-x1",
    "Branin, x2 tuned, 1 + 1": "branin-x2",
    "Hartmann-4, 2 + 2": "hartmann-4-2",
    "Hartmann-4, 3 + 1": "hartmann-4-3",
    "Hartmann-6, 4 + 2": "hartmann-6-4",
    "crossing valleys, 1 + 1": "crossing-valleys",
    "shifted Ackley, 1 + 1": "shifted-ackley",
    "Rosenbrock, 5 + 5": "rosenbrock-5",
    "shifted Ackley, 5 + 5": "shifted-ackley-5",
}
COLUMNS = ("law", "gp", "surrogate", "cma-es", "differential-evolution")
NAMES = {"a Gaussian process": "gp", "four networks": "surrogate"}


def recorded(problem, evaluations):
    """Returns what was recorded of each method, by name."""
    folder = FOLDERS[problem] + ("-10000" if evaluations == 10_000 else "")
    rows = Table(REFERENCE / "compare" / folder / "compare.csv", ComparisonRun.columns).rows
    return {result.method: result for result in results_of(rows) if result.evaluations == evaluations}


def cells_of(path, columns):
    """Returns the cells of the rows of a page that have so many, and end their first one with a sum of numbers."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if len(row) == columns and (re.search(r"\d \+ \d(: [\d,]+)?$", row[0]) or not row[0])]


def agrees(text, result):
    """Checks a median and a worst share, as in "1.3e-7 / 0.0085"; they have two digits."""
    median, worst = (float(number) for number in re.findall(r"[\d.]+(?:e-\d+)?", text))
    assert median == float(f"{np.median(result.shares):.2g}")
    assert worst == float(f"{max(result.shares):.2g}")


def test_rows_of_the_readme_name_the_best_rival_and_its_share():
    rows = cells_of(ROOT / "README.md", 3)
    assert len(rows) == 5
    for name, ours, best in rows:
        problem, evaluations = name.rsplit(": ", 1)
        results = recorded(problem, int(evaluations.replace(",", "")))
        agrees(ours, results["law"])
        rival, share = best.split(": ")
        agrees(share, results[NAMES[rival]])
        assert NAMES[rival] == min(COLUMNS[1:], key=lambda method: results[method].median)


def test_rows_of_the_results_are_those_recorded():
    rows = cells_of(ROOT / "docs" / "results.md", 8)
    assert len(rows) == 17
    problem = ""
    for name, evaluations, seeds, *shares in rows:
        problem = name or problem
        results = recorded(problem, int(evaluations.replace(",", "")))
        for method, text in zip(COLUMNS, shares, strict=True):
            assert (method in results) == (text != "-")
            if text != "-":
                assert len(results[method].shares) == int(seeds)
                agrees(text, results[method])
