"""``ppo.tune`` prints the best trial and its command, and answers a mistake with one line that leaves nothing."""

import subprocess
import sys

import pytest

from env import UsageError
from ppo.tune import main

pytest.importorskip("optuna", reason="the extra tune")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--trials", "0"], "--trials 0: must be at least 1"),
        (["--eval-every", "0"], "--eval-every 0: trials are judged"),
        (["--env", "rosenbrok"], "did you mean"),
        (["--env", "tests.problems:supply", "--evaluations", "40"], "supply: trials are judged at conditions of their"),
        (["--env", "tests.problems:weathered", "--evaluations", "40"], "weathered: trials are judged at conditions of"),
        (["--trails", "3"], "unknown argument --trails"),
        (["--agreement", "0.5"], r"unknown argument --agreement \(renamed to --update-damping\)"),
        (
            ["--seed", str(2**32 - 1), "--seeds", "2"],
            "--seed 4294967295, and 5 more to compare by, the last one",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(flags, message, tmp_path):
    with pytest.raises(UsageError, match=message) as error:
        main([*flags, "--out", str(tmp_path / "study")])
    assert "\n" not in str(error.value)
    assert not (tmp_path / "study").exists()


def test_the_command_line_prints_the_best(tmp_path):
    flags = ["--env", "sphere", "--training-steps", "10", "--hidden-sizes", "8", "--trials", "2", "--seeds", "1"]
    command = [sys.executable, "-m", "ppo.tune", *flags, "--jobs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("best trial: number ")
    assert done.stdout.splitlines()[1].startswith("python -m ppo.train --env sphere")
