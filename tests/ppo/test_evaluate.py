"""``ppo.evaluate`` measures a finished run, writes and prints what it found, and refuses what it cannot measure."""

import dataclasses
import json

import numpy as np
import pytest

from actors import Law
from actors.law_file import load_snapshot
from env import UsageError
from ppo import Config, resolve
from ppo.config.command_line import run_main
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import KIND_NAMES
from ppo.evaluate import evaluate, main
from ppo.evaluation.check import check_starts, constant_snapshot
from ppo.train import train
from ppo.training.checking import paid_before
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests import problems
from tests.ppo.configs import SMALL

UNKNOWN = dataclasses.replace(SMALL, env="tests.problems:UnknownOptimum", episodes=10, drivers=0)
CHECKS = ("check", "check_constant", "check_mean")


@pytest.fixture
def trained(tmp_path):
    """Returns a function that trains a law and returns the directory of its run, and the summary."""

    def run(config=UNKNOWN, **changes):
        path = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        return path, train(dataclasses.replace(config, **changes), path, quiet=True, pictures=False)

    return run


@pytest.fixture
def paid(monkeypatch):
    """Returns the number of evaluations of each call of f."""
    calls, original = [], problems.Quadratic.__call__

    def counted(self, x, c):
        calls.append(len(x))
        return original(self, x, c)

    monkeypatch.setattr(problems.Quadratic, "__call__", counted)
    return calls


def check_rows(run):
    """Returns how many evaluations of each kind of check an archive holds."""
    kinds = read_archive(run / NAME, "").rows["kind"]
    counts = {KIND_NAMES[kind]: int((kinds == kind).sum()) for kind in np.unique(kinds).tolist()}
    return tuple(counts.get(name, 0) for name in CHECKS)


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


def test_what_has_no_known_optimum_says_so(trained, capsys, monkeypatch):
    run, summary = trained()
    assert "check" not in summary
    monkeypatch.setattr("sys.argv", ["ppo.evaluate", str(run)])
    with pytest.raises(SystemExit) as end:
        run_main(main)
    assert end.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    reason = "the optimum of UnknownOptimum is not known, and the law was not checked; --check 60 pays 60 evaluations"
    assert printed.err.startswith(f"error: RUN_DIR {run}: {reason}")
    assert not (run / "evaluation.json").exists()


def test_a_check_in_training_is_what_is_evaluated(trained, paid, capsys):
    run, summary = trained(check=30)
    assert check_rows(run) == (10, 10, 10)
    paid.clear()
    found = evaluate(run)
    assert found == {"policy_sha256": summary["policy_sha256"], "check": summary["check"]}
    assert json.loads((run / "evaluation.json").read_text()) == found
    main([str(run)])
    assert capsys.readouterr().out == f"the law is {summary['check']['words']}\n"
    assert paid == []


@pytest.mark.usefixtures("little_effort")
def test_a_check_says_what_its_conditions_give(trained):
    budget = {"evaluations": 600, "training_steps": None, "episodes": None, "update_epochs": None}
    run, summary = trained(**budget, check=60, seed=5)
    check, f, c = summary["check"], problems.UnknownOptimum(), np.unique(check_starts(5, 20, 2, 1)[:, 2:], axis=0)
    assert summary["objective_evaluations"] == 600
    assert (check["evaluations"], check["conditions"], check["noise"]) == (60, 16, 0)
    assert check["law_mean"] == pytest.approx(f(Law.load(run / "law.npz")(c), c).mean())
    assert check["constant_mean"] == pytest.approx(f(np.tile(check["constant_knobs"], (16, 1)), c).mean())
    assert check["constant_knobs"] == pytest.approx([0, 0.3 - 0.4 / 3], abs=0.15)  # the mean of the best knobs
    assert check["gain"] == pytest.approx(check["constant_mean"] - check["law_mean"])
    assert check["words"].startswith("better by ")


def test_a_later_check_is_that_of_training_and_pays_for_what_is_new_alone(trained, paid, capsys):
    (run, _), (_, other) = trained(), trained(check=30)
    paid.clear()
    main([str(run), "--check", "30"])
    assert sum(paid) == 30
    assert check_rows(run) == (10, 10, 10)
    found = json.loads((run / "evaluation.json").read_text())
    assert found["check"] == other["check"]
    before, after = capsys.readouterr().out.splitlines()
    assert before.startswith("--check: 30 evaluations of f at the most")
    assert after == f"the law is {found['check']['words']}"
    assert evaluate(run, check=30) == found
    assert evaluate(run) == found
    assert sum(paid) == 30
    larger = evaluate(run, check=45)["check"]
    assert sum(paid) == 45
    assert check_rows(run) == (15, 15, 15)
    assert (larger["evaluations"], larger["conditions"]) == (45, 12)
    assert evaluate(run)["check"] == larger
    assert evaluate(run, check=30) == found
    assert sum(paid) == 45


