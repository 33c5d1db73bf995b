"""Calls run in processes of their own, each result comes with its argument, and a failure ends those not begun."""

import os
import pathlib
import time

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
