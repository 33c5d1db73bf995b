"""Calls run in processes of their own, each result comes with its argument, and a failure ends those not begun."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import psutil
import pytest

from ppo.experiments.parallel import map_in_processes


def square(number):
    return number**2, os.getpid()


def test_each_call_has_a_process_of_its_own():
    found = dict(map_in_processes(square, range(3), 2, "call", quiet=True))
    assert {number: result for number, (result, _) in found.items()} == {0: 0, 1: 1, 2: 4}
    processes = {process for _, process in found.values()}
    assert len(processes) == 3
    assert os.getpid() not in processes


def fail_first(path):
    if path.name == "0":
        raise ValueError("the first one")
    time.sleep(0.5)
    path.touch()


def test_a_failure_ends_the_calls_that_have_not_begun(tmp_path):
    paths = [pathlib.Path(tmp_path, str(number)) for number in range(8)]
    with pytest.raises(ValueError, match="the first one"):
        list(map_in_processes(fail_first, paths, 1, "call", quiet=True))
    assert len(list(tmp_path.iterdir())) < 4


def raise_what_cannot_be_sent(number):
    class LocalError(Exception):
        pass

    raise LocalError("found in the child")


def die(number):
    os._exit(7)


def test_what_went_wrong_in_a_process_is_told():
    with pytest.raises(RuntimeError, match="LocalError: found in the child") as told:
        list(map_in_processes(raise_what_cannot_be_sent, [0], 1, "call", quiet=True))
    assert "raise_what_cannot_be_sent" in str(told.value.__cause__)
    with pytest.raises(RuntimeError, match="the process of call 0 died with exit code 7"):
        list(map_in_processes(die, [0], 1, "call", quiet=True))


def mark_and_wait(path):
    """Notes its process, and then that it was told to end, in files of its own."""
    try:  # the signal may come while the file is written
        path.with_suffix(".pid").write_text(str(os.getpid()))
        time.sleep(3600)
    finally:
        path.with_suffix(".cleaned").touch()


def test_calls_under_way_are_ended_where_the_iteration_is_left(tmp_path):
    paths = [tmp_path / str(number) for number in range(4)]
    calls = map_in_processes(one_or_wait, [None, *paths], 2, "call", quiet=True)
    assert next(calls) == (None, None)
    wait_for((tmp_path / "0.pid").exists)
    calls.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.cleaned", "0.pid"]


def one_or_wait(path):
    return None if path is None else mark_and_wait(path)


def wait_for(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


PROGRAM = """
import pathlib, sys
from ppo.config.command_line import run_main
from ppo.experiments.parallel import map_in_processes
from tests.ppo.experiments.test_parallel import mark_and_wait


def main(argv):
    paths = [pathlib.Path(argv[0], str(number)) for number in range(6)]
    list(map_in_processes(mark_and_wait, paths, 2, "call"))


if __name__ == "__main__":
    run_main(main)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_begins_no_other_call_and_leaves_no_process(number, code, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parents[3])}
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    pipes = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        wait_for(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2)
        began = list(tmp_path.glob("*.pid"))
        workers = [psutil.Process(int(path.read_text())) for path in began]
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        errors = process.communicate(timeout=10)[1]
    assert process.returncode == code
    wait_for(lambda: not any(map(alive, workers)), seconds=1.0)
    assert list(tmp_path.glob("*.pid")) == began
    assert "Traceback" not in errors
    if code > 0:  # what was killed cannot clean up
        assert len(list(tmp_path.glob("*.cleaned"))) == 2
