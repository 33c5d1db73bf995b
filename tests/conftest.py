"""Fixtures of all tests: one fork server a session, and what two equal runs must share."""

import csv
import pathlib

import pytest

import ppo  # noqa: F401 - fixes the kernels, as in every command, before anything loads NumPy
from actors.job import Job
from actors.pools.processes import ProcessPool
from env import Problem

LONGEST = (
    *("test_ray.py", "test_every_write.py", "test_compiler.py", "test_search.py", "test_simulation.py"),
    *("test_learning_with_failures.py", "test_archiving.py", "test_candidates.py", "test_side_by_side.py"),
    *("test_model_runs.py", "test_model_laws.py", "test_invariance.py", "test_learning.py", "test_processor.py"),
)
"""Files that take longest, in order."""


def pytest_collection_modifyitems(items):
    """Puts the longest files first: a file is dealt whole, and a long one that comes last leaves a core idle."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    """Starts the fork server once, with what any sampler needs preloaded."""
    ProcessPool(Job(Problem("sphere"), "lhs", 8, 0, 2, 2), 1, 60).close()


def metrics_without_times(path: pathlib.Path) -> list[dict[str, str]]:
    """Returns the rows of a run's metrics.csv as text, without its times."""
    with (path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if not name.startswith("time/")} for row in rows]


@pytest.fixture
def bits():
    """Returns a function that reads what equal runs share: digest and counts of the summary, metrics without times."""

    def read(path: pathlib.Path, summary: dict) -> tuple:
        counts = ("policy_sha256", "training_steps", "env_steps", "objective_evaluations", "eval_evaluations", "eval")
        return {name: summary[name] for name in counts}, metrics_without_times(path)

    return read
