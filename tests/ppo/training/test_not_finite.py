"""An update whose values are not finite changes nothing: the run stops before it, or goes on without it."""

import csv
import dataclasses
import itertools

import numpy as np
import pytest

from actors.npz import read_npz
from env import UsageError
from ppo import Config, replay, resolve
from ppo.algorithm.agent import Agent
from ppo.algorithm.autograd_update import AutogradUpdate
from ppo.algorithm.compiled_update import CompiledUpdate
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.not_finite import NotFiniteError, check_minibatch
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.ppo.training.test_resume import killed_at

SMALL = Config(
    env="sphere", training_steps=7, eval_every=1, drivers=0, episodes=4, hidden_sizes=(8,), update_epochs=3,
    checkpoint_every=2, checkpoint_seconds=0.0, norm_obs=True, on_nan="skip",
)  # fmt: skip
LOTTERY = Config(
    env="tests.problems:LotteryEnv", training_steps=12, eval_every=0, drivers=0, episodes=3, time_steps=7,
    hidden_sizes=(8,), update_epochs=2, num_minibatches=1, on_nan="skip",
)  # fmt: skip
MODELLED = Config(
    env="tests.problems:Quadratic", evaluations=64, hidden_sizes=(8,), drivers=0, seed=2, eval_every=1, on_nan="skip"
)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


@pytest.fixture
def poison(monkeypatch):
    """Returns a function that says which updates, by their keys, have a second gradient that is not finite."""
    now, original = {"keys": (), "value": np.nan}, Agent.update

    def update(self, batch, key, *arguments):
        now.update(key=key, gradients=0)
        return original(self, batch, key, *arguments)

    def poisoned(gradient_of):
        def gradient(self, *arguments):
            gradient, losses = gradient_of(self, *arguments)
            now["gradients"] += 1
            if now["key"] in now["keys"] and now["gradients"] == 2:
                gradient[3] = now["value"]
            return gradient, losses

        return gradient

    monkeypatch.setattr(Agent, "update", update)
    monkeypatch.setattr(AutogradUpdate, "gradient", poisoned(AutogradUpdate.gradient))
    take = CompiledUpdate.take

    def taken(self, batch, steps):
        """As if the norm of the second gradient were not finite, which compiled steps show where they end."""
        if now["key"] not in now["keys"]:
            return take(self, batch, steps)
        take(self, batch, dataclasses.replace(steps, epochs=1))
        return check_minibatch(steps.key, batch, {}, now["value"])

    monkeypatch.setattr(CompiledUpdate, "take", taken)
    return lambda *keys, value=np.nan: now.update(keys=keys, value=value)


def same_states(a, b, but=()):
    assert a.keys() == b.keys()
    return [name for name in a if name not in but and not np.array_equal(a[name], b[name])] == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
def test_a_skipped_step_counts_and_changes_nothing(gradients, value, poison, tmp_path):
    poison(3, value=value)
    config = dataclasses.replace(SMALL, gradients=gradients)
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        shown = []
        trainer._updates._message = shown.append
        states = [trainer.learner.state(), *(trainer.learner.state() for _ in trainer)]
        summary = trainer.finish(pictures=False)
    assert len(states) == 8
    for step, (before, after) in enumerate(itertools.pairwise(states)):
        assert (after["counters"] - before["counters"]).tolist() == [1, 8, 8]
        assert same_states(before, after, but=["counters"]) == (step == 3)
    assert summary["skipped_steps"] == 1
    kept = f"its slots and the state before it are in {tmp_path / 'run' / 'nan-step-3.npz'}"
    assert shown == [f"--on-nan skip: training step 3: not finite: the norm of the gradient: skipped; {kept}"]
    with (tmp_path / "run" / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["skipped_steps"] for row in rows] == ["0"] * 3 + ["1"] * 4
    assert [row["losses/policy_loss"] == "nan" for row in rows] == [False] * 3 + [True] + [False] * 3
    assert [path.name for path in tmp_path.glob("run/nan-*")] == ["nan-step-3.npz"]
    kept = read_npz(tmp_path / "run" / "nan-step-3.npz", "")
    state = {name.removeprefix("state."): array for name, array in kept.items() if name.startswith("state.")}
    assert same_states(state, states[3])
    assert kept["trajectory.slots"].tolist() == [0, 1, 2, 3]
    assert kept["trajectory.versions"].tolist() == [3] * 4
    assert np.isfinite(kept["trajectory.objectives"][:, 1:]).all()


def test_skipped_steps_are_the_same_for_all_drivers_and_after_a_resume(poison, tmp_path, bits):
    poison(1, 3, 4, 5)
    whole = run(SMALL, tmp_path / "whole")
    expected = bits(tmp_path / "whole", whole)
    assert whole["skipped_steps"] == 4
    files = {path.name: path.read_bytes() for path in (tmp_path / "whole").glob("nan-*")}
    assert sorted(files) == [f"nan-step-{step}.npz" for step in (1, 3, 4)]  # of more, the first ones
    others = run(dataclasses.replace(SMALL, drivers=2), tmp_path / "drivers")
    assert bits(tmp_path / "drivers", others) == expected
    for name, alone in (("cut", False), ("alone", True)):
        killed_at(6, SMALL, tmp_path / name)
        if alone:
            (tmp_path / name / "checkpoint.npz").unlink()
        resumed = run(SMALL, tmp_path / name, resume=True)
        assert bits(tmp_path / name, resumed) == expected
        assert resumed["skipped_steps"] == 4
        assert {path.name for path in (tmp_path / name).glob("nan-*")} == set(files)


