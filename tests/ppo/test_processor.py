"""Kernels are fixed before any library is loaded: whatever the environment asks for, a run ends in the same bits."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from actors.pools.cluster.versions import KERNELS, versions
from ppo import processor

ROOT = pathlib.Path(__file__).parents[2]
OTHERS = {
    "OPENBLAS_CORETYPE": "Sandybridge",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "AUTO",
    "NUMBA_CPU_NAME": "sandybridge",
    "NUMBA_CPU_FEATURES": "+avx",
}
"""Of each variable a value with which a library takes other kernels than those that are fixed."""
FIXED = [["Haswell"], "X86_V3", "AVX2"]
KERNELS_OF = """
import json, numpy, scipy.linalg, threadpoolctl, torch
from numpy._core._multiarray_umath import __cpu_features__ as features

blas = {one["architecture"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"}
level = [name for name in ("X86_V2", "X86_V3", "X86_V4") if features[name]][-1]
print(json.dumps([sorted(blas), level, torch.backends.cpu.get_cpu_capability()]))
"""
TRAINING = """
from tuninglaw import Config, train

train(Config(env="rosenbrock", evaluations=12, hidden_sizes=(8,), drivers=DRIVERS), "run", pictures=False)
"""
pytestmark = pytest.mark.skipif(not processor.has_level(), reason="this processor has not what x86-64-v3 needs")


def ended(code, variables, directory):
    """Runs code in a process of its own, in which of our variables those alone are set; returns what it printed."""
    others = {name: value for name, value in os.environ.items() if name not in KERNELS}
    options = {"capture_output": True, "text": True, "timeout": 120, "cwd": directory}
    environment = others | {"PYTHONPATH": str(ROOT)} | variables
    found = subprocess.run([sys.executable, "-c", code], env=environment, **options)
    assert found.returncode == 0, found.stderr
    return found.stdout, found.stderr


def trained(program, variables, directory):
    """Trains in a process of its own; returns kernels and digest of the summary, and what was said."""
    directory.mkdir()
    errors = ended(program, variables, directory)[1]
    summary = json.loads((directory / "run" / "summary.json").read_text())
    return summary["kernels"], summary["policy_sha256"], errors


def test_a_run_ends_in_the_same_bits_whatever_kernels_the_environment_asks_for(tmp_path):
    one = trained(TRAINING.replace("DRIVERS", "2"), {}, tmp_path / "one")
    other = trained(TRAINING.replace("DRIVERS", "0"), OTHERS, tmp_path / "other")
    assert one[:2] == other[:2] == (processor.LEVEL, one[1])
    late = trained("import numpy" + TRAINING.replace("DRIVERS", "0"), OTHERS, tmp_path / "late")
    assert late[0] == "this processor's"
    assert late[1] != one[1]  # so that equal digests say something
    assert ["numpy was loaded before tuninglaw" in errors for *_, errors in (one, other, late)] == [False, False, True]


def test_the_kernels_are_fixed_where_no_library_was_loaded(tmp_path):
    assert json.loads(ended(f"import ppo\n{KERNELS_OF}", OTHERS, tmp_path)[0]) == FIXED
    late = json.loads(ended(f"import numpy, ppo\n{KERNELS_OF}", OTHERS, tmp_path)[0])
    assert not {*map(str, late)} & {*map(str, FIXED)}  # of NumPy's it depends on what else the processor has


def test_variables_that_are_fixed_already_stay_so_beside_a_contrary_one(tmp_path):
    inherited = processor.VARIABLES | {processor.CONTRARY: "X86_V3"}
    assert json.loads(ended(f"import ppo\n{KERNELS_OF}", inherited, tmp_path)[0]) == FIXED


def test_the_processor_is_compared_unless_all_kernels_are_chosen(monkeypatch):
    for name in KERNELS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "processor" in versions()
    for name, value in processor.VARIABLES.items():
        monkeypatch.setenv(name, value)
    assert "processor" not in versions()


@pytest.mark.parametrize(("name", "fixed"), [("objective", True), ("Config", True), ("load", False), ("Law", False)])
def test_a_law_that_is_only_used_changes_nothing(name, fixed, tmp_path):
    code = f"import os, sys, tuninglaw\ntuninglaw.{name}\nprint(os.environ.get('MKL_CBWR'), 'numpy' in sys.modules)"
    assert ended(code, {}, tmp_path)[0] == f"{'COMPATIBLE' if fixed else None} True\n"


def test_what_travels_to_the_nodes_of_a_cluster_are_these_variables():
    assert {*KERNELS} == {*processor.VARIABLES, processor.CONTRARY}
