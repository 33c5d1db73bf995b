"""The study of budgets measures laws after each budget, beside longer trainings, on problems whose values are known."""

import dataclasses
import pathlib

import numpy as np
import pytest

from ppo import Config
from ppo.studies import budget
from ppo.studies.budget_problems import Converter, Valley
from ppo.studies.runs import Options


def test_the_bent_valleys_minimum():
    assert Valley()(np.array([[0.5, 0.4]]), np.array([[1.0, 1.0]]))[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("problem", "state", "value"),
    [
        ("Branin, x1 tuned, 1 + 1", [(-np.pi + 5) / 7.5 - 1, 12.275 / 7.5 - 1], 0.397887),
        (
            "Hartmann-6, 4 + 2",
            2 * np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]) - 1,
            -3.32237,
        ),
    ],
)
def test_built_in_problems_have_the_sizes_that_their_names_say(problem, state, value):
    objective = budget.objective_of(problem)
    assert problem.endswith(f"{objective.knobs} + {objective.conditions}")
    knobs, conditions = np.split(np.array([state]), [objective.knobs], axis=1)
    assert objective(knobs, conditions)[0] == pytest.approx(value, abs=1e-5)


def test_the_converters_loss_at_a_known_point():
    """(1 A, 5 V, 25 C): 87 mW at 0.481 MHz and 3.57 V, of 1.8 W."""
    x = [[2 * np.log(4.81) / np.log(50) - 1, 2 * (3.57 - 1.8) / 3.2 - 1]]
    c = [[2 * np.log(10) / np.log(30) - 1, 2 * (5 - 3.3) / 8.7 - 1, 2 * 65 / 165 - 1]]
    loss = 1.8 * 0.0473 * np.exp(Converter()(np.array(x), np.array(c))[0])
    assert loss == pytest.approx(0.087, abs=5e-4)


def test_longer_trainings_are_measured_at_the_budgets_that_they_pass():
    runs = [one for one in budget.runs_of(1, quick=False) if one.problem == "shifted Ackley, 1 + 1"]
    marks = {one.training: one.marks for one in runs}
    assert marks["1000 evaluations"] == (1000,)
    assert marks["150 steps"] == (300, 1000, 3000)
    assert marks["5000 steps"] == budget.BUDGETS
    assert len({one.key for one in budget.runs_of(3, quick=False)}) == 3 * 6 * 9


def test_the_study_from_end_to_end(tmp_path, monkeypatch, capsys):
    problem = Config(env="ppo.studies.budget_problems:Valley", hidden_sizes=(8,), update_epochs=2)
    monkeypatch.setattr(budget, "PROBLEMS", {"bent valley, 2 + 2": problem})
    monkeypatch.setattr("ppo.evaluation.shares.CANDIDATES", 64)
    run = budget.runs_of(1, quick=True)
    assert [dataclasses.astuple(one)[0] for one in run] == ["bent valley, 2 + 2"] * 2
    monkeypatch.setattr("ppo.studies.runs.map_in_processes", lambda call, runs, *_: [(one, call(one)) for one in runs])
    budget.run(Options(pathlib.Path(tmp_path), 1, True, None))
    shown = capsys.readouterr().out
    assert (tmp_path / "budget.md").read_text() in shown
    line = next(line for line in shown.splitlines() if "| 300 |" in line)
    shares = [float(cell.split()[0]) for cell in line.split("|")[3:5]]
    assert all(0 < share < 3 for share in shares)
