"""The variables with which the fork server finds this program's packages do not reach what a driver starts."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from actors.job import Job, Kind
from actors.pools.driver import clean_start
from actors.pools.environment import OURS, PATH, ROOT, SAFE, THREAD_LIMITS, changed, one_thread, packages_first, restore
from actors.pools.factory import make_pool
from actors.pools.processes import ProcessPool
from env import Objective, Problem
from tests.actors.pools.rounds import EVAL_STARTS, snapshot


def shown():
    """Returns the variables that a program sees which this process starts."""
    code = f"import json, os; print(json.dumps([os.environ.get(name) for name in ({PATH!r}, {SAFE!r})]))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


class StartsThreads(Objective):
    """Its value tells whether it, and what it starts, is held to one thread."""

    knobs, conditions = 2, 1

    def __call__(self, x, c):
        code = f"import os; print(all(os.environ.get(name) == '1' for name in {THREAD_LIMITS!r}))"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        return float(told == "True\n" and all(os.environ.get(name) == "1" for name in THREAD_LIMITS))


class StartsPrograms(Objective):
    """Writes down what a program sees that it starts."""

    knobs, conditions = 2, 1

    def __init__(self, path):
        self.path = path

    def __call__(self, x, c):
        with open(self.path, "a") as file:
            file.write(json.dumps(shown()) + "\n")
        return 0.0


CASES = [(None, None), ("/a:/b", None), (None, "1"), ("/a", "1"), (f"{ROOT}:/a", None), ("", None)]


def given(monkeypatch, path, safe):
    for name, value in ((PATH, path), (SAFE, safe)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)


@pytest.mark.parametrize(("path", "safe"), CASES)
def test_a_child_undoes_what_it_was_started_with(path, safe, monkeypatch):
    given(monkeypatch, path, safe)
    before = dict(os.environ)
    with changed(values := packages_first()):
        assert os.environ[PATH].split(os.pathsep)[0] == ROOT and os.environ[SAFE]
        restore()
        assert {name: os.environ.get(name) for name in (PATH, SAFE)} == {PATH: path, SAFE: safe}
        os.environ.update(values)
    assert dict(os.environ) == before


def test_what_was_changed_is_given_back_after_an_exception(monkeypatch):
    given(monkeypatch, "/a", None)
    with pytest.raises(ValueError, match="oh"), changed({PATH: "/b", SAFE: "1"}):
        raise ValueError("oh")
    assert (os.environ[PATH], os.environ.get(SAFE)) == ("/a", None)


def test_the_process_itself_is_left_as_it_was():
    before = dict(os.environ)
    with clean_start():
        assert os.environ[PATH].split(os.pathsep)[0] == ROOT
        assert os.environ[SAFE] == before.get(SAFE, OURS)
    assert dict(os.environ) == before


def test_what_a_driver_starts_sees_the_variables_of_this_process(tmp_path):
    problem = Problem(f"{__name__}:StartsPrograms", time_steps=1, env_kwargs={"path": str(tmp_path / "seen")})
    with ProcessPool(Job(problem, "random", 8, 0, 2, 1, EVAL_STARTS), 2, 60) as pool:
        pool.submit(0, snapshot(), Kind.COLLECT)
        pool.result()
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert len(seen) >= 2 and all(one == shown() for one in seen)


@pytest.mark.parametrize(("backend", "drivers"), [("process", 0), ("thread", 2), ("process", 2)])
def test_what_f_starts_has_one_thread_with_or_without_drivers(backend, drivers, monkeypatch):
    monkeypatch.setenv(THREAD_LIMITS[0], "3")
    monkeypatch.delenv(THREAD_LIMITS[1], raising=False)
    before = dict(os.environ)
    with make_pool(
        Job(Problem(f"{__name__}:StartsThreads", time_steps=1), "random", 8, 0, 2, 1), drivers, backend, 60
    ) as pool:
        pool.submit(0, snapshot(), Kind.COLLECT)
        assert (pool.result().trajectory.objectives[:, 1:] == 1.0).all()
    assert dict(os.environ) == before


def test_it_is_held_to_one_thread_as_long_as_anyone_needs_it(monkeypatch):
    monkeypatch.setenv(THREAD_LIMITS[0], "3")
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    first.enter_context(one_thread())
    second.enter_context(one_thread())
    first.close()
    assert os.environ[THREAD_LIMITS[0]] == "1"
    second.close()
    assert os.environ[THREAD_LIMITS[0]] == "3"
