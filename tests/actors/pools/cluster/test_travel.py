"""What travels to the nodes: this program and the user's modules, and nothing that is installed there."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from actors.job import Job
from actors.pools.cluster.travel import EXCLUDED, OURS, runtime_env, sent
from actors.pools.environment import ROOT
from env import Problem, UsageError
from env.importing import import_module

FILES = {
    "here/mine.py": "import beside",
    "here/beside.py": "",
    "here/lab/mine.py": "",
    "here/lab/__init__.py": "",
    "elsewhere/single.py": "",
    "elsewhere/whole/__init__.py": "",
    "elsewhere/whole/deep/__init__.py": "",
    "elsewhere/whole/deep/part.py": "",
    "elsewhere/spread/over/part.py": "",
    "apps/solver/site-packages/solver/__init__.py": "",
    "apps/solver/dist-packages/meshes.py": "",
}
JOB = Job(Problem("ackley", time_steps=3), "random", 8, 5, 10, 3)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Returns a directory with files, in whose ``here`` a program runs that has loaded nothing of a user's yet."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    before = dict(sys.modules)
    for name, module in before.items():
        if _is_users(module):
            del sys.modules[name]
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "here"), str(tmp_path / "elsewhere")])
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


def _is_users(module):
    """Returns whether a module is one of these tests."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and pathlib.Path(file).is_relative_to(pathlib.Path(ROOT, "tests"))


def load(*names):
    for name in names:
        __import__(name)


def test_without_modules_of_a_users_this_program_travels_alone(lab):
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED}
    assert all(os.path.exists(path) for path in OURS)


def test_a_module_in_the_working_directory_takes_it_along(lab):
    load("mine")
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED, "working_dir": str(lab / "here")}


def test_so_does_one_that_lies_deeper(lab):
    load("lab.mine")
    assert runtime_env(JOB)["working_dir"] == str(lab / "here")


@pytest.mark.parametrize(
    ("module", "travels"),
    [
        ("single", "single.py"),
        ("whole", "whole"),
        ("whole.deep.part", "whole"),
        ("spread.over.part", "spread"),  # packages without __init__.py
    ],
)
def test_a_module_elsewhere_on_the_path_travels_alone(module, travels, lab):
    load(module)
    assert runtime_env(JOB) == {"py_modules": [*OURS, str(lab / "elsewhere" / travels)], "excludes": EXCLUDED}


def test_modules_of_both_kinds_travel_once_each(lab):
    load("mine", "single", "whole.deep.part", "whole.deep", "spread.over.part")
    found = runtime_env(JOB)
    elsewhere = [str(lab / "elsewhere" / name) for name in ("single.py", "spread", "whole")]
    assert found["py_modules"] == [*OURS, *elsewhere] and found["working_dir"] == str(lab / "here")


def test_what_is_installed_elsewhere_does_not_travel(lab, monkeypatch):
    """Such as by a cluster's own way to add packages, in another environment, or for another user."""
    apps = [str(lab / "apps" / "solver" / name) for name in ("site-packages", "dist-packages")]
    monkeypatch.setattr(sys, "path", [*sys.path, *apps])
    load("solver", "meshes")
    monkeypatch.chdir(lab)  # not even if they lie in the working directory
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED}


@pytest.mark.parametrize("path", ["./mine.py", "mine.py", "lab/mine.py", "{lab}/here/mine.py"])
def test_a_file_that_was_imported_by_its_path_takes_the_working_directory_along(path, lab):
    import_module("--env x", f"{path.format(lab=lab)}:f")
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED, "working_dir": str(lab / "here")}


def test_a_file_by_its_path_outside_is_told_in_one_line(lab):
    import_module("--env x", "../elsewhere/single.py:f")
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED}  # it is of an earlier run
    again = dataclasses.replace(JOB, sampler="./single.py:S")  # another one of this name
    assert runtime_env(again) == {"py_modules": OURS, "excludes": EXCLUDED}
    outside = str(lab / "elsewhere" / "single.py")
    with pytest.raises(UsageError) as caught:
        runtime_env(dataclasses.replace(JOB, sampler="random:2,../elsewhere/single.py:S"))
    assert str(caught.value) == (
        f"--backend ray: {outside} lies outside the working directory, which is what travels to the nodes; begin in "
        f"the directory of single.py"
    )


@pytest.mark.parametrize(
    ("env", "sampler", "travels"),
    [
        ("ackley", "random", ("ackley", "random")),
        ("./mine.py:f", "lab.mine:S", ("./mine.py:f", "lab.mine:S")),
        ("{here}/lab/mine.py:f", "random", ("./lab/mine.py:f", "random")),
        ("ackley", "random:2,{here}/mine.py:S:1", ("ackley", "random:2,./mine.py:S:1")),
        ("{here}more/mine.py:f", "lhs", ("{here}more/mine.py:f", "lhs")),
    ],
)
def test_files_are_named_from_the_working_directory(env, sampler, travels, lab):
    names = [name.format(here=lab / "here") for name in (env, sampler, *travels)]
    job = Job(Problem(names[0], time_steps=3), names[1], 8, 5, 10, 3, profile="/home/me/profiles")
    wanted = Job(Problem(names[2], time_steps=3), names[3], 8, 5, 10, 3)
    assert sent(job) == wanted


def test_what_is_no_python_file_must_be_there(lab):
    """Ray takes directories and Python files; a compiled module is one that is installed."""
    compiled = lab / "elsewhere" / "fast.cpython-311-x86_64-linux-gnu.so"
    compiled.write_bytes(b"")
    sys.modules["fast"] = type(sys)("fast")
    sys.modules["fast"].__file__ = str(compiled)
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED}


def test_a_module_that_lies_behind_a_link_is_found_where_it_lies(lab, monkeypatch):
    (lab / "link").symlink_to(lab / "here")
    monkeypatch.chdir(lab / "link")
    load("mine")
    assert runtime_env(JOB)["working_dir"] == str(lab / "here")


PROGRAM = textwrap.dedent("""
    import json
    import beside
    from actors.job import Job
    from actors.pools.cluster.travel import runtime_env
    from env import Problem
    print(json.dumps(runtime_env(Job(Problem("ackley", time_steps=3), "random", 8, 5, 10, 3))))
""")


@pytest.mark.parametrize("inside", [True, False])
def test_the_main_program_itself_does_not_travel(inside, lab):
    """Drivers do not run it: what it has defined itself is sent by value."""
    (lab / "elsewhere" / "program.py").write_text(PROGRAM.replace("import beside", "import beside" if inside else ""))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([ROOT, str(lab / "here")])}
    command = [sys.executable, str(lab / "elsewhere" / "program.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found == {"py_modules": OURS, "excludes": EXCLUDED} | ({"working_dir": str(lab / "here")} if inside else {})


def test_the_checkout_of_this_program_may_be_the_working_directory(lab, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED}
    load("tests.problems")  # which is no part of what is installed
    assert runtime_env(JOB) == {"py_modules": OURS, "excludes": EXCLUDED, "working_dir": ROOT}
