"""Makes a pool from the names of the command line."""

import dataclasses
import functools
from typing import Literal

from actors.job import Job
from actors.pools.auto import AutoPool
from actors.pools.base import Pool
from actors.pools.dealing import DealingPool
from actors.pools.processes import CLOSE_SECONDS, ProcessPool
from actors.pools.threads import ThreadPool


def make_pool(
    job: Job,
    drivers: int | Literal["auto"],
    backend: str,
    timeout: float,
    patience: float = CLOSE_SECONDS,
    address: str | None = None,
) -> Pool:
    """Makes the pool of the flags ``--drivers``, ``--backend`` and so on.

    Args:
        job: what drivers run.
        drivers: how many; 0 for this process.
        backend: ``process``, ``thread`` or ``ray``.
        timeout: seconds of ``--driver-timeout``; 0 for none.
        patience: seconds of ``--close-timeout``.
        address: of a Ray cluster, as ``--ray-address`` gives it.

    Raises:
        UsageError: the drivers cannot work, or there is no such cluster.
        DriverError: a driver cannot make its environments, or cannot be started.
    """
    if drivers == "auto" and job.description.at_once == 1:  # nothing is to be measured, nor a second objective made
        drivers = 0
    if drivers == "auto" and job.description.waits:
        pool = ThreadPool(job, 0, timeout)
        pool.choice = "no drivers, since evaluations that wait run side by side in this process"
        return pool
    if drivers == 0 or backend == "thread":
        assert drivers != "auto", "the configuration is checked"
        return ThreadPool(_shared(job, drivers), drivers, timeout)
    start = functools.partial(_start, job, backend, timeout, patience, address)
    if drivers != "auto":
        return start(drivers)
    if backend == "ray":
        from actors.pools.cluster.connection import check_reachable

        check_reachable(address)  # a mistake is told at once, and not when drivers turn out to pay
    return AutoPool(job, start, timeout, backend == "ray")


def _start(job: Job, backend: str, timeout: float, patience: float, address: str | None, drivers: int) -> DealingPool:
    """Starts a pool of drivers that are reached by messages."""
    job = _shared(job, drivers)
    if backend == "process":
        return ProcessPool(job, drivers, timeout, patience)
    from actors.pools.cluster.fleet import RayPool  # of an extra

    return RayPool(job, drivers, address, timeout, patience)


def _shared(job: Job, drivers: int) -> Job:
    """Returns the job of so many drivers, which share what may be under way at once."""
    return dataclasses.replace(job, drivers=max(drivers, 1))
