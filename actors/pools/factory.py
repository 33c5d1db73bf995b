"""Makes a pool from the names of the command line."""

from typing import Literal

from actors.job import Job
from actors.pools.auto import AutoPool
from actors.pools.base import Pool
from actors.pools.processes import ProcessPool
from actors.pools.threads import ThreadPool


def make_pool(job: Job, drivers: int | Literal["auto"], backend: str, timeout: float) -> Pool:
    """Makes the pool for ``--drivers`` and ``--backend``; ``timeout`` is in seconds, 0 for none."""
    if drivers == "auto":
        return AutoPool(job, timeout)
    if drivers == 0 or backend == "thread":
        return ThreadPool(job, drivers)
    return ProcessPool(job, drivers, timeout)
