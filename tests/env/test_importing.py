"""What a path names is imported; a path that cannot be is refused with the flag that named it."""

import sys

import pytest

from env import Problem, UsageError
from env.importing import import_object
from tests.problems import CornerSampler


def test_import_object_returns_the_object_itself():
    assert import_object("--sampler", "tests.problems:CornerSampler") is CornerSampler


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tests.problems", "must be package.module:Class"),
        ("tests.problems:", "must be package.module:Class"),
        ("tests..problems:Quadratic", "must be package.module:Class"),
        ("tests.problems:CornerSampl", "module 'tests.problems' has no 'CornerSampl' .did you mean 'CornerSampler'"),
        ("tests.nowhere:Thing", "no module named 'tests.nowhere' can be imported from here"),
        ("__main__:Thing", "drivers do not run the main program again"),
    ],
)
def test_a_path_that_cannot_be_imported_is_named_with_its_flag(path, message):
    with pytest.raises(UsageError, match=f"^--sampler {path}: .*{message}"):
        import_object("--sampler", path)


TUNED = """
import beside
from env import Range, objective


@objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
def loss(gain, vin):
    return beside.VALUE
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A directory with files of a user's, one of them called as a package of this program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside.py").write_text("VALUE = 3.5\n")
    for name in ("tuned.py", "env.py", "a-b.py"):
        (tmp_path / name).write_text(TUNED)
    yield tmp_path
    for name in [name for name in sys.modules if name == "beside" or name.startswith(("tuned_", "env_", "a-b_"))]:
        del sys.modules[name]


@pytest.mark.parametrize("path", ["./tuned.py", "tuned.py", "./env.py", "./a-b.py", "ABSOLUTE/tuned.py"])
def test_a_file_is_imported_by_its_path_with_what_lies_beside_it(path, files):
    named = path.replace("ABSOLUTE", str(files))
    assert import_object("--env", f"{named}:loss")(gain=0, vin=0) == 3.5
    assert Problem(f"{named}:loss").family == "tuning"
    assert sys.modules["env"].__file__ != str(files / "env.py")
    assert sys.path[-1] == str(files)


def test_a_file_is_imported_once(files):
    assert import_object("--env", "./tuned.py:loss") is import_object("--env", f"{files}/tuned.py:loss")


def test_a_file_that_raises_is_imported_again_once_it_is_mended(files):
    (files / "tuned.py").write_text("VALUE = undefined")
    with pytest.raises(NameError):
        import_object("--env", "./tuned.py:VALUE")
    (files / "tuned.py").write_text("VALUE = 1")
    assert import_object("--env", "./tuned.py:VALUE") == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("./nowhere.py:loss", "--env ./nowhere.py:loss: there is no file nowhere.py there"),
        ("./none/tuned.py:loss", "there is no file tuned.py there"),
        ("./tuned.py", "--env ./tuned.py: say which function or class of the file it is, ./tuned.py:NAME"),
        ("./tuned.py:", "--env ./tuned.py:: must be package.module:Class or ./file.py:Class"),
        ("./tuned.py:los", "--env ./tuned.py:los: the file has no 'los' (did you mean 'loss'?)"),
        ("./tuned.py:beside", "--env ./tuned.py:beside: is the module beside; must be a function with @objective"),
        ("./tuned:loss", "--env ./tuned:loss: must be package.module:Class or ./file.py:Class"),
    ],
)
def test_a_file_that_gives_no_problem_is_told_in_one_line(path, message, files):
    with pytest.raises(UsageError) as caught:
        Problem(path).objective()
    assert message in str(caught.value) and "\n" not in str(caught.value)
