"""A run with a model rests on its archive too: same bits whoever collects and however it is cut, nothing paid twice."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

import ppo.training.job
from actors.job import Kind
from ppo import Config, resolve
from ppo.algorithm.model.candidates import CandidatesLearner
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.model.surrogate import Surrogate
from ppo.config import budget
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import KIND_NAMES
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.training.test_archiving import ROOT, facts, law_of, paid, without
from tests.ppo.training.test_invariance import Killer
from tests.ppo.training.test_resume import killed_at

CONFIG = Config(
    env="tests.problems:Counted", evaluations=64, hidden_sizes=(8,), eval_every=1, check=15, drivers=0, seed=2
)


@pytest.fixture(scope="module", autouse=True)
def little_effort():
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        yield


def counted(path, seconds=0.0, **changes):
    """Returns the configuration whose objective counts its evaluations in a file."""
    return dataclasses.replace(CONFIG, env_kwargs={"path": str(path), "seconds": seconds}, **changes)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def rows_of(path):
    return read_archive(path / NAME, "").rows


def kinds(path):
    """Returns the kind of each training round of a run, by name, and the number of its evaluations."""
    rows = rows_of(path)
    rounds = dict.fromkeys(zip(rows["step"].tolist(), rows["kind"].tolist(), strict=True))
    found = [(KIND_NAMES[kind], int(((rows["step"] == s) & (rows["kind"] == kind)).sum())) for s, kind in rounds]
    return [one for one in found if one[0] in ("design", "plan", "collect", "pair")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, little_effort):
    """A run in one go: its directory, and its summary."""
    path = tmp_path_factory.mktemp("whole")
    summary = run(counted(path / "count"), path / "run")
    assert os.path.getsize(path / "count") == paid(summary) == len(rows_of(path / "run"))
    return path / "run", summary


@pytest.fixture
def same(whole, bits):
    """Checks that a run is the same as the one in one go."""

    def check(path, summary):
        assert bits(path, summary) == bits(*whole)
        assert facts(path) == facts(whole[0])
        assert summary["check"] == whole[1]["check"]
        assert law_of(path) == law_of(whole[0])

    return check


def test_rounds_are_a_design_and_then_plans(whole):
    assert kinds(whole[0]) == [("design", 32), ("plan", 16), ("plan", 16)]
    assert whole[1]["objective_evaluations"] == 64
    assert whole[1]["training_steps"] == 3
    assert whole[1]["check"]["evaluations"] == 15
    assert [int(row.split(",")[0]) for row in (whole[0] / "metrics.csv").read_text().splitlines()[1:]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("backend", "drivers", "seconds"),
    [*(("process", drivers, 0.0) for drivers in (1, 3, 16, "auto")), ("process", 3, 0.004), ("thread", 3, 0.002)],
)
def test_same_bits_and_same_rows_whoever_collects(backend, drivers, seconds, same, tmp_path):
    config = counted(tmp_path / "count", seconds, drivers=drivers, backend=backend)
    summary = run(config, tmp_path / "run")
    same(tmp_path / "run", summary)
    assert os.path.getsize(tmp_path / "count") == paid(summary)


@pytest.mark.parametrize("components", [1, 6])
def test_same_bits_when_drivers_are_killed(components, tmp_path, bits):
    changes = {"components": components, "check": 0}
    expected = bits(tmp_path / "whole", run(counted(tmp_path / "count", **changes), tmp_path / "whole"))
    killer = Killer(kills=4)
    killer.start()
    summary = run(counted(tmp_path / "count", 0.03, drivers=3, **changes), tmp_path / "run")
    assert summary["driver_restarts"] > 1
    assert bits(tmp_path / "run", summary) == expected
    assert facts(tmp_path / "run") == facts(tmp_path / "whole")


@pytest.mark.parametrize(("step", "alone"), [(0, True), (1, False), (1, True), (2, False), (2, True)])
def test_killed_and_resumed_from_its_checkpoint_or_the_archive_alone(step, alone, same, tmp_path):
    config = counted(tmp_path / "count", checkpoint_every=1)
    killed_at(step, config, tmp_path / "run", ModelLearner)
    assert (tmp_path / "run" / "checkpoint.npz").exists() == (step > 0)
    if alone:
        without(tmp_path / "run", "checkpoint.npz", "law.npz", "metrics.csv")
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    same(tmp_path / "run", summary)
    assert os.path.getsize(tmp_path / "count") == paid(summary)  # not one was paid for again


@pytest.mark.parametrize("rounds", [1, 3])
def test_left_early_and_resumed(rounds, same, tmp_path):
    config = counted(tmp_path / "count")
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        for step in trainer:
            if step.number == rounds:
                break
    assert (tmp_path / "run" / "law.npz").exists()
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    same(tmp_path / "run", summary)
    assert os.path.getsize(tmp_path / "count") == paid(summary)


def test_a_finished_run_is_played_back_for_nothing(same, tmp_path):
    config = counted(tmp_path / "count")
    run(config, tmp_path / "run")
    spent, before = os.path.getsize(tmp_path / "count"), (tmp_path / "run" / NAME).read_bytes()
    without(tmp_path / "run", "checkpoint.npz", "law.npz", "metrics.csv", "summary.json", "timing.json")
    same(tmp_path / "run", run(config, tmp_path / "run", resume=True))
    assert os.path.getsize(tmp_path / "count") == spent
    assert (tmp_path / "run" / NAME).read_bytes() == before


@pytest.mark.parametrize("gone", ["summary.json", "law.npz"])
def test_a_finished_run_writes_again_what_was_deleted(gone, same, tmp_path):
    config = counted(tmp_path / "count")
    summary = run(config, tmp_path / "run")
    without(tmp_path / "run", gone)
    same(tmp_path / "run", run(config, tmp_path / "run", resume=True))
    assert os.path.getsize(tmp_path / "count") == paid(summary)


def test_an_archive_that_lost_its_end_is_made_whole_again(same, tmp_path):
    config = counted(tmp_path / "count", check=0)
    run(config, tmp_path / "run")
    os.truncate(tmp_path / "run" / NAME, (tmp_path / "run" / NAME).stat().st_size - 700)
    without(tmp_path / "run", "checkpoint.npz", "summary.json")
    same(tmp_path / "run", run(counted(tmp_path / "count"), tmp_path / "run", resume=True))


def test_nothing_is_paid_twice_over_four_kills(tmp_path):
    changes = {"evaluations": 160, "eval_every": 0, "check": 0}
    expected = run(counted(tmp_path / "other", **changes), tmp_path / "whole")
    config = counted(tmp_path / "count", 0.012, drivers=3, **changes)  # so slow that slots are dealt one by one
    (tmp_path / "config.json").write_text(config.to_json())
    words = ["-m", "tests.ppo.training.kills", str(tmp_path / "run"), str(tmp_path / "config.json"), "4", "quick"]
    subprocess.run([sys.executable, *words], check=True, cwd=ROOT)
    assert 0 < len(rows_of(tmp_path / "run")) < 160
    summary = run(config, tmp_path / "run", resume=True)
    assert summary["policy_sha256"] == expected["policy_sha256"]
    assert facts(tmp_path / "run") == facts(tmp_path / "whole")
    assert os.path.getsize(tmp_path / "count") - 160 <= summary["lost_evaluations"] <= 4 * 3 + 2


def doubt_after(step):
    """Lets the model be doubted in all rounds after the one of a training step."""

    def score(self, states, values):
        self.gain = -1.0 if len(self.evidence) >= 32 + 16 * step else 1.0
        return {"charts/model_gain": self.gain}

    return score


def test_a_doubted_model_leaves_the_rounds_to_the_policy(tmp_path, bits, monkeypatch):
    monkeypatch.setattr(Surrogate, "score", doubt_after(1))
    config = counted(tmp_path / "count", evaluations=200, check=0)
    expected = bits(tmp_path / "a", run(config, tmp_path / "a"))
    found = kinds(tmp_path / "a")
    assert found[:3] == [("design", 40), ("plan", 16), ("plan", 16)]
    assert found[3:] == [("collect", 36)] * 3 + [("plan", 16)]  # the last, since a collected one would cost too much
    assert bits(tmp_path / "b", run(dataclasses.replace(config, drivers=3), tmp_path / "b")) == expected
    killed_at(4, dataclasses.replace(config, checkpoint_every=2), tmp_path / "cut", ModelLearner)
    without(tmp_path / "cut", "checkpoint.npz")
    assert bits(tmp_path / "cut", run(config, tmp_path / "cut", resume=True)) == expected


@pytest.mark.parametrize("step", [1, 2, 7, 11])
def test_a_run_that_trains_a_second_law_rests_on_its_archive_too(step, tmp_path, bits, monkeypatch):
    monkeypatch.setattr(budget, "LEAST_FOR_SECOND_LAW", 160)
    monkeypatch.setattr(ppo.training.job, "MOST_SLOTS", 5)
    monkeypatch.setattr(GaussianProcess, "noisy", True)
    config = counted(tmp_path / "count", evaluations=160, check=0)
    expected = bits(tmp_path / "a", run(dataclasses.replace(config, drivers=step % 4), tmp_path / "a"))
    assert kinds(tmp_path / "a") == [("design", 32), ("plan", 16)] + [("pair", 10)] * 9 + [("plan", 16)]
    spent = os.path.getsize(tmp_path / "count")
    for alone in (False, True):
        path = tmp_path / f"cut-{alone}"
        killed_at(step, dataclasses.replace(config, checkpoint_every=2), path, CandidatesLearner)
        if alone:
            without(path, *(name for name in ("checkpoint.npz", "law.npz") if (path / name).exists()))
        assert bits(path, run(config, path, resume=True)) == expected
    assert os.path.getsize(tmp_path / "count") == 3 * spent


@pytest.mark.parametrize("step", [4, 5])
def test_a_run_whose_networks_make_a_law_rests_on_its_archive_too(step, tmp_path, bits, monkeypatch):
    monkeypatch.setattr(budget, "NETWORKS_A_COORDINATE", 20)
    monkeypatch.setattr(GaussianProcess, "noisy", True)
    config = counted(tmp_path / "count", evaluations=112, check=0)
    expected = bits(tmp_path / "a", run(dataclasses.replace(config, drivers=step), tmp_path / "a"))
    for alone in (False, True):
        path = tmp_path / f"cut-{alone}"
        killed_at(step, dataclasses.replace(config, checkpoint_every=1), path, CandidatesLearner)
        if alone:
            without(path, "checkpoint.npz", "law.npz")
        assert bits(path, run(config, path, resume=True)) == expected


def test_reused_evaluations_make_the_run_directory_repeat_the_run(tmp_path):
    run(counted(tmp_path / "count"), tmp_path / "first")
    config = counted(tmp_path / "count", evaluations=48, seed=5, reuse=(str(tmp_path / "first"),))
    spent = os.path.getsize(tmp_path / "count")
    with Trainer(resolve(config), tmp_path / "second", quiet=True) as trainer:
        assert len(trainer.learner.surrogate.evidence) == len(rows_of(tmp_path / "first"))
        assert trainer.learner.surrogate.fitted
        list(trainer)
        expected = trainer.finish(pictures=False)
    assert os.path.getsize(tmp_path / "count") == spent + paid(expected)
    assert kinds(tmp_path / "second")[0][0] == "design"  # of the first round, which the model plans
    os.rename(tmp_path / "first", tmp_path / "elsewhere")
    for gone in (["law.npz"], ["checkpoint.npz", "summary.json", "law.npz", "metrics.csv"]):
        without(tmp_path / "second", *gone)
        again = run(config, tmp_path / "second", resume=True)
        assert [again[name] for name in ("policy_sha256", "check")] == [
            expected[name] for name in ("policy_sha256", "check")
        ]
    assert os.path.getsize(tmp_path / "count") == spent + paid(expected)


def test_another_seed_evaluates_elsewhere(whole, tmp_path):
    summary = run(counted(tmp_path / "count", seed=3), tmp_path / "run")
    assert summary["policy_sha256"] != whole[1]["policy_sha256"]
    designs = [rows["c"][rows["kind"] == Kind.DESIGN] for rows in map(rows_of, (tmp_path / "run", whole[0]))]
    assert not np.isin(*designs).any()
