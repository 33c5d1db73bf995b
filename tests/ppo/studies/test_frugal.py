"""The study of frugal laws trains each row with the defaults, on problems of the sizes that their names say."""

import collections
import pathlib

import numpy as np
import pytest

from ppo import Config, resolve
from ppo.studies import frugal
from ppo.studies.runs import Options


@pytest.mark.parametrize("problem", frugal.PROBLEMS)
def test_problems_have_the_sizes_that_their_names_say(problem):
    objective = frugal.objective_of(problem)
    assert problem.endswith(f"{objective.knobs} + {objective.conditions}")


def test_every_problem_has_a_row_of_fifty_evaluations_a_coordinate():
    rows = {aim.problem: aim.evaluations for aim in frugal.AIMS["every"]}
    assert rows == {problem: 50 * frugal.objective_of(problem).dims for problem in frugal.PROBLEMS}


def test_branin_is_tuned_by_the_coordinate_that_its_name_says():
    at = {"x1": (-np.pi + 5) / 7.5 - 1, "x2": 12.275 / 7.5 - 1}
    for tuned, given in (("x1", "x2"), ("x2", "x1")):
        objective = frugal.objective_of(f"Branin, {tuned} tuned, 1 + 1")
        assert objective(np.array([[at[tuned]]]), np.array([[at[given]]]))[0] == pytest.approx(0.397887, abs=1e-5)


def test_rows_take_the_defaults_but_for_those_without_a_model():
    runs = frugal.runs_of(2, quick=False, only=None)
    assert len({(run.group, run.key) for run in runs}) == len(runs) == 2 * sum(map(len, frugal.AIMS.values()))
    for run in runs:
        given = {"evaluations", "drivers", "eval_every", "seed", "env", "env_kwargs", "dims", "knobs"}
        others = set(run.config.changed()) - given
        assert others == ({"model", "components"} if run.group == "none" else set())
        assert resolve(run.config).model == ("none" if run.group == "none" else "gp")


def test_long_runs_are_done_with_three_seeds():
    seeds = collections.Counter(
        (run.problem, run.config.evaluations) for run in frugal.runs_of(10, quick=False, only="large")
    )
    few = [row for row, count in seeds.items() if count == 3]
    assert few == [("Rosenbrock, 5 + 5", 100_000), ("shifted Ackley, 5 + 5", 100_000)]
    assert set(seeds.values()) == {3, 10}


def test_rows_are_compared_with_those_of_ten_times_the_evaluations():
    medians = {("a", 10): 0.02, ("a", 100): 0.022, ("b", 10): 0.02, ("b", 100): 0.0221, ("c", 10): 1e-9}
    medians |= {("c", 100): 9e-4, ("c", 1000): 0.0011, ("d", 10): 0.1}
    assert frugal._tenfold(medians).endswith("in 2 of 4 rows that have such a row: not in b: 10; c: 100.\n")
    assert frugal._tenfold({("a", 10): 0.1}) == ""


def test_the_study_from_end_to_end(tmp_path: pathlib.Path, monkeypatch, capsys):
    problem = Config(env="ppo.studies.budget_problems:Valley", hidden_sizes=(8,), model="none")
    few, many = frugal.Aim("valley", 90, 0.5, 0.7), frugal.Aim("valley", 900, None)
    monkeypatch.setattr(frugal, "PROBLEMS", {"valley": problem})
    monkeypatch.setattr(frugal, "AIMS", {"small": (few, many), "other": (few,)})
    monkeypatch.setattr(frugal, "GROUPS", ("small", "other"))
    monkeypatch.setattr("ppo.evaluation.shares.CANDIDATES", 64)
    monkeypatch.setattr("ppo.evaluation.shares.CONDITIONS", 16)
    monkeypatch.setattr("ppo.studies.runs.map_in_processes", lambda call, runs, *_: [(one, call(one)) for one in runs])
    frugal.run(Options(tmp_path, 2, True, "small"))
    text = (tmp_path / "frugal.md").read_text()
    assert text.count("| valley | 90 |") == 1 and "0.5 (0.7)" in text and "900" not in text
    assert (tmp_path / "frugal.png").stat().st_size > 5000
    assert len((tmp_path / "small.csv").read_text().splitlines()) == 3
    assert text.strip() in capsys.readouterr().out
    frugal.run(Options(tmp_path, 2, True, "other"))
    assert (tmp_path / "frugal.md").read_text().count("| valley | 90 |") == 2
