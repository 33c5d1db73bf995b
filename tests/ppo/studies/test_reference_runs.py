"""The reference results hold every run that a study would do, each named in the first column: none is done again."""

import json
import pathlib

import pytest

from ppo.experiments.tables import Table
from ppo.studies import ablation, budget, defaults, frugal, gallery, polish, scaling, tempcontrol, thesis
from ppo.studies.runs import Options, missing_runs
from ppo.studies.tempcontrol_controllers import BY_RULE, TUNED_PID, tuned_controllers

REFERENCE = pathlib.Path(__file__).parents[3] / "runs" / "reference"


def test_the_first_column_of_every_study_is_the_run():
    paths = [path for path in REFERENCE.glob("*/*.csv") if path.parent.name != "bench"]
    assert len(paths) == 26
    for path in paths:
        assert path.read_text(encoding="utf-8").startswith("run,"), path
        keys = [row["run"] for row in Table(path, ()).rows]
        assert len(set(keys)) == len(keys) > 0, path


@pytest.mark.parametrize("group", thesis.GROUPS)
def test_no_run_of_the_thesis_is_missing(group):
    assert missing_runs(REFERENCE / "thesis", thesis.runs_of(group, 10, quick=False)) == []


def test_no_run_of_the_gallery_and_of_polishes_is_missing():
    assert missing_runs(REFERENCE / "gallery", gallery.runs_of(5, quick=False)) == []
    assert missing_runs(REFERENCE / "polish", polish.runs_of(5, quick=False)) == []


def test_no_run_of_budgets_is_missing():
    assert missing_runs(REFERENCE / "budget", budget.runs_of(5, quick=False)) == []


@pytest.mark.parametrize("group", frugal.GROUPS)
def test_no_run_of_few_evaluations_is_missing(group):
    assert missing_runs(REFERENCE / "frugal", frugal.runs_of(10, False, group)) == []


@pytest.mark.parametrize("task", defaults.TASKS, ids=lambda task: task.name)
def test_no_run_of_the_defaults_is_missing(task):
    assert missing_runs(REFERENCE / "defaults", defaults.runs_of(task, 10, quick=False)) == []


def test_no_run_of_the_defaults_changed_alone_is_missing():
    runs = defaults.ablation_runs(10, quick=False)
    assert {run.variant for run in runs} == set(defaults.ABLATED)
    assert missing_runs(REFERENCE / "defaults", runs) == []


@pytest.mark.parametrize("group", defaults.UNSEEN)
def test_no_run_with_unseen_seeds_is_missing(group):
    runs = defaults.unseen_runs(group, defaults.UNSEEN[group], 10, quick=False)
    assert {run.problem for run in runs} == {task.name for task in defaults.UNSEEN[group]}
    assert missing_runs(REFERENCE / "defaults", runs) == []


@pytest.mark.parametrize("group", tempcontrol.GROUPS)
def test_no_run_of_tempcontrol_is_missing(group):
    out = REFERENCE / "tempcontrol"
    found = {name: json.loads((out / f"search-{name}.json").read_text())["settings"] for name in ("v0", "v1")}
    rivals = (*BY_RULE.values(), tuned_controllers(out / "controllers.json", quick=False)["v1 medium"][TUNED_PID])
    assert missing_runs(out, tempcontrol.runs_of(group, 5, found, rivals, quick=False)) == []


def asked_for(study, options, monkeypatch):
    """Returns the runs that a study asks for."""
    asked = []

    class StoppedError(Exception):
        pass

    def stop(out, runs, workers=None):
        asked.extend(runs)
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(study, "run_all", stop)
        with pytest.raises(StoppedError):
            study.run(options)
    return asked


def test_no_run_of_the_ablation_is_missing(monkeypatch):
    runs = asked_for(ablation, Options(REFERENCE / "ablation", 10, False, None), monkeypatch)
    assert len(runs) == len(ablation.VARIANTS) * len(ablation.ENVS) * 10
    assert missing_runs(REFERENCE / "ablation", runs) == []


def test_no_case_of_scaling_is_missing():
    table = Table(REFERENCE / "scaling" / "scaling.csv", scaling.COLUMNS)
    assert list(table.rows[0]) == list(scaling.COLUMNS)
    cases = [f"{cost:g} ms, {drivers} drivers" for cost in scaling.COSTS_MS for drivers in scaling.DRIVERS]
    assert all(table.has(case) for case in cases)
    assert len(cases) == len(table.rows)
