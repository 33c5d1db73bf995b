"""A path that no file can have is refused before anything is made; any other one is left to whoever uses it."""

import os

import pytest

from env import UsageError
from ppo.config.paths import check_path


@pytest.mark.parametrize(
    "path", [".", "runs/a", "a b", "größe", "missing/" * 20, "x" * 255, "/dev/null/x", "a" + "/b" * 500]
)
def test_paths_that_may_be(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_path("--run-dir", path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "--run-dir '': is empty, and must name a file or a directory"),
        ("x" * 256, f"--run-dir {'x' * 40}...: is too long for a path (its longest name has 256 bytes)"),
        (f"a/{'ß' * 128}/b", "(its longest name has 256 bytes)"),
        ("a/" * 2020, "is too long for a path (its longest name has 1 bytes)"),
        ("a\0b", r"--run-dir 'a\x00b': is no path (embedded null byte)"),
        ("\ud800", "is no path"),
        ("loop/x", "--run-dir loop/x: cannot be looked at (Too many levels of symbolic links)"),
    ],
)
def test_paths_that_cannot_be(path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink("loop", "loop")
    with pytest.raises(UsageError) as error:
        check_path("--run-dir", path)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1
