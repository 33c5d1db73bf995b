"""The compiled functions are right to the last bits but two, at the ends of their range too, and on any processor."""

import os
import pathlib
import subprocess
import sys

import numba
import numpy as np
import pytest

from ppo.algorithm.compiled.compiler import SETTINGS
from ppo.algorithm.compiled.elementary import exp, log, tanh

ROOT = pathlib.Path(__file__).parents[4]
DIGEST = """
import hashlib
from tests.ppo.algorithm.compiled.test_elementary import ARGUMENTS, FUNCTIONS, applied

values = [applied(name, ARGUMENTS[name].astype(kind)) for name, kind in FUNCTIONS]
print(hashlib.sha256(b"".join(array.tobytes() for array in values)).hexdigest())
"""


@numba.njit(**SETTINGS)
def each_exp(values, result):
    for i in range(len(values)):
        result[i] = exp(values[i])


@numba.njit(**SETTINGS)
def each_log(values, result):
    for i in range(len(values)):
        result[i] = log(values[i])


@numba.njit(**SETTINGS)
def each_tanh(values, result):
    for i in range(len(values)):
        result[i] = tanh(values[i])


COMPILED = {"exp": each_exp, "log": each_log, "tanh": each_tanh}
FUNCTIONS = [("exp", np.float64), ("log", np.float64), ("tanh", np.float64), ("tanh", np.float32)]
RNG = np.random.default_rng(0)
SPREAD = np.concatenate([scale * RNG.normal(size=2000) for scale in (1e-9, 1e-3, 0.1, 1, 5, 150)])
ARGUMENTS = {
    "exp": SPREAD[np.abs(SPREAD) < 700],
    "log": np.concatenate([np.exp(SPREAD[np.abs(SPREAD) < 700]), 1 + 0.01 * RNG.normal(size=2000)]),
    "tanh": SPREAD,
}


def applied(name, values):
    result = np.empty_like(values)
    COMPILED[name](values, result)
    return result


@pytest.mark.parametrize(("name", "kind"), FUNCTIONS)
def test_values_are_right_to_the_last_bits(name, kind):
    values = ARGUMENTS[name].astype(kind)
    exact = getattr(np, name)(values.astype(np.longdouble))  # in the 80 bits of x87
    error = np.abs(applied(name, values) - exact) / np.spacing(np.abs(exact).astype(kind))
    assert error.max() < 3


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_hyperbolic_tangent_keeps_signs_and_is_never_beyond_one(kind):
    values = np.array([0.0, -0.0, 1e-30, 40.0, -40.0, np.inf, -np.inf, np.nan], kind)
    expected = np.array([0.0, -0.0, 1e-30, 1.0, -1.0, 1.0, -1.0, np.nan], kind)
    assert applied("tanh", values).tobytes() == expected.tobytes()
    assert np.abs(applied("tanh", np.linspace(-30, 30, 100_001).astype(kind))).max() == 1


def test_exponentials_and_logarithms_at_the_ends_of_their_range():
    exponents = np.array([0.0, -0.0, 709.5, 1e300, np.inf, -708.5, -1e300, -np.inf, np.nan])
    assert applied("exp", exponents).tolist()[:-1] == [1.0, 1.0, np.inf, np.inf, np.inf, 0.0, 0.0, 0.0]
    values = np.array([1.0, np.inf, 0.0, -0.0, 1e-310, -1.0, -np.inf, np.nan])
    logs = applied("log", values)
    assert logs.tolist()[:5] == [0.0, np.inf, -np.inf, -np.inf, -np.inf]
    assert np.isnan(logs[5:]).all() and np.isnan(applied("exp", exponents)[-1])


def test_each_processor_gives_the_same_bits():
    """With vector instructions of another width, and where two roundings in one are a function of the C library."""
    digests = set()
    for target in ({"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}, {}):
        others = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        options = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120}
        found = subprocess.run([sys.executable, "-c", DIGEST], env=others | target, **options)
        assert found.returncode == 0, found.stderr
        digests.add(found.stdout)
    assert len(digests) == 1
