"""What is compiled is kept once, by its text; whatever is wrong with the place, a function computes the same."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[4]
PROGRAM = """
import json
import numpy as np
from ppo.algorithm.compiled.compiler import entry, part

@part
def half(value):
    return 0.5 * value

@entry
def total(values):
    found = 0.0
    for value in values:
        found += half(value)
    return found

value = total(np.arange(6.0))
print(json.dumps([value, sum(total.stats.cache_hits.values())]))
"""


def called(cwd, **variables):
    """Calls a compiled function in a process of its own; returns its value and how often it was found kept."""
    hidden = ("NUMBA_", "XDG_")
    others = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment = others | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    options = {"capture_output": True, "text": True, "timeout": 120, "cwd": cwd}
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, **options)
    assert (found.returncode, found.stderr) == (0, "")
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A cache that one process has compiled the function into; returns its parent and the function's value."""
    parent = tmp_path_factory.mktemp("once")
    value, hits = called(parent, XDG_CACHE_HOME=str(parent / "cache"))
    assert hits == 0
    (directory,) = (parent / "cache").iterdir()
    assert sorted(path.suffix for path in directory.iterdir()) == [".nbc", ".nbi"]
    return parent / "cache", value


@pytest.fixture
def kept(once, tmp_path):
    """A copy of that cache; returns its directory and the function's value."""
    shutil.copytree(once[0], tmp_path / "cache")  # with its times, which Numba does not look at here
    (directory,) = (tmp_path / "cache").iterdir()
    return directory, once[1]


def test_a_function_is_compiled_once(kept, tmp_path):
    directory, value = kept
    assert called(tmp_path, XDG_CACHE_HOME=str(directory.parent)) == [value, 1]
    assert called(tmp_path, NUMBA_CACHE_DIR=str(directory.parent), XDG_CACHE_HOME="elsewhere") == [value, 1]
    assert called(tmp_path, HOME=str(tmp_path / "home")) == [value, 0]
    assert [path.name for path in (tmp_path / "home" / ".cache").iterdir()] == [directory.name]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_damaged_file_is_made_again(kept, suffix, share, tmp_path):
    directory, value = kept
    (path,) = directory.glob(f"*{suffix}")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert called(tmp_path, XDG_CACHE_HOME=str(directory.parent)) == [value, 0]
    assert called(tmp_path, XDG_CACHE_HOME=str(directory.parent)) == [value, 1]


def test_a_place_that_cannot_be_written_to_is_none(kept, tmp_path):
    (tmp_path / "file").write_text("no directory")
    for place in (str(tmp_path / "file"), "/dev/null"):
        assert called(tmp_path, XDG_CACHE_HOME=place) == [kept[1], 0]


def test_what_a_directory_says_of_numbas_cache_is_not_taken(kept, tmp_path):
    """It could be a stranger's, and what is kept is read by unpickling it."""
    directory, value = kept
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path / 'strange'}\n")
    assert called(tmp_path, XDG_CACHE_HOME=str(directory.parent)) == [value, 1]
    assert not (tmp_path / "strange").exists()
