"""A run that is ended, or fails, at a call that changes a file comes to the same end, and no such call escapes."""

import collections
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.faults, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux' fork server")]
CHANGES = {
    "write": ("write", "pwrite64", "writev"),
    "sync": ("fsync", "fdatasync"),
    "rename": ("rename", "renameat", "renameat2"),
    "rename_new": ("link", "linkat"),
    "truncate": ("truncate", "ftruncate"),
    "make_directory": ("mkdir", "mkdirat"),
}
LIVE = """
import pathlib, sys
from tests.every_write import *
start_servers()
folder = pathlib.Path(sys.argv[1])
sys.exit(live(folder / "run", Shim(-1, "", folder / "calls")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["--sample", "20"], ["--sample", "8", "--bench"]])
def test_a_sample_of_all_calls(flags):
    done = subprocess.run(
        [sys.executable, "-m", "tests.every_write", *flags], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(
        rf"\d+ calls, {flags[1]} cases in \d+ s: 0 came to another end; "
        r"0 processes and 0 blocks of shared memory are left\n",
        done.stdout,
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_call_that_changes_the_run_directory_escapes(tmp_path):
    trace = tmp_path / "trace"
    calls = ",".join(name for names in CHANGES.values() for name in names)
    command = ["strace", "-f", "-qq", "-y", "-e", f"trace={calls}", "-e", "signal=none", "-o", str(trace)]
    command += [sys.executable, "-c", LIVE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    counted = collections.Counter((tmp_path / "calls").read_text().split("\n"))
    assert counted["make shared memory"] == counted["unlink shared memory"] >= 1
    counted["sync"] += counted["sync_directory"]
    seen = collections.Counter()
    path = re.escape(str(tmp_path))
    for line in trace.read_text().splitlines():
        call = re.match(r"\d+ +(?:<\.\.\. )?(\w+)", line)
        if call and re.search(rf"{path}(/run[/>\"]|[>\"])", line):
            seen[call[1]] += 1
    found = {changing: sum(seen[name] for name in names) for changing, names in CHANGES.items()}
    assert found == {changing: counted[changing] for changing in CHANGES}
    assert min(found[changing] for changing in ("write", "sync", "rename", "rename_new", "make_directory")) > 0
    assert not list((tmp_path / "run").glob(".*"))
