"""Ctrl-C at any moment of the start of a command is answered in one line, by it and by all that it has started."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from ppo.startup import end_by_ctrl_c

ROOT = pathlib.Path(__file__).parents[2]
TELLS_WHEN_OUR_MODULES_LOAD = """
import sys


def tell(event, arguments, told=[]):
    if event == "import" and arguments[0] == "ppo.config" and not told:
        told.append(True)
        print("loading", flush=True)


sys.addaudithook(tell)
"""
FLAGS = ["--training-steps", "1000000", "--evaluation-cost-ms", "3", "--hidden-sizes", "4", "--drivers", "2", "--quiet"]


@pytest.mark.slow
def test_ctrl_c_during_the_start_is_one_line(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(TELLS_WHEN_OUR_MODULES_LOAD)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    ended = []
    for number, seconds in enumerate((0.0, 0.1, 0.5, 1.0, 2.0)):
        command = [sys.executable, "-m", "ppo.train", *FLAGS, "--run-dir", str(tmp_path / f"run-{number}")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
            assert process.stdout.readline() == "loading\n"
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
            errors = process.communicate(timeout=60)[1].splitlines()
        ended.append((process.returncode, len(errors) <= 2, "interrupted" in errors[-1], errors))
    assert [end[:3] for end in ended] == [(130, True, True)] * len(ended), ended


@pytest.mark.parametrize("words", [["python"], ["python", "-m", "pytest"], ["python", "-m", "pppo.x"], ["ppo.train"]])
def test_a_program_keeps_its_own_handler(words):
    before = signal.getsignal(signal.SIGINT)
    end_by_ctrl_c(words)
    assert signal.getsignal(signal.SIGINT) is before
