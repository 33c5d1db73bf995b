"""Makes a pool from the names of the command line."""

from typing import Literal

from actors.job import Job
from actors.pools.auto import AutoPool
from actors.pools.base import Pool
from actors.pools.processes import CLOSE_SECONDS, ProcessPool
from actors.pools.threads import ThreadPool


def make_pool(
    job: Job, drivers: int | Literal["auto"], backend: str, timeout: float, patience: float = CLOSE_SECONDS
) -> Pool:
    """Makes the pool for ``--drivers``, ``--backend``, ``--driver-timeout`` (0 for none) and ``--close-timeout``."""
    if drivers == "auto" and job.description.at_once == 1:  # nothing is to be measured, nor a second objective made
        drivers = 0
    if drivers == "auto":
        return AutoPool(job, timeout, patience)
    if drivers == 0 or backend == "thread":
        return ThreadPool(job, drivers, timeout)
    return ProcessPool(job, drivers, timeout, patience)