def test_a_check_begun_in_training_goes_on_later(trained, paid):
    run, summary = trained(check=30)
    paid.clear()
    assert evaluate(run, check=30)["check"] == summary["check"]
    assert paid == []
    larger = evaluate(run, check=47)
    assert larger["check"]["evaluations"] == 45
    assert evaluate(run) == larger
    assert sum(paid) == 15


def test_the_model_takes_what_was_trained_on_before_the_law(trained):
    run, _ = trained(training_steps=3, eval_every=1, check=15)
    for step in (0, 1, 3):
        x, c, f = paid_before(RunDir(run), step)
        assert (x.shape, c.shape, f.shape) == ((20 * step, 2), (20 * step, 1), (20 * step,))
        assert np.array_equal(f, problems.UnknownOptimum()(x, c))


def test_a_check_midway_changes_nothing_that_comes_later(trained, tmp_path):
    _, summary = trained(check=15, training_steps=5)
    config, run = dataclasses.replace(UNKNOWN, check=15, training_steps=5), tmp_path / "interrupted"
    with Trainer(resolve(config), run, quiet=True) as trainer:
        midway = [next(trainer) for _ in range(2)]
    assert [step.number for step in midway] == [1, 2]
    evaluate(run, check=30)
    assert check_rows(run) == (10, 10, 10)
    resumed = train(RunDir(run).config(), run, resume=True, quiet=True, pictures=False)
    for name in ("policy_sha256", "check", "objective_evaluations", "eval_evaluations", "lost_evaluations", "eval"):
        assert resumed[name] == summary[name]
    assert check_rows(run) == (15, 15, 15)
    assert evaluate(run)["check"] == summary["check"]


def test_the_check_of_another_law_does_not_count(trained):
    run, _ = trained(check=15)
    evaluate(run)
    RunDir(run).write_law(constant_snapshot(load_snapshot(run / "law.npz"), np.zeros(2)))
    with pytest.raises(UsageError, match="the law was not checked"):
        evaluate(run)


@pytest.mark.usefixtures("little_effort")
def test_a_known_optimum_may_be_checked_too(trained):
    run, _ = trained(env="tests.problems:Quadratic", evaluations=60, training_steps=None, episodes=None)
    assert "check" not in evaluate(run, pictures=False)
    found = evaluate(run, pictures=False, check=15)
    assert found["check"]["evaluations"] == 15
    assert found["regret_median"] == RunDir(run).summary()["regret"]["median"]
    assert evaluate(run, pictures=False) == found


def test_a_check_that_is_too_small_or_not_kept_is_refused(trained, paid, capsys):
    run, _ = trained()
    paid.clear()
    with pytest.raises(UsageError, match="--check 3: must be at least 15"):
        evaluate(run, check=3)
    with pytest.raises(UsageError, match="--check 6: must be at least 15"):
        main([str(run), "--check", "6"])
    assert not capsys.readouterr().out  # no payment is announced
    (run / NAME).unlink()
    with pytest.raises(UsageError, match=r"there is no archive.bin in it, in which the evaluations would be kept"):
        evaluate(run, check=30)
    assert paid == []


def test_outside_tuning_held_out_returns_are_measured(tmp_path, capsys):
    config = Config(env="CartPole-v1", training_steps=1, episodes=4, time_steps=8, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    main([str(tmp_path / "run")])
    summary = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert summary["reward_threshold"] == 475
    assert summary["chance_return_mean"] == pytest.approx(22, abs=6)  # known of CartPole
    assert 8 <= summary["return_worst"] <= summary["return_mean"] <= 500
    assert "return mean" in capsys.readouterr().out
    with pytest.raises(UsageError, match="--check 30: only a tuning problem takes it, and --env CartPole-v1 is none"):
        evaluate(tmp_path / "run", check=30)


@pytest.mark.parametrize("content", ['{"check"', '{"check": {"evaluations": 99}}', "[]"])
def test_a_damaged_evaluation_says_nothing(content, trained):
    run, summary = trained(check=15)
    (run / "evaluation.json").write_text(content)
    assert evaluate(run)["check"] == summary["check"]


def test_the_larger_of_two_checks_is_told(trained):
    run, summary = trained(check=30)
    assert evaluate(run, check=15)["check"]["evaluations"] == 15
    assert evaluate(run)["check"] == summary["check"]


def test_a_directory_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a run directory"):
        evaluate(tmp_path)
    (tmp_path / "config.json").write_text(resolve(Config()).to_json())
    with pytest.raises(UsageError, match=r"there is no law.npz in it yet; go on with python -m ppo.train --resume"):
        evaluate(tmp_path)
    (tmp_path / "law.npz").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"its law.npz is damaged or of another version"):
        evaluate(tmp_path)
