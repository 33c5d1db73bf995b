import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from env import UsageError
from ppo import Config
from ppo.train import train
from ppo.training.checkpoint import load_checkpoint, save_checkpoint, write_atomically
from ppo.training.run_dir import RunDir

CONFIG = Config(training_steps=23, eval_every=5, checkpoint_every=7, norm_obs=True, hidden_sizes=(8,), update_epochs=2)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def interrupted_at(step, config, path):
    """Leaves what a run leaves that was killed in training step ``step``: the last checkpoint, and rows after it."""
    import ppo.algorithm.learner

    class Killed(BaseException):
        pass

    original = ppo.algorithm.learner.Learner.learn

    def learn(self, trajectory):
        if self.step == step:
            raise Killed
        return original(self, trajectory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo.algorithm.learner.Learner, "learn", learn)
        with pytest.raises(Killed):
            run(config, path)


@pytest.mark.parametrize("step", [7, 8, 13, 20, 22])
@pytest.mark.parametrize("env", ["rosenbrock", "CartPole-v1"])
def test_a_resumed_run_ends_in_the_same_bits(env, step, tmp_path, bits):
    config = dataclasses.replace(CONFIG, env=env, episodes=6, time_steps=10 if env == "CartPole-v1" else 2)
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    interrupted_at(step, config, tmp_path / "cut")
    summary = run(RunDir(tmp_path / "cut").config(), tmp_path / "cut", resume=True)
    assert bits(tmp_path / "cut", summary) == expected


def test_a_torn_last_row_is_dropped(tmp_path, bits):
    expected = bits(tmp_path / "whole", run(CONFIG, tmp_path / "whole"))
    interrupted_at(16, CONFIG, tmp_path / "cut")
    with (tmp_path / "cut" / "metrics.csv").open("a") as file:
        file.write("15,900,13")
    assert bits(tmp_path / "cut", run(CONFIG, tmp_path / "cut", resume=True)) == expected


def test_damaged_metrics_are_refused(tmp_path):
    interrupted_at(16, CONFIG, tmp_path / "cut")
    with (tmp_path / "cut" / "metrics.csv").open("a") as file:
        file.write("rubbish\n")
    with pytest.raises(UsageError, match=r"--resume .* metrics.csv is damaged"):
        run(CONFIG, tmp_path / "cut", resume=True)


def test_ctrl_c_finishes_the_step_and_the_run_can_be_resumed(tmp_path):
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
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=30)[1].splitlines()
    assert process.returncode == 130
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


def test_what_was_learned_is_saved_when_the_environment_fails(tmp_path, monkeypatch):
    from env.objectives import Rosenbrock

    original, calls = Rosenbrock.__call__, []

    def breaks(self, x, c):
        calls.append(len(x))
        return original(self, x, c) * (np.nan if len(calls) > 40 else 1)

    with monkeypatch.context() as patch:
        patch.setattr(Rosenbrock, "__call__", breaks)
        with pytest.raises(FloatingPointError):
            run(CONFIG, tmp_path / "cut")
    assert RunDir(tmp_path / "cut").load("--resume")[0]["counters"][0] > 7
    resumed = run(CONFIG, tmp_path / "cut", resume=True)
    assert resumed["policy_sha256"] == run(CONFIG, tmp_path / "whole")["policy_sha256"]


def test_warm_start_begins_with_the_parameters_of_a_finished_run(tmp_path):
    run(dataclasses.replace(CONFIG, env="sphere"), tmp_path / "first")
    warm = dataclasses.replace(
        CONFIG, env="sphere", training_steps=1, learning_rate=1e-12, warm_start=str(tmp_path / "first")
    )
    run(warm, tmp_path / "second")
    first, second = (RunDir(tmp_path / name).load("--resume")[0] for name in ("first", "second"))
    assert np.allclose(first["parameters"], second["parameters"], atol=1e-9)
    assert second["counters"][0] == 1
    with pytest.raises(UsageError, match=r"--warm-start .* shapes"):
        run(dataclasses.replace(warm, hidden_sizes=(9,)), tmp_path / "third")
    with pytest.raises(UsageError, match=r"--warm-start .* was trained with --activation tanh, and this run has relu"):
        run(dataclasses.replace(warm, activation="relu"), tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, {"a": np.arange(3)}, {"x": 1})
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(path, {"a": np.arange(9)}, {"x": 2})
    state, meta = load_checkpoint(path, "--resume")
    assert state["a"].tolist() == [0, 1, 2]
    assert meta == {"x": 1}
    assert os.listdir(tmp_path) == ["checkpoint.npz"]


def test_the_file_is_flushed_to_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b))[1])
    write_atomically(tmp_path / "x", b"content")
    assert order == ["fsync", "replace", "fsync"]
    assert (tmp_path / "x").read_bytes() == b"content"


class Evil:
    def __reduce__(self):
        return (os.system, ("touch executed",))


def test_reading_a_checkpoint_executes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "checkpoint.npz"
    np.savez(path, meta=np.frombuffer(b"{}", np.uint8), evil=np.array([Evil()], dtype=object))
    with pytest.raises(UsageError, match="damaged"):
        load_checkpoint(path, "--resume")
    assert not (tmp_path / "executed").exists()
