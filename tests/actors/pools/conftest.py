"""Fixtures of the tests of pools."""

import multiprocessing

import pytest

from actors.job import Kind
from actors.pools import processes
from actors.pools.factory import make_pool
from actors.pools.processes import ProcessPool
from tests.actors.pools.rounds import job, run


@pytest.fixture(scope="package")
def expected():
    """Returns the trajectories without drivers of rounds 0 to 3, and of an evaluation in step 4."""
    with make_pool(job(), 0, "process", 0) as pool:
        return [run(pool, step)[0] for step in range(4)] + [run(pool, 4, Kind.EVALUATE)[0]]


@pytest.fixture
def spawning_pool(monkeypatch):
    """Returns a maker of pools whose drivers have this process's environment, not that of the fork server's start."""

    def make(a_job, drivers, timeout=30.0):
        with monkeypatch.context() as patched:
            patched.setattr(processes, "driver_context", lambda preload: multiprocessing.get_context("spawn"))
            return ProcessPool(a_job, drivers, timeout)

    return make
