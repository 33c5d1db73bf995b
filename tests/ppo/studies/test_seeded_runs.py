"""Runs of a study that differ by their seed alone are trained side by side, and their rows are those of each alone."""

import dataclasses
import types

import pytest

from ppo import Config
from ppo.experiments.workloads import training
from ppo.studies.budget import BUDGETS, BudgetRun
from ppo.studies.frugal import FrugalRun
from ppo.studies.runs import rows_of, run_all
from ppo.studies.seeded_runs import batches, train_together
from ppo.studies.training_runs import COLUMNS, TrainingRun

SMALL = Config(env="sphere", training_steps=30, eval_every=5, hidden_sizes=(8,), update_epochs=2, drivers=0)
TIMES = {"seconds"}


def row_of(run):
    """Returns the row of a training that is alone, through the loop of a single run."""
    with training(run.config, **run.trainer_options) as trainer:
        seen = []
        for _ in trainer:
            if run.watch(trainer, seen):
                break
        return run.row(trainer, seen, 0.0)


def seeded(run, *seeds):
    return [dataclasses.replace(run, config=dataclasses.replace(run.config, seed=seed)) for seed in seeds]


@pytest.mark.parametrize(
    "run",
    [
        TrainingRun("group", "plain", SMALL),
        TrainingRun("group", "partial", dataclasses.replace(SMALL, norm_obs=True), without_normaliser=True),
        FrugalRun("small", "Branin, x1 tuned, 1 + 1", dataclasses.replace(SMALL, env="branin")),
        BudgetRun("Branin, x1 tuned, 1 + 1", dataclasses.replace(SMALL, env="branin"), (BUDGETS[0],)),
    ],
    ids=["training", "without normaliser", "frugal", "budget"],
)
def test_rows_are_those_of_each_alone(run, monkeypatch):
    runs = seeded(run, 3, 4, 8)
    together = rows_of(runs)
    for one, row in zip(runs, together, strict=True):
        alone = row_of(one)
        assert len(row) == len(alone) == len(type(run).columns)
        same = [name not in TIMES for name in type(run).columns]
        assert [value for value, keep in zip(row, same, strict=True) if keep] == [
            value for value, keep in zip(alone, same, strict=True) if keep
        ]
        assert row[0] == one.key
    assert len({str(row[1:]) for row in together}) == 3


def test_calls_hold_the_seeds_of_one_setting_and_leave_work_for_all_workers():
    plain, other = TrainingRun("group", "plain", SMALL), TrainingRun("group", "other", SMALL)
    runs = [*seeded(plain, *range(12)), *seeded(other, *range(3)), "one", "two"]
    calls = batches(runs, 1)
    assert [len(call) for call in calls] == [10, 2, 3, 1, 1]
    assert [run for call in calls for run in call] == runs
    assert [len(call) for call in batches(runs[:12], 4)] == [3, 3, 3, 3]
    assert batches([], 2) == []
    timed = [types.SimpleNamespace(family="law", number=i) for i in range(5)]  # each is timed alone
    assert [len(call) for call in batches([*timed, *seeded(plain, *range(8))], 2)] == [3, 2, 7, 1]


def test_what_was_done_is_not_done_again(tmp_path):
    runs = seeded(TrainingRun("group", "plain", SMALL), 1, 2, 3)
    first = run_all(tmp_path, runs[1:2], workers=1)["group"]
    rows = run_all(tmp_path, runs, workers=2)["group"]
    assert [row["seed"] for row in rows] == ["1", "2", "3"]
    assert rows[1] == first[0]
    assert rows[2]["policy sha256"] == dict(zip(COLUMNS, train_together(runs[2:])[0], strict=True))["policy sha256"]
