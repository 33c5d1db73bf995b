"""A training's row holds its digest, errors, regret and curve; any setting that matters makes it another training."""

import dataclasses

import pytest

from ppo import Config
from ppo.experiments.tables import Table
from ppo.studies.runs import run_all
from ppo.studies.training_runs import COLUMNS, TrainingRun, decimated, evaluations_to_target

SMALL = Config(env="sphere", training_steps=20, drivers=0, hidden_sizes=(8,), update_epochs=2)


def rows(errors):
    return [{"eval/error": error, "objective_evaluations": 600.0 * (i + 1)} for i, error in enumerate(errors)]


def test_solved_is_twenty_evaluations_in_a_row_below_the_target():
    assert evaluations_to_target(rows([1.0] * 5 + [0.001] * 20)) == 600 * 25
    assert evaluations_to_target(rows([0.001] * 19 + [0.01] + [0.001] * 19)) == float("inf")


def test_curves_are_decimated_to_means():
    assert decimated([1.0, 3.0]) == [1.0, 3.0]
    assert decimated([1.0, 3.0] * 50) == [2.0] * 50


def test_a_run_is_done_once_and_its_row_says_what_came_out(tmp_path):
    runs = [TrainingRun("group", "plain", dataclasses.replace(SMALL, seed=seed)) for seed in (1, 2)]
    path = tmp_path / "group.csv"
    first = run_all(tmp_path, runs)["group"]
    assert [row["run"] for row in first] == ["group/sphere/plain/20/1", "group/sphere/plain/20/2"]
    assert float(first[0]["last mean"]) >= float(first[0]["best"]) > 0
    assert len(first[0]["curve"].split()) == 2
    assert first[0]["policy sha256"] != first[1]["policy sha256"]
    text = path.read_text()
    assert run_all(tmp_path, [*runs, runs[0]])["group"][2] == first[0]
    assert path.read_text() == text
    again = dict(zip(Table(path, []).rows[0], runs[0].run(), strict=True))
    assert again["policy sha256"] == first[0]["policy sha256"]


def row_of(**changes):
    run = TrainingRun("group", "a variant", dataclasses.replace(SMALL, **changes))
    return dict(zip(COLUMNS, run.run(), strict=True))


def test_a_changed_setting_changes_the_run():
    plain, changed = row_of(), row_of(learning_rate_power=0.0)
    assert plain["policy sha256"] != changed["policy sha256"]


def test_without_the_normaliser_another_policy_is_learned():
    config = dataclasses.replace(SMALL, norm_obs=True, training_steps=4, eval_every=2)
    whole = TrainingRun("group", "whole", config)
    partial = TrainingRun("group", "partial", config, without_normaliser=True)
    digests = [dict(zip(COLUMNS, run.run(), strict=True))["policy sha256"] for run in (whole, partial)]
    assert digests[0] != digests[1]


@pytest.mark.parametrize(("env", "metric"), [("sphere", "mse"), ("rosenbrock", "msle")])
def test_a_row_names_its_metric_and_its_regret(env, metric):
    row = row_of(env=env, training_steps=2, eval_every=1)
    assert (row["group"], row["env"], row["variant"], row["metric"]) == ("group", env, "a variant", metric)
    assert float(row["median regret"]) > 0
    assert float(row["share of constant"]) > 0
    assert row["evaluations to target"] == "inf"
