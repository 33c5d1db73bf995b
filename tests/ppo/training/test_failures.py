"""A run with failures that are kept goes to its end, in the same bits whoever collects and however it is cut."""

import dataclasses
import os

import numpy as np
import pytest

from actors import Law
from actors.pools.base import DriverError
from ppo import Config, resolve
from ppo.algorithm.learner import Learner
from ppo.algorithm.model.learner import ModelLearner
from ppo.data.archive import NAME, read_archive
from ppo.train import main, train
from ppo.training.progress import _results
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.training.test_archiving import facts, without
from tests.ppo.training.test_resume import killed_at

CONFIG = Config(
    env="tests.failing:Failing", on_failure="infeasible", drivers=0, hidden_sizes=(8,), update_epochs=2, eval_every=2
)
BUDGETS = {"model": {"evaluations": 48}, "none": {"evaluations": 80, "model": "none"}}


@pytest.fixture(scope="module", autouse=True)
def little_effort():
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        yield


def config_of(budget, how, path=None, **changes):
    keywords = {"how": how, "path": path and str(path)} | changes.pop("keywords", {})
    return dataclasses.replace(CONFIG, env_kwargs=keywords, **(BUDGETS[budget] | changes))


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def rows_of(path):
    rows = read_archive(path / NAME, "").rows
    return rows[rows["step"] >= 0]


def told(path):
    """Returns what an archive holds, NaN as a word."""
    found = facts(path)
    return found | {"f": ["failed" if np.isnan(f) else f for f in found["f"]]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, little_effort):
    """Runs in one go, in which f is NaN where it is to fail: their directories and summaries."""
    path, found = tmp_path_factory.mktemp("whole"), {}
    for budget in BUDGETS:
        summary = run(config_of(budget, "nan", check=30), path / budget)
        rows = rows_of(path / budget)
        assert 0 < rows["failed"].sum() == summary["failed_evaluations"] < len(rows)
        assert np.array_equal(rows["failed"], rows["c"][:, 0] > 0.5)
        assert summary["objective_evaluations"] == BUDGETS[budget]["evaluations"]
        assert "f failed in" in summary["check"]["words"]
        found[budget] = path / budget, summary
    return found


@pytest.fixture
def same(whole, bits):
    """Checks that a run is the same as the one in one go; without a check, as far as it goes."""

    def check(budget, path, summary):
        assert bits(path, summary) == bits(*whole[budget])
        assert summary["failed_evaluations"] == whole[budget][1]["failed_evaluations"]
        assert told(path) == told(whole[budget][0])

    return check


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("how", "backend", "drivers"),
    [("raise", "process", 0), ("raise", "process", 3), ("inf", "thread", 3), ("exit", "process", 1)],
)
def test_same_bits_however_f_fails_and_whoever_collects(how, backend, drivers, budget, same, tmp_path):
    config = config_of(budget, how, tmp_path / "count", backend=backend, drivers=drivers, check=30)
    same(budget, tmp_path / "run", run(config, tmp_path / "run"))
    assert os.path.getsize(tmp_path / "count") == len(rows_of(tmp_path / "run"))  # each was paid for once


@pytest.mark.parametrize(("budget", "step"), [("model", 1), ("none", 3)])
@pytest.mark.parametrize("alone", [False, True])
def test_a_failure_is_played_back_and_not_made_again(alone, budget, step, same, tmp_path):
    config = config_of(budget, "raise", tmp_path / "count", checkpoint_every=1, check=30)
    killed_at(step, config, tmp_path / "run", ModelLearner if budget == "model" else Learner)
    assert rows_of(tmp_path / "run")["failed"].sum() > 0
    without(tmp_path / "run", *(["checkpoint.npz", "metrics.csv"] if alone else []))
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    same(budget, tmp_path / "run", summary)
    assert os.path.getsize(tmp_path / "count") == len(rows_of(tmp_path / "run"))
    assert summary["lost_evaluations"] == 0


