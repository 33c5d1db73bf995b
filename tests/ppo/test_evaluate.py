"""``ppo.evaluate`` measures a finished run, writes and prints what it found, and refuses what it cannot measure."""

import json

import numpy as np
import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.evaluate import evaluate, main
from ppo.train import train


def test_a_run_is_evaluated_and_what_was_found_is_written(tmp_path, capsys):
    run = tmp_path / "run"
    train(Config(env="tests.problems:Quadratic", training_steps=300, eval_every=0), run, quiet=True, pictures=False)
    main([str(run)])
    printed = capsys.readouterr().out
    summary = json.loads((run / "evaluation.json").read_text())
    assert summary["regret_median"] < 0.05 * summary["constant_regret_median"]
    assert f"{summary['regret_worst']:.3g}" in printed
    table = np.genfromtxt(run / "evaluation.csv", delimiter=",", names=True)
    assert table.dtype.names == ("condition_0", "knob_0", "knob_1", "best_knob_0", "best_knob_1", "f", "minimum")
    assert np.median(table["f"] - table["minimum"]) == pytest.approx(summary["regret_median"], rel=1e-6)


@pytest.mark.parametrize(("flags", "drawn"), [([], True), (["--no-pictures"], False)])
def test_a_quiet_evaluation_prints_nothing(flags, drawn, tmp_path, capsys):
    config = Config(env="sphere", training_steps=1, hidden_sizes=(8,), drivers=0, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    main([str(tmp_path / "run"), "--quiet", *flags])
    assert capsys.readouterr().out == ""
    assert (tmp_path / "run" / "regret.png").is_file() == drawn


def test_what_has_no_known_optimum_says_so(tmp_path):
    config = Config(env="tests.problems:UnknownOptimum", training_steps=1, episodes=4, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    with pytest.raises(UsageError, match="not known"):
        evaluate(tmp_path / "run")


def test_outside_tuning_held_out_returns_are_measured(tmp_path, capsys):
    config = Config(env="CartPole-v1", training_steps=1, episodes=4, time_steps=8, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    main([str(tmp_path / "run")])
    summary = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert summary["reward_threshold"] == 475
    assert summary["chance_return_mean"] == pytest.approx(22, abs=6)  # known of CartPole
    assert 8 <= summary["return_worst"] <= summary["return_mean"] <= 500
    assert "return mean" in capsys.readouterr().out


def test_a_directory_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a run directory"):
        evaluate(tmp_path)
    (tmp_path / "config.json").write_text(resolve(Config()).to_json())
    with pytest.raises(UsageError, match="not finished"):
        evaluate(tmp_path)
    (tmp_path / "law.npz").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"its law.npz is damaged or of another version"):
        evaluate(tmp_path)
