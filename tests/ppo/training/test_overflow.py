"""A finite f whose squares or logarithms are not finite: the run ends, and says what cannot be computed."""

import dataclasses
import json

import numpy as np
import pytest

from ppo import Config
from ppo.evaluation.check import compare
from ppo.evaluation.evaluator import Evaluator
from ppo.evaluation.statistics import student_interval
from ppo.train import train
from ppo.training.run_dir import RunDir
from tests.ppo.configs import SMALL


@pytest.mark.parametrize("keywords", [{"scale": 1e160}, {"scale": 1.0, "offset": -3.0, "metric": "msle"}])
def test_scores_that_are_not_finite_are_null_and_told_in_words(keywords, tmp_path, capsys):
    config = dataclasses.replace(SMALL, env="tests.problems:Scaled", env_kwargs=keywords)
    summary = train(config, tmp_path)
    assert summary["eval"] == {
        "metric": keywords.get("metric", "mse"),
        **dict.fromkeys(("first_1000_mean", "first_1000_variance", "last_1000_mean", "last_1000_variance")),
        "best": None,
        "final": None,
        "not_finite": 3,
    }
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert "of 3 evaluations not finite: f is too large" in capsys.readouterr().out
    assert train(config, tmp_path, resume=True) == summary


def test_a_model_of_a_very_large_f(tmp_path, capsys, little_effort):
    config = Config(env="tests.problems:Scaled", evaluations=40, check=30, drivers=0, hidden_sizes=(8,))
    summary = train(config, tmp_path)
    same = train(dataclasses.replace(config, env_kwargs={"scale": 2.0**520}), tmp_path / "power", quiet=True)["check"]
    small = train(dataclasses.replace(config, env_kwargs={"scale": 1.0}), tmp_path / "small", quiet=True)["check"]
    for name in ("law_mean", "constant_mean", "gain", "gain_interval"):
        assert same[name] == pytest.approx(2.0**520 * small[name], rel=1e-3)
    assert 0 < summary["check"]["gain_interval"] < np.inf
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert "inf" not in capsys.readouterr().out


def test_the_interval_and_the_noise_have_the_unit_of_f():
    rng = np.random.default_rng(0)
    differences, law = rng.normal(size=9), rng.normal(size=30)
    constants = [((0.0,), rng.normal(size=30))]
    unit, small = 2.0**600, compare(law, constants)
    assert student_interval(unit * differences) == tuple(unit * value for value in student_interval(differences))
    large = compare(unit * law, [(knobs, unit * f) for knobs, f in constants])
    assert (large.gain, large.gain_interval, large.noise) == tuple(
        unit * value for value in (small.gain, small.gain_interval, small.noise)
    )


def test_statistics_leave_out_what_is_not_finite(tmp_path):
    files = RunDir(tmp_path)
    scores = {10: np.inf, 20: 5.0, 30: 3.0, 40: np.nan, 5000: 4.0, 5010: np.inf}
    files.rows = [{"training_step": step, "eval/error": score} for step, score in scores.items()]
    summary = files.eval_summary(Evaluator("mse", np.zeros(1)))
    means = [summary[name] for name in ("first_1000_mean", "last_1000_mean", "best", "not_finite")]
    assert means == [4.0, 4.0, 3.0, 3]
    assert summary["final"] == np.inf


def test_learning_that_breaks_down_says_why(command, tmp_path):
    flags = ["--env", "tests.problems:Scaled", "--training-steps", "3", "--advantages", "gae", "--transform", "none"]
    code, error = command(*flags, "--quiet", "--run-dir", "run", "--hidden-sizes", "4", "--drivers", "0")
    assert code == 1
    assert len(error.splitlines()) == 1
    assert "training step 0: not finite: the running variance of the returns; rewards are so large that their" in error