@pytest.mark.timeout(120, method="thread")  # the other one takes the alarm
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("how", "backend", "drivers"),
    [("hang", "process", 0), ("hang", "process", 2), ("hang", "thread", 2), ("kill", "process", 2)],
)
def test_slots_without_an_answer_fail_and_the_run_goes_on(how, backend, drivers, budget, tmp_path, monkeypatch):
    """Conditions above 0.85 are few. The run is cut after its first step, and goes on with what was recorded.

    A thread that stays stuck has not keyed the random numbers of the process, which other tests need.
    """
    monkeypatch.setattr("actors.pools.dealing.MAX_FAILURES", 2)
    changes = {"keywords": {"limit": 0.85}, "eval_every": 0, "seed": 1} | (
        {"evaluations": 32} if budget == "none" else {}
    )
    expected = run(config_of(budget, "nan", **changes), tmp_path / "whole")
    assert 0 < expected["failed_evaluations"] < 10
    if backend == "thread":
        changes["env"] = "tests.failing:FailingTogether"
    changes |= {"backend": backend, "drivers": drivers, "driver_timeout": 0.1 if how == "hang" else 60.0}
    config = config_of(budget, how, **changes)
    killed_at(1, config, tmp_path / "run", ModelLearner if budget == "model" else Learner)
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    for name in ("policy_sha256", "failed_evaluations", "objective_evaluations"):
        assert summary[name] == expected[name]
    assert told(tmp_path / "run") == told(tmp_path / "whole")


@pytest.mark.parametrize("budget", BUDGETS)
def test_without_a_failure_nothing_is_another_bit(budget, tmp_path, bits):
    found = []
    for on_failure in ("stop", "infeasible"):
        config = config_of(budget, "raise", keywords={"limit": 2}, on_failure=on_failure, check=15)
        summary = run(config, tmp_path / on_failure)
        assert summary["failed_evaluations"] == 0
        found.append((bits(tmp_path / on_failure, summary), facts(tmp_path / on_failure), summary["check"]))
    assert found[0] == found[1]


def test_a_failure_ends_a_run_that_does_not_keep_it(tmp_path):
    with pytest.raises(DriverError, match="the probe lost"):
        run(config_of("model", "raise", on_failure="stop"), tmp_path / "raise")
    with pytest.raises(FloatingPointError, match="objectives are not finite"):
        run(config_of("model", "nan", on_failure="stop"), tmp_path / "nan")


@pytest.mark.parametrize(("budget", "step"), [("model", 1), ("none", 3)])
@pytest.mark.parametrize(("how", "alone"), [("raise", False), ("nan", False), ("nan", True)])
def test_a_run_that_a_failure_stopped_goes_on_as_one_that_kept_failures(how, alone, budget, step, same, tmp_path):
    """It is cut once more, and goes on by its config.json; failures that were recorded are not made again."""
    path, changes = tmp_path / "run", {"checkpoint_every": 1, "check": 30}
    config = config_of(budget, how, tmp_path / "count", on_failure="stop", **changes)
    with pytest.raises((DriverError, FloatingPointError)):
        run(config, path)
    going_on = dataclasses.replace(RunDir(path).config(), on_failure="infeasible")
    killed_at(step, going_on, path, ModelLearner if budget == "model" else Learner, resume=True)
    assert RunDir(path).config() == going_on
    without(path, *(["checkpoint.npz", "metrics.csv"] if alone else []))
    same(budget, path, run(RunDir(path).config(), path, resume=True))
    assert os.path.getsize(tmp_path / "count") == len(rows_of(path)) + (how == "raise")


@pytest.mark.parametrize("budget", BUDGETS)
def test_so_does_one_that_stopped_in_the_evaluation_after_a_checkpoint(budget, bits, tmp_path):
    changes = {"checkpoint_every": 1, "keywords": {"limit": 0.95}}
    with pytest.raises(FloatingPointError, match="slot 20 of step 2"):
        run(config_of(budget, "nan", on_failure="stop", **changes), tmp_path / "run")
    assert RunDir(tmp_path / "run").load("")[0]["counters"][0] == 2
    going_on = dataclasses.replace(RunDir(tmp_path / "run").config(), on_failure="infeasible")
    summary = run(going_on, tmp_path / "run", resume=True)
    expected = run(config_of(budget, "nan", **changes), tmp_path / "whole")
    assert bits(tmp_path / "run", summary) == bits(tmp_path / "whole", expected)
    assert summary["failed_evaluations"] == expected["failed_evaluations"] > 0
    assert told(tmp_path / "run") == told(tmp_path / "whole")


