"""Iterating a Trainer gives each training step once, and leaving it, however, leaves a sound checkpoint behind."""

import contextlib
import dataclasses
import itertools
import time
import types

import numpy as np
import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.algorithm.learner import Learner
from ppo.evaluation.evaluator import Evaluator
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer

SMALL = Config(
    env="sphere", training_steps=7, eval_every=3, drivers=0, episodes=4, hidden_sizes=(8,), update_epochs=2,
    checkpoint_every=10**6, checkpoint_seconds=1e9,
)  # fmt: skip


def trainer_of(path, **changes):
    return Trainer(resolve(dataclasses.replace(SMALL, **changes)), path, quiet=True)


def saved(path):
    """Returns the training step of the checkpoint in a run's directory, or None."""
    files = RunDir(path)
    return int(files.load("--resume")[0]["counters"][0]) if files.checkpoint.exists() else None


def resumed(path):
    """Returns the digest that an interrupted run ends with."""
    return train(RunDir(path).config(), path, resume=True, quiet=True, pictures=False)["policy_sha256"]


@pytest.fixture
def digest(tmp_path):
    """What a run of the same configuration ends with that nothing interrupts."""
    return train(SMALL, tmp_path / "whole", quiet=True, pictures=False)["policy_sha256"]


@pytest.mark.parametrize(
    ("changes", "scored"),
    [({}, [3, 6, 7]), ({"eval_every": 0}, []), ({"eval_every": 7}, [7]), ({"env": "CartPole-v1"}, [3, 6, 7])],
)
def test_scores_come_exactly_at_the_evaluation_steps(changes, scored, tmp_path):
    with trainer_of(tmp_path / "run", **changes) as trainer:
        steps = list(trainer)
        assert trainer.complete
        assert list(trainer) == []
        summary = trainer.finish(pictures=False)
    assert [step.number for step in steps] == list(range(1, 8))
    assert [step.number for step in steps if step.score is not None] == scored
    scores = [step.score for step in steps if step.score is not None]
    rows = [(row["training_step"], row[trainer.evaluator.column]) for row in trainer.files.rows]
    assert rows == [*zip(scored, scores, strict=True)]
    assert summary["eval"]["final"] == (scores[-1] if scores else None)
    assert all(np.isfinite(list(step.scalars.values())).all() for step in steps)
    assert {"charts/std_floor", "losses/policy_loss"} <= set(steps[0].scalars)


def test_a_loop_that_is_taken_up_again_goes_on(tmp_path, digest):
    with trainer_of(tmp_path / "run") as trainer:
        assert next(trainer).number == 1
        assert [step.number for step in itertools.islice(trainer, 2)] == [2, 3]
        assert not trainer.complete
        list(trainer)
        assert trainer.finish(pictures=False)["policy_sha256"] == digest


def test_a_break_saves_the_last_complete_step(tmp_path, digest):
    with trainer_of(tmp_path / "run") as trainer:
        for step in trainer:
            if step.number == 4:
                break
        assert saved(tmp_path / "run") is None
    assert saved(tmp_path / "run") == 4
    assert resumed(tmp_path / "run") == digest


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_in_the_callers_loop_saves_it_too(error, tmp_path, digest):
    with pytest.raises(error), trainer_of(tmp_path / "run") as trainer:
        for step in trainer:
            if step.number == 4:
                raise error
    assert saved(tmp_path / "run") == 4
    assert resumed(tmp_path / "run") == digest


def test_leaving_before_the_first_step_saves_nothing(tmp_path):
    with trainer_of(tmp_path / "run"):
        pass
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["archive.bin", "config.json"]


@pytest.mark.parametrize("before", [True, False], ids=["before it changes", "after it has changed"])
def test_a_failure_of_the_learner_overwrites_no_checkpoint(before, tmp_path, monkeypatch, digest):
    original = Learner.learn

    def learn(self, trajectory):
        if self.step == 4:
            if not before:
                original(self, trajectory)
            raise FloatingPointError
        return original(self, trajectory)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", learn)
        with pytest.raises(FloatingPointError), trainer_of(tmp_path / "run", checkpoint_every=3) as trainer:
            for step in trainer:
                if step.number == 3:
                    sound = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    assert saved(tmp_path / "run") == 3
    assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == sound
    assert resumed(tmp_path / "run") == digest


