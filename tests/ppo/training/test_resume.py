"""A run that is resumed ends in the same bits as one that never stopped, wherever and however it was cut."""

import dataclasses
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from env import UsageError
from ppo import Config
from ppo.algorithm.learner import Learner
from ppo.train import train
from ppo.training.run_dir import RunDir

CONFIG = Config(training_steps=23, eval_every=5, checkpoint_every=7, norm_obs=True, hidden_sizes=(8,), update_epochs=2)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def killed_at(step, config, path, kind=Learner, **options):
    """Leaves what a run leaves that was killed in training step ``step``: the last checkpoint, and rows after it."""

    class Killed(BaseException):
        pass

    original = kind.learn

    def learn(self, trajectory):
        if self.step == step:
            raise Killed
        return original(self, trajectory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "learn", learn)
        with pytest.raises(Killed):
            run(config, path, **options)


@pytest.mark.parametrize("step", [7, 8, 13, 20, 22])
@pytest.mark.parametrize("env", ["rosenbrock", "CartPole-v1"])
def test_a_resumed_run_ends_in_the_same_bits(env, step, tmp_path, bits):
    config = dataclasses.replace(CONFIG, env=env, episodes=6, time_steps=10 if env == "CartPole-v1" else 2)
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    killed_at(step, config, tmp_path / "cut")
    assert RunDir(tmp_path / "cut").load("--resume")[0]["counters"][0] == step - step % 7
    summary = run(RunDir(tmp_path / "cut").config(), tmp_path / "cut", resume=True)
    assert bits(tmp_path / "cut", summary) == expected


@pytest.mark.parametrize("step", [0, 3, 12])
@pytest.mark.parametrize("drivers", [0, 2])
def test_a_run_killed_before_its_first_checkpoint_starts_again(drivers, step, tmp_path, bits):
    config = dataclasses.replace(CONFIG, checkpoint_every=10**6, drivers=drivers)
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    killed_at(step, config, tmp_path / "cut")
    assert not (tmp_path / "cut" / "checkpoint.npz").exists()
    summary = run(RunDir(tmp_path / "cut").config(), tmp_path / "cut", resume=True)
    assert bits(tmp_path / "cut", summary) == expected


def test_without_its_checkpoint_and_a_part_of_its_rows_too(tmp_path, bits):
    expected = bits(tmp_path / "whole", run(CONFIG, tmp_path / "whole"))
    run(CONFIG, tmp_path / "cut")
    for path in (tmp_path / "cut").iterdir():
        if path.name not in ("config.json", "metrics.csv"):
            path.unlink()
    metrics = tmp_path / "cut" / "metrics.csv"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:3]))
    assert bits(tmp_path / "cut", run(CONFIG, tmp_path / "cut", resume=True)) == expected


def test_a_run_that_starts_again_takes_up_its_warm_start(tmp_path, bits):
    run(CONFIG, tmp_path / "first")
    config = dataclasses.replace(CONFIG, warm_start=str(tmp_path / "first"), checkpoint_every=10**6)
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    killed_at(6, config, tmp_path / "cut")
    assert bits(tmp_path / "cut", run(config, tmp_path / "cut", resume=True)) == expected


def test_a_run_of_a_cluster_goes_on_without_one(command, tmp_path):
    config = dataclasses.replace(CONFIG, training_steps=3, drivers=0)
    killed_at(2, config, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"backend": "ray", "ray_address": "auto", "drivers": 2}))
    flags = ["--backend", "process", "--drivers", "0", "--quiet", "--no-pictures"]
    assert command("--resume", "run", *flags) == (0, "")


def test_a_torn_last_row_is_dropped(tmp_path, bits):
    expected = bits(tmp_path / "whole", run(CONFIG, tmp_path / "whole"))
    killed_at(16, CONFIG, tmp_path / "cut")
    with (tmp_path / "cut" / "metrics.csv").open("a") as file:
        file.write("15,900,13")
    assert bits(tmp_path / "cut", run(CONFIG, tmp_path / "cut", resume=True)) == expected


