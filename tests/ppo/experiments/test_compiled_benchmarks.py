"""Benchmarks of what is compiled measure both sides, and a missing library is one line."""

import sys

import pytest

from env import UsageError
from ppo.experiments import compiled_benchmarks
from ppo.experiments.compiled_benchmarks import beside_jax, imagined_step


def test_an_imagined_step_is_measured_on_both_sides(monkeypatch):
    monkeypatch.setattr(compiled_benchmarks, "BLOCKS", 1)
    monkeypatch.setattr(compiled_benchmarks, "STEPS", 1)
    monkeypatch.setattr(compiled_benchmarks, "KNOWN", 40)
    ours, other, quotient, target = imagined_step("2 ms")
    assert ours.endswith(" ms") and other.endswith(" ms, not compiled") and quotient.startswith("1/")
    assert 0 < float(ours.split()[0]) < float(other.split()[0])
    assert target == "2 ms"


def test_without_jax_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(UsageError, match=r"^ppo.bench: measures beside JAX; pip install 'tuninglaw\[bench\]'$"):
        beside_jax("1.4 times")
