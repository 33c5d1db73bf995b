"""A run's directory holds its counts, errors, times and pictures, and belongs to one run alone."""

import csv
import dataclasses
import json
import types

import numpy as np
import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.evaluation.evaluator import Evaluator
from ppo.train import train
from ppo.training.run_dir import RunDir, check_free, default_path
from ppo.training.trainer import Trainer
from tests.ppo.configs import SMALL


def test_counts(tmp_path):
    summary = train(SMALL, tmp_path, quiet=True, pictures=False)
    assert summary["training_steps"] == 25
    assert summary["env_steps"] == 25 * 30 * 2
    assert summary["objective_evaluations"] == 25 * 30 * 2  # of each of two steps; nothing asks for f of the start
    assert summary["eval_evaluations"] == 3 * 21  # after steps 10, 20 and 25
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["training_step"] for row in rows] == ["10", "20", "25"]
    assert [row["objective_evaluations"] for row in rows] == ["600", "1200", "1500"]
    errors = [float(row["eval/error"]) for row in rows]
    assert summary["eval"] == {
        "metric": "msle",
        "first_1000_mean": pytest.approx(np.mean(errors)),
        "first_1000_variance": pytest.approx(np.var(errors)),
        "last_1000_mean": pytest.approx(np.mean(errors)),
        "last_1000_variance": pytest.approx(np.var(errors)),
        "best": min(errors),
        "final": errors[-1],
    }


def test_statistics_over_the_first_and_last_1000_steps(tmp_path):
    files = RunDir(tmp_path)
    files.rows = [{"training_step": step, "eval/error": float(step)} for step in range(10, 5001, 10)]
    summary = files.eval_summary(Evaluator("mse", np.zeros(1)))
    assert summary["first_1000_mean"] == np.mean(np.arange(10, 1001, 10))
    assert summary["last_1000_mean"] == np.mean(np.arange(4010, 5001, 10))
    assert summary["last_1000_variance"] == np.var(np.arange(4010, 5001, 10))
    assert (summary["best"], summary["final"]) == (10.0, 5000.0)


def test_the_best_return_is_the_largest(tmp_path):
    files = RunDir(tmp_path)
    files.rows = [{"training_step": step, "eval/return": value} for step, value in ((10, 3.0), (20, 8.0), (30, 5.0))]
    assert files.eval_summary(Evaluator("mean_return"))["best"] == 8.0


@pytest.mark.parametrize(
    "changes", [{}, {"eval_every": 0}, {"env": "tests.problems:UnknownOptimum"}, {"dims": 4, "knobs": 2}]
)
def test_a_run_directory(changes, tmp_path, capsys):
    config = dataclasses.replace(SMALL, **changes)
    train(config, tmp_path / "run")
    shown = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    expected = {"config.json", "timing.json", "summary.json", "checkpoint.npz", "law.npz", "archive.bin"}
    expected |= {"curves.png", "law.png"}
    if config.eval_every:
        expected |= {"metrics.csv"}
        assert "best" in shown
    assert names == expected
    assert "curves.png, law.png" in shown
    for line in ("spent", "time", "machine", "files"):
        assert line in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert len(summary["policy_sha256"]) == 64
    assert summary["resources"]["processes"] >= 1


def test_two_runs_do_not_share_a_directory(tmp_path, monkeypatch):
    for place in ("ppo.train", "ppo.training.trainer"):  # both looked before either began
        monkeypatch.setattr(f"{place}.check_free", lambda path: None)
    train(SMALL, tmp_path, quiet=True, pictures=False)
    with pytest.raises(UsageError, match="another run has just begun in it"):
        train(SMALL, tmp_path, quiet=True, pictures=False)


def test_a_directory_that_cannot_be_made_whole_is_not_made(tmp_path, monkeypatch):
    config, start = resolve(Config(env="branin")), object()

    def write_law(self, snapshot, about, name):
        assert snapshot is start
        raise UsageError(f"{self.shown / name}: cannot be written (No space left on device)")

    monkeypatch.setattr(RunDir, "write_law", write_law)
    files = RunDir(tmp_path / "deep" / "run")
    with pytest.raises(UsageError, match=r"--run-dir .*run: cannot be made \(.*No space left on device\)"):
        files.create(config, types.SimpleNamespace(start=start, within=None))
    assert list(tmp_path.iterdir()) == [] and not files.made
    files.create(config)
    assert files.made


def test_a_default_directory_is_one_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = default_path(Config(env="tests.problems:Quadratic", seed=3))
    assert first.parts[0] == "runs"
    assert first.name.startswith("Quadratic-3-")
    check_free(first)
    first.mkdir(parents=True)
    check_free(first)
    assert default_path(Config(env="tests.problems:Quadratic", seed=3)) != first
    (first / "config.json").touch()
    with pytest.raises(UsageError, match="exists and is not empty"):
        check_free(first)


def test_rows_after_the_checkpoint_are_dropped(tmp_path):
    files = RunDir(tmp_path)
    for step in (5, 10, 15):
        files.append({"training_step": step, "eval/error": step / 2})
    again = RunDir(tmp_path)
    again.rewind(10)
    assert again.rows == [{"training_step": 5, "eval/error": 2.5}, {"training_step": 10, "eval/error": 5}]
    again.append({"training_step": 15, "eval/error": 1.0})
    assert files.metrics.read_text().split() == ["training_step,eval/error", "5,2.5", "10,5.0", "15,1.0"]
    again.rewind(0)
    assert again.rows == []
    assert files.metrics.read_text() == ""


def test_a_row_may_have_other_values_than_those_before_it(tmp_path):
    files = RunDir(tmp_path)
    files.append({"training_step": 1, "eval/error": 0.5})
    files.append({"training_step": 2, "gain": 3.25, "eval/error": 0.25})
    files.append({"training_step": 3, "eval/error": 0.125, "loss": 7})
    files.append({"training_step": 4, "gain": 2.0, "eval/error": 0.0})
    lines = ["training_step,eval/error,gain,loss", "1,0.5,nan,nan", "2,0.25,3.25,nan", "3,0.125,nan,7", "4,0.0,2.0,nan"]
    assert files.metrics.read_text().split() == lines
    again = RunDir(tmp_path)
    again.rewind(3)
    assert [row["eval/error"] for row in again.rows] == [0.5, 0.25, 0.125]
    again.append({"training_step": 4, "gain": 2.0, "eval/error": 0.0})
    assert files.metrics.read_text().split() == lines
    again.append({"training_step": 5, "new": 1, "eval/error": 0.0})
    assert files.metrics.read_text().split()[1:4] == ["1,0.5,nan,nan,nan", "2,0.25,3.25,nan,nan", "3,0.125,nan,7,nan"]


def test_a_trainer_refuses_a_directory_that_is_not_empty(tmp_path):
    (tmp_path / "metrics.csv").write_text("of another run")
    with pytest.raises(UsageError, match="exists and is not empty"):
        Trainer(resolve(SMALL), tmp_path)


def test_a_run_directory_that_cannot_be_made_leaves_nothing(tmp_path):
    class Full:
        def to_json(self):
            raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match=r"^--run-dir .*run: cannot be made \(No space left on device\)$"):
        RunDir(tmp_path / "run").create(Full())
    assert not (tmp_path / "run").exists()
