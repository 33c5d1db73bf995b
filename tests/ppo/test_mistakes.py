"""What f or an environment returns wrongly is one line, from drivers too, and leaves nothing if it was the first."""

import json
import os
import subprocess
import sys

import pytest

from actors.pools.base import DriverError
from env import UsageError
from env.errors import ContractError
from ppo import Config
from ppo.data.archive import NAME, read_archive
from ppo.train import train

FLAGS = ["--training-steps", "2", "--episodes", "4", "--hidden-sizes", "4", "--no-pictures", "--quiet"]
MUST = "for x of shape (1, 1); it must return one real number, or shape (1,)"
RETURNS = [
    ("ReturnsNone", f"tests.mistaken:ReturnsNone.__call__ returned None {MUST}"),
    ("ReturnsText", f"tests.mistaken:ReturnsText.__call__ returned the text '0.5' {MUST}"),
    ("ReturnsTuple", f"tests.mistaken:ReturnsTuple.__call__ returned a tuple of 2 values {MUST}"),
    ("ReturnsMatrix", f"tests.mistaken:ReturnsMatrix.__call__ returned an array of shape (1, 1) {MUST}"),
    ("ReturnsOneForAll", "tests.mistaken:ReturnsOneForAll.__call__ returned the number 0.5 for x of shape "),
    ("RewardsNoneLater", "--env tests.mistaken:RewardsNoneLater: RewardsNoneLater.step returned None as the reward"),
    ("ResetsToObservation", "--env tests.mistaken:ResetsToObservation: ResetsToObservation.reset returned an array"),
]


@pytest.mark.parametrize(("name", "message"), RETURNS, ids=[name for name, _ in RETURNS])
def test_what_is_returned_wrongly_at_first_is_one_line_and_leaves_nothing(name, message, command, tmp_path):
    limit = ["--time-steps", "5"] * (name[:7] != "Returns")
    code, error = command(*FLAGS, *limit, "--env", f"tests.mistaken:{name}", "--drivers", "0")
    assert (code, len(error.splitlines())) == (2, 1)
    assert error.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", [["--drivers", "2"], ["--drivers", "2", "--backend", "thread"]], ids=" ".join)
@pytest.mark.parametrize("run_dir", ["run", "there", "a/b/run --profile --track"])
def test_a_driver_tells_it_as_well(where, run_dir, command, tmp_path):
    (tmp_path / "there").mkdir()
    code, error = command(*FLAGS, "--env", "tests.mistaken:ReturnsNone", "--run-dir", *run_dir.split(), *where)
    assert (code, error) == (2, f"error: {RETURNS[0][1]}\n")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["there"]


def test_failures_that_are_kept_are_those_that_f_raises(command, tmp_path):
    code, _ = command(*FLAGS, "--env", "tests.mistaken:ReturnsNone", "--on-failure", "infeasible")
    assert code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", [2, 1], ids=["in the first training step", "in the only one"])
def test_what_was_paid_for_before_is_kept(steps, command, tmp_path):
    flags = ["--training-steps", steps, "--episodes", 40 // steps, "--hidden-sizes", "4", "--quiet", "--no-pictures"]
    code, error = command(*flags, "--env", "tests.mistaken:ReturnsNoneLater", "--run-dir", "run", "--drivers", "0")
    first, *hints = error.splitlines()
    assert code == 2
    assert first == f"error: tests.mistaken:ReturnsNoneLater.__call__ returned None {MUST}"
    assert "ppo.replay run --training-step" in hints[0]
    assert "--resume run" in hints[1]
    rows = read_archive(tmp_path / "run" / NAME, "run").rows
    assert 0 < len(rows) <= 20
    assert json.loads((tmp_path / "run" / "config.json").read_text())["env"] == "tests.mistaken:ReturnsNoneLater"


def test_a_program_gets_the_mistake_with_its_cause(tmp_path):
    config = Config(env="tests.mistaken:ReturnsText", training_steps=2, drivers=0)
    with pytest.raises(UsageError, match=r"returned the text '0\.5'") as caught:
        train(config, tmp_path / "run", quiet=True)
    assert isinstance(caught.value.__cause__, DriverError)
    assert isinstance(caught.value.__cause__.__cause__, ContractError)
    assert not (tmp_path / "run").exists()


def test_other_files_in_the_directory_stay(tmp_path):
    (tmp_path / "x.py").write_text(
        "from pathlib import Path\nfrom env import Objective\n\n"
        "class Logs(Objective):\n    knobs = conditions = 1\n\n    def __call__(self, x, c):\n"
        f"        Path({str(tmp_path / 'run' / 'own.log')!r}).write_text('mine')\n"
    )
    with pytest.raises(UsageError, match=r"x\.py:Logs\.__call__ returned None"):
        train(Config(env=f"{tmp_path / 'x.py'}:Logs", training_steps=2, drivers=0), tmp_path / "run", quiet=True)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["own.log"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("module", ["ppo.train", "tuninglaw"])
def test_help_whose_reader_is_gone_ends_quietly(module, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        text=True,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_actions_without_bounds_are_told_before_training(command, capsys):
    flags = [flag for flag in FLAGS if flag != "--quiet"]
    code, error = command(*flags, "--env", "tests.mistaken:Unbounded", "--run-dir", "run")
    assert code == 0
    assert "--env tests.mistaken:Unbounded: 2 of the 3 values of an action have no bound on one side or both" in error
    assert "with a standard deviation of 0.577;" in error
    assert "values of an action" not in command(*flags, "--env", "tests.mistaken:FiveSteps", "--run-dir", "other")[1]