def test_where_nothing_is_skipped_the_bits_are_those_of_stop(tmp_path):
    stop = run(dataclasses.replace(SMALL, on_nan="stop"), tmp_path / "stop")
    skip = run(SMALL, tmp_path / "skip")
    assert skip["policy_sha256"] == stop["policy_sha256"]
    assert skip["skipped_steps"] == stop["skipped_steps"] == 0


@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
def test_a_run_that_stops_says_why_in_one_line_and_keeps_the_last_sound_step(gradients, poison, command, tmp_path):
    flags = ["--env", "sphere", "--training-steps", "7", "--episodes", "4", "--hidden-sizes", "8", "--eval-every", "0"]
    flags += ["--drivers", "0", "--quiet", "--no-pictures", "--gradients", gradients]
    assert command(*flags, "--run-dir", "whole")[0] == 0
    poison(3)
    code, error = command(*flags, "--run-dir", "cut")
    assert code == 1
    told = "error: training step 3: not finite: the norm of the gradient; its slots and the state before it are in"
    assert error.startswith(f"{told} cut/nan-step-3.npz; ")
    assert len(error.splitlines()) == 1
    assert RunDir("cut").load("--resume")[0]["counters"][0] == 3
    with pytest.raises(UsageError) as refused:
        replay.main(["cut", "--training-step", "4", "--slot", "0"])
    told = "--training-step 4: the run stops before it, in training step 3: not finite: the norm of the gradient"
    assert str(refused.value) == told
    poison()
    assert command("--resume", "cut", "--quiet", "--no-pictures")[0] == 0
    assert RunDir("cut").summary()["policy_sha256"] == RunDir("whole").summary()["policy_sha256"]


def test_a_run_that_stopped_goes_on_with_skip_as_one_begun_with_it(poison, command):
    flags = ["--env", "sphere", "--training-steps", "7", "--episodes", "4", "--hidden-sizes", "8", "--eval-every", "0"]
    flags += ["--drivers", "0"]
    shown = ["--quiet", "--no-pictures"]
    poison(3, 5)
    assert command(*flags, *shown, "--on-nan", "skip", "--run-dir", "whole")[0] == 0
    code, error = command(*flags, *shown, "--run-dir", "cut")
    assert (code, error.endswith("; --resume cut --on-nan skip goes on without such steps\n")) == (1, True)
    assert command("--resume", "cut", *shown, "--on-nan", "skip")[0] == 0
    whole, cut = (RunDir(name).summary() for name in ("whole", "cut"))
    assert (cut["policy_sha256"], cut["skipped_steps"]) == (whole["policy_sha256"], 2)
    RunDir("cut").checkpoint.unlink()
    assert command("--resume", "cut", *shown)[0] == 0  # config.json says so from then on
    assert RunDir("cut").summary()["policy_sha256"] == whole["policy_sha256"]


@pytest.mark.parametrize("drivers", [0, 2])
def test_rewards_whose_sum_is_infinite_cost_their_training_steps_alone(drivers, tmp_path):
    summary = run(dataclasses.replace(LOTTERY, drivers=drivers), tmp_path / "run")
    assert 0 < summary["skipped_steps"] < 8
    state = RunDir(tmp_path / "run").load("")[0]
    assert all(np.isfinite(array).all() for array in state.values())
    assert state["counters"][0] == 12
    assert state["return_moments.count"] == (12 - summary["skipped_steps"]) * 3 * 7
    if drivers:
        assert run(LOTTERY, tmp_path / "none")["policy_sha256"] == summary["policy_sha256"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, "the running variance of the returns"),
        ({"norm_reward": False}, "the returns of the batch, and so the policy loss"),
        ({"norm_reward": False, "gradients": "autograd"}, "the returns of the batch, and so the policy loss"),
    ],
)
def test_what_was_not_finite_first_is_named(changes, what, tmp_path):
    config = dataclasses.replace(LOTTERY, on_nan="stop", **changes)
    with pytest.raises(FloatingPointError, match=rf"^training step \d+: not finite: {what}.*; its slots") as caught:
        run(config, tmp_path / "run")
    step = int(str(caught.value).split()[2].rstrip(":"))
    kept = read_npz(tmp_path / "run" / f"nan-step-{step}.npz", "")
    assert kept["trajectory.rewards"].max() == 1.7e308
    assert kept["state.counters"][0] == step


def test_an_imagined_step_is_skipped_alone(poison, tmp_path, little_effort, bits):
    clean = run(MODELLED, tmp_path / "clean")
    poison(1, 3)  # of the second and of the third round, which imagine two steps each
    skipped = run(MODELLED, tmp_path / "run")
    assert skipped["skipped_steps"] == 2
    assert skipped["training_steps"] == clean["training_steps"] == 3
    assert skipped["policy_sha256"] != clean["policy_sha256"]
    assert len(list(tmp_path.glob("run/nan-*"))) == 2
    killed_at(2, MODELLED, tmp_path / "cut", ModelLearner)
    resumed = run(MODELLED, tmp_path / "cut", resume=True)
    assert bits(tmp_path / "cut", resumed) == bits(tmp_path / "run", skipped)


def test_a_run_with_a_model_that_stops_keeps_the_last_sound_step(poison, tmp_path, little_effort):
    config = dataclasses.replace(MODELLED, on_nan="stop")
    clean = run(config, tmp_path / "clean")
    poison(3)
    match = r"^training step 1: not finite: in imagined step 3, the norm of the gradient; its slots"
    with pytest.raises(NotFiniteError, match=match), Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        next(trainer)
        before = trainer.learner.state()
        next(trainer)
    assert before["counters"][0] == 1
    assert same_states(trainer.learner.state(), before)
    saved, _ = RunDir(tmp_path / "run").load("--resume")
    assert same_states(saved, before)
    poison()
    assert run(config, tmp_path / "run", resume=True)["policy_sha256"] == clean["policy_sha256"]