def test_damaged_metrics_are_refused(tmp_path):
    killed_at(16, CONFIG, tmp_path / "cut")
    with (tmp_path / "cut" / "metrics.csv").open("a") as file:
        file.write("rubbish\n")
    with pytest.raises(UsageError, match=r"--resume .* metrics.csv is damaged"):
        run(CONFIG, tmp_path / "cut", resume=True)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_step_and_the_run_can_go_on(number, code, tmp_path):
    flags = (
        "--training-steps 60 --eval-every 5 --evaluation-cost-ms 0.3 --hidden-sizes 8 --update-epochs 2 --no-pictures"
    )
    command = [sys.executable, "-m", "ppo.train", *flags.split()]
    whole = subprocess.run([*command, "--run-dir", str(tmp_path / "whole"), "--quiet"], check=True)
    assert whole.returncode == 0
    process = subprocess.Popen(
        [*command, "--run-dir", str(tmp_path / "cut"), "--drivers", "2"], stderr=subprocess.PIPE, text=True
    )
    metrics = tmp_path / "cut" / "metrics.csv"
    while process.poll() is None and not (metrics.exists() and len(metrics.read_text().splitlines()) > 2):
        time.sleep(0.01)
    process.send_signal(number)
    errors = process.communicate(timeout=30)[1].splitlines()
    assert process.returncode == code
    assert RunDir(tmp_path / "cut").load("--resume")[0]["counters"][0] > 5
    assert "--resume" in errors[-1]
    assert not any("Traceback" in line for line in errors)
    resume = [sys.executable, "-m", "ppo.train", "--resume", str(tmp_path / "cut"), "--drivers", "1", "--no-pictures"]
    subprocess.run(resume, check=True, capture_output=True)
    digests = [json.loads((tmp_path / name / "summary.json").read_text())["policy_sha256"] for name in ("whole", "cut")]
    assert digests[0] == digests[1]


def test_resuming_a_finished_run_changes_nothing(tmp_path, bits):
    first = bits(tmp_path, run(CONFIG, tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert bits(tmp_path, run(CONFIG, tmp_path, resume=True)) == first
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_finished_run_without_its_summary_gets_it_again(tmp_path, bits):
    first = bits(tmp_path, run(CONFIG, tmp_path))
    (tmp_path / "summary.json").unlink()
    assert bits(tmp_path, run(CONFIG, tmp_path, resume=True)) == first
    assert (tmp_path / "summary.json").is_file()


def test_what_was_learned_is_saved_when_the_environment_fails(tmp_path, monkeypatch):
    from env.objectives import Rosenbrock

    original, calls = Rosenbrock.__call__, []

    def breaks(self, x, c):
        calls.append(len(x))
        return original(self, x, c) * (np.nan if len(calls) > 100 else 1)  # the first round takes 60 calls

    with monkeypatch.context() as patch:
        patch.setattr(Rosenbrock, "__call__", breaks)
        with pytest.raises(FloatingPointError):
            run(CONFIG, tmp_path / "cut")
    assert RunDir(tmp_path / "cut").load("--resume")[0]["counters"][0] > 7
    resumed = run(CONFIG, tmp_path / "cut", resume=True)
    assert resumed["policy_sha256"] == run(CONFIG, tmp_path / "whole")["policy_sha256"]


def test_warm_start_begins_with_the_parameters_of_another_run(tmp_path):
    run(dataclasses.replace(CONFIG, env="sphere"), tmp_path / "first")
    warm = dataclasses.replace(
        CONFIG, env="sphere", training_steps=1, learning_rate=1e-12, warm_start=str(tmp_path / "first")
    )
    run(warm, tmp_path / "second")
    first, second = (RunDir(tmp_path / name).load("--resume")[0] for name in ("first", "second"))
    assert np.allclose(first["agent.parameters"], second["agent.parameters"], atol=1e-9)
    assert second["counters"][0] == 1
    with pytest.raises(UsageError, match=r"--warm-start .* shapes"):
        run(dataclasses.replace(warm, hidden_sizes=(9,)), tmp_path / "third")
    with pytest.raises(UsageError, match=r"--warm-start .* was trained with --activation tanh, and this run has relu"):
        run(dataclasses.replace(warm, activation="relu"), tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_warm_start_has_the_same_kind_of_std(tmp_path):
    config = Config(env="Pendulum-v1", time_steps=20, episodes=2, training_steps=2, drivers=0, eval_every=0)
    run(config, tmp_path / "free")
    other = dataclasses.replace(config, std="state")
    run(other, tmp_path / "other")
    run(dataclasses.replace(config, warm_start=str(tmp_path / "free")), tmp_path / "on")
    for here, source in ((other, "free"), (config, "other")):
        with pytest.raises(UsageError, match=r"was trained with --std "):
            run(dataclasses.replace(here, warm_start=str(tmp_path / source)), tmp_path / "third")
    old = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({k: v for k, v in old.items() if k != "std"}))
    run(dataclasses.replace(other, warm_start=str(tmp_path / "other")), tmp_path / "as before")


def test_a_finished_run_without_checkpoint_and_archive_is_refused(tmp_path):
    run(CONFIG, tmp_path)
    (tmp_path / "checkpoint.npz").unlink()
    (tmp_path / "archive.bin").unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match=r"there is no checkpoint\.npz in it"):
        run(CONFIG, tmp_path, resume=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("exists", [True, False])
def test_a_directory_without_a_run_cannot_be_resumed(exists, tmp_path):
    if exists:
        (tmp_path / "none").mkdir()
    with pytest.raises(UsageError, match="not a run directory"):
        run(CONFIG, tmp_path / "none", resume=True)
    assert not exists or not list((tmp_path / "none").iterdir())
