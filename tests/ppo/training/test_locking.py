"""A run directory belongs to one training at a time, wherever the program goes, and keeps nothing half-written."""

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.data import locks
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.ppo.configs import SMALL
from tests.ppo.training.test_resume import killed_at

CONTROL = Config(
    env="CartPole-v1", training_steps=4, episodes=4, time_steps=10, eval_every=2, hidden_sizes=(4,), drivers=0
)


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("began", ["new", "resumed"])
def test_a_second_training_in_a_directory_changes_nothing(began, command, tmp_path):
    if began == "resumed":
        killed_at(2, CONTROL, tmp_path / "run")
    with Trainer(resolve(CONTROL), tmp_path / "run", quiet=True, resume=began == "resumed") as trainer:
        next(trainer)
        before = contents(tmp_path / "run")
        code, error = command("--resume", "run", "--quiet")
        assert (code, error) == (
            2,
            "error: --resume run: another process is training in it; wait for that one, or end it\n",
        )
        assert contents(tmp_path / "run") == before
        list(trainer)
    assert command("--resume", "run", "--quiet", "--no-pictures") == (0, "")


def test_a_lock_ends_with_a_killed_process_and_no_child_keeps_it(command, tmp_path):
    flags = [
        "--env",
        "CartPole-v1",
        "--training-steps",
        "100000",
        "--eval-every",
        "1",
        "--hidden-sizes",
        "4",
        "--drivers",
        "2",
        "--quiet",
    ]
    process = subprocess.Popen([sys.executable, "-m", "ppo.train", *flags, "--run-dir", str(tmp_path / "run")])
    while not (tmp_path / "run" / "metrics.csv").exists():
        assert process.poll() is None
        time.sleep(0.02)
    with pytest.raises(UsageError, match="another process is training"), RunDir(tmp_path / "run").locked():
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    with RunDir(tmp_path / "run").locked():
        pass


def test_a_run_that_changes_its_configuration_as_it_goes_on_stays_locked(tmp_path):
    files, config = RunDir(tmp_path / "run"), resolve(Config(on_nan="skip"))
    files.create(resolve(Config()))
    with files.taken_up(config):
        assert files.config() == Config(**dataclasses.asdict(config))
        with pytest.raises(UsageError, match="another process is training"), files.locked():
            pass
    with files.locked():
        pass


def test_a_file_system_without_locks_is_no_error(tmp_path, monkeypatch):
    def flock(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with (tmp_path / "file").open("w") as file:
        assert locks.locked(file.fileno())


def test_what_a_killed_run_had_not_finished_writing_is_removed(tmp_path):
    killed_at(13, SMALL, tmp_path / "run")
    for name in (".checkpoint.npz.abcd_123", ".law.npz.00000000", ".metrics.csv.x1y2z3w4", ".checkpoint.npz.mine"):
        (tmp_path / "run" / name).write_bytes(b"half of it")
    train(SMALL, tmp_path / "run", resume=True, quiet=True, pictures=False)
    assert [path.name for path in (tmp_path / "run").glob(".*")] == [".checkpoint.npz.mine"]


def test_an_environment_that_changes_the_directory_moves_no_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    config = dataclasses.replace(
        SMALL, env="tests.problems:GoesElsewhere", env_kwargs={"path": str(tmp_path)}, drivers=0
    )
    train(config, "runs/mine", pictures=False)
    assert os.getcwd() == str(tmp_path)
    assert not (tmp_path / "runs").exists()
    found = {path.name for path in (tmp_path / "here" / "runs" / "mine").iterdir()}
    assert {"archive.bin", "checkpoint.npz", "config.json", "law.npz", "metrics.csv", "summary.json"} <= found
    assert "files  runs/mine: law.npz, archive.bin" in capsys.readouterr().out


def test_metrics_have_one_kind_of_line_end(tmp_path):
    killed_at(23, SMALL, tmp_path)
    train(SMALL, tmp_path, resume=True, quiet=True, pictures=False)
    assert b"\r" not in (tmp_path / "metrics.csv").read_bytes()
    assert (tmp_path / "metrics.csv").read_bytes().count(b"\n") == 4


def test_tensorboard_shows_each_row_once_after_a_resume(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = dataclasses.replace(SMALL, eval_every=3, checkpoint_every=5)
    killed_at(14, config, tmp_path, track=True)  # after rows of steps 3 .. 12, and a checkpoint of step 10
    train(config, tmp_path, resume=True, quiet=True, pictures=False, track=True)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [event.step for event in events.Scalars("eval/error")] == [3, 6, 9, 12, 15, 18, 21, 24, 25]
