"""Objectives that only wait, and how long a round of them takes against the longest of its slots."""

import asyncio
import math
import statistics
import time
import zlib
from typing import Any

import numpy as np

from actors.job import Job, Kind
from actors.pools.factory import make_pool
from env import Objective
from env.make import Problem
from ppo.experiments.workloads import fresh_snapshot

SLOTS, TIME_STEPS = 64, 2


class Waiting(Objective):
    """f is the seconds that its evaluation waits for; over points, their logarithm is normal.

    Args:
        ms: their median, ms.
        sigma: standard deviation of the logarithm; 0 for evaluations that all take as long.
    """

    knobs = conditions = 1

    def __init__(self, ms: float = 20.0, sigma: float = 0.0):
        self.ms, self.sigma = ms, sigma

    def seconds(self, x: np.ndarray, c: np.ndarray) -> float:
        """Returns for how long to wait, which the point alone decides, so that two runs wait alike."""
        if not self.sigma:
            return self.ms / 1000
        uniform = (zlib.crc32(x.tobytes() + c.tobytes()) + 0.5) / 2**32
        return self.ms / 1000 * math.exp(self.sigma * statistics.NormalDist().inv_cdf(uniform))


class Waits(Waiting):
    """Waits on the event loop."""

    async def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        """See ``Objective``."""
        seconds = self.seconds(x, c)
        await asyncio.sleep(seconds)
        return seconds


class WaitsInThread(Waiting):
    """Waits in a thread."""

    thread_safe = True

    def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        """See ``Objective``."""
        seconds = self.seconds(x, c)
        time.sleep(seconds)
        return seconds


def over_the_longest_slot(kind: type[Waiting], drivers: int, sigma: float, rounds: int) -> list[float]:
    """Measures rounds of 64 slots, a start and two time steps each, all under way at once.

    Args:
        kind: the objective.
        drivers: processes; 0 for none but this one.
        sigma: as in ``Waits``.
        rounds: how many.

    Returns:
        For each round its time over that which the slowest slot waits: what a driver for each slot would take at best.
    """
    problem = Problem(f"{__name__}:{kind.__name__}", env_kwargs={"sigma": sigma})
    job = Job(problem, "random", 256, 401, SLOTS, TIME_STEPS, np.zeros((21, 2)))
    ratios = []
    with make_pool(job, drivers, "process", 60.0) as pool:
        for step in range(rounds + 2):
            snapshot, started = fresh_snapshot(step), time.perf_counter()
            pool.submit(step, snapshot, Kind.COLLECT)
            found = pool.result().trajectory
            longest = float(np.nansum(found.objectives, axis=1).max())
            ratios.append((time.perf_counter() - started) / longest)
    return ratios[2:]
