"""Fixtures of the tests of pools."""

import pytest

from actors.job import Kind
from actors.pools.factory import make_pool
from tests.actors.pools.rounds import job, run


@pytest.fixture(scope="package")
def expected():
    """Returns the trajectories without drivers of rounds 0 to 3, and of an evaluation in step 4."""
    with make_pool(job(), 0, "process", 0) as pool:
        return [run(pool, step)[0] for step in range(4)] + [run(pool, 4, Kind.EVALUATE)[0]]