@pytest.mark.parametrize("env", ["sphere", "CartPole-v1"])
@pytest.mark.parametrize("step", [3, 7])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_step_whose_evaluation_fails_is_saved_and_evaluated_later(env, step, error, tmp_path, monkeypatch, bits):
    config = dataclasses.replace(SMALL, env=env, time_steps=2 if env == "sphere" else 10)
    expected = bits(tmp_path / "whole", train(config, tmp_path / "whole", quiet=True, pictures=False))
    original = Evaluator.score

    def score(self, trajectory):
        if trajectory.versions[0] == step:
            raise error
        return original(self, trajectory)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "score", score)
        for resume in (False, True):
            with pytest.raises(error):
                train(config, tmp_path / "run", quiet=True, pictures=False, resume=resume)
            assert saved(tmp_path / "run") == step
    summary = train(config, tmp_path / "run", quiet=True, pictures=False, resume=True)
    assert bits(tmp_path / "run", summary) == expected


def test_an_evaluation_that_failed_is_made_again_and_its_step_comes_once(tmp_path, monkeypatch, digest):
    original, failures = Evaluator.score, [ZeroDivisionError]

    def score(self, trajectory):
        if failures:
            raise failures.pop()
        return original(self, trajectory)

    monkeypatch.setattr(Evaluator, "score", score)
    steps = []
    with trainer_of(tmp_path / "run") as trainer:
        while not trainer.complete:
            with contextlib.suppress(ZeroDivisionError):
                steps.append(next(trainer))
        assert trainer.finish(pictures=False)["policy_sha256"] == digest
    assert [step.number for step in steps] == list(range(1, 8))
    assert [step.number for step in steps if step.score is not None] == [3, 6, 7]
    assert [row["training_step"] for row in trainer.files.rows] == [3, 6, 7]


def test_a_checkpoint_is_written_every_so_many_steps(tmp_path):
    with trainer_of(tmp_path / "run", checkpoint_every=3) as trainer:
        found = [saved(tmp_path / "run") for _ in trainer]
    assert found == [None, None, 3, 3, 3, 6, 7]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, [None] * 6 + [7]),
        (1e-3, [1, 2, 3, 4, 5, 6, 7]),
        (25.0, [None, None, 3, 3, 3, 6, 7]),
        (1e9, [None] * 6 + [7]),
    ],
)
@pytest.mark.parametrize("env", ["sphere", "CartPole-v1"])
def test_a_checkpoint_is_written_after_so_many_seconds(env, seconds, expected, tmp_path, monkeypatch):
    now = [100.0]
    stub = types.SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr("ppo.training.trainer.time", stub)
    found = []
    with trainer_of(tmp_path / "run", env=env, time_steps=2, checkpoint_seconds=seconds) as trainer:
        now[0] += 10.0  # the first step, and each one after it
        for _ in trainer:
            found.append(saved(tmp_path / "run"))
            now[0] += 10.0
    assert found == expected


def test_a_checkpoint_by_the_clock_changes_no_result(tmp_path, digest):
    config = dataclasses.replace(SMALL, checkpoint_seconds=1e-6)
    assert train(config, tmp_path / "run", quiet=True, pictures=False)["policy_sha256"] == digest


def test_without_the_normaliser_drivers_act_by_another_policy(tmp_path):
    config = resolve(dataclasses.replace(SMALL, norm_obs=True, training_steps=4, episodes=30))
    found = {}
    for without in (True, False):
        path = tmp_path / str(without)
        with Trainer(config, path, quiet=True, collect_without_normaliser=without) as trainer:
            found[without] = [step.scalars["losses/initial_logratio"] for step in trainer]
    assert found[True][0] < 1e-9  # there are no statistics yet
    assert max(found[True][1:]) > 1e-4
    assert max(found[False]) < 1e-9


MISTAKES = [
    ({"env": "CartPole-v1", "sampler": "lhx"}, "did you mean 'lhs'"),
    ({"env": "tests.problems:CountdownEnv", "time_steps": 9, "sampler": "lhs"}, "use --sampler env"),
    ({"warm_start": "missing"}, "not a run directory"),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_leaves_nothing_behind(changes, message, tmp_path):
    with pytest.raises(UsageError, match=message), trainer_of(tmp_path / "run", **changes):
        raise AssertionError("the context was entered")
    assert not (tmp_path / "run").exists()