def test_what_a_run_cannot_go_on_with_is_one_line_and_changes_nothing(command, tmp_path):
    run(config_of("model", "raise", eval_every=0), tmp_path / "kept")
    reusing = config_of("model", "raise", eval_every=0, reuse=(str(tmp_path / "kept"),), on_failure="stop", seed=5)
    with pytest.raises(DriverError):
        run(reusing, tmp_path / "reusing")
    before = [(tmp_path / name / "config.json").read_bytes() for name in ("kept", "reusing")]
    code, error = command("--resume", "kept", "--on-failure", "stop")
    assert (code, error) == (2, "error: --on-failure stop: --resume kept keeps what failed, and goes on so\n")
    code, error = command("--resume", "reusing", "--on-failure", "infeasible")
    assert code == 2
    assert error.startswith(
        "error: --on-failure infeasible: --resume reusing has a model that was not told of the fail"
    )
    assert error.endswith("begin a new run with --reuse reusing\n")
    assert [(tmp_path / name / "config.json").read_bytes() for name in ("kept", "reusing")] == before


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_run_in_which_all_fails_comes_to_its_end(budget, tmp_path):
    summary = run(config_of(budget, "raise", keywords={"limit": -2}, check=15), tmp_path / "run")
    assert summary["failed_evaluations"] == len(rows_of(tmp_path / "run"))
    assert summary["eval"]["final"] is None
    assert "f failed in 5 of 5 evaluations under the law" in summary["check"]["words"]
    assert np.isfinite(Law.load(tmp_path / "run" / "law.npz")([[0.3]])).all()


def test_a_score_that_all_failures_leave_without_a_value_says_so(tmp_path, capsys):
    train(config_of("none", "raise", keywords={"limit": -2}), tmp_path / "run", pictures=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  result")]
    assert line == "  result  every evaluation of f failed: nothing was learned, and the law is not to be used"
    summary = RunDir(tmp_path / "run").summary()
    summary["failed_evaluations"] -= 1  # of those of training one was sound, and of those of its scores none
    ((_, words),) = _results(summary)
    assert words.startswith("mean_objective of 4 evaluations not finite: f failed at all conditions, ")


def test_a_command_says_by_its_exit_code_that_all_failed(tmp_path, capsys):
    (tmp_path / "config.json").write_text(config_of("model", "raise", keywords={"limit": -2}).to_json())
    command = ["--config", str(tmp_path / "config.json"), "--run-dir", str(tmp_path / "run"), "--no-pictures"]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 1
    assert capsys.readouterr().err.endswith("error: every evaluation of f failed, so that nothing was learned\n")


def test_why_the_first_one_failed_is_said_once_and_how_many_did_at_the_end(tmp_path, capsys):
    train(config_of("none", "raise", drivers=2), tmp_path / "run", pictures=False)
    output = capsys.readouterr()
    assert output.err.count("an evaluation of f failed, and counts as worse than any other (ValueError: the probe") == 1
    (line,) = [line for line in output.out.splitlines() if line.startswith("  failed")]
    total = sum(RunDir(tmp_path / "run").summary()[f"{name}_evaluations"] for name in ("objective", "eval"))
    assert line.split()[2:] == ["of", f"{total:,}", "evaluations", "of", "f"]


def test_failures_of_an_earlier_run_are_known_to_the_model(tmp_path):
    run(config_of("model", "raise", eval_every=0), tmp_path / "first")
    config = config_of("model", "raise", eval_every=0, reuse=(str(tmp_path / "first"),), seed=5)
    with Trainer(resolve(config), tmp_path / "second", quiet=True) as trainer:
        known = trainer.learner.surrogate.evidence.failures
        assert len(known) == rows_of(tmp_path / "first")["failed"].sum()
        assert trainer.learner.surrogate.process.region is not None
        for _ in trainer:
            pass
        found = trainer.learner.surrogate.evidence.failures
        assert len(found) == len(known) + rows_of(tmp_path / "second")["failed"].sum()
        summary = trainer.finish(pictures=False)
    without(tmp_path / "second", "checkpoint.npz", "summary.json", "law.npz")
    again = run(config, tmp_path / "second", resume=True)
    assert again["policy_sha256"] == summary["policy_sha256"]
