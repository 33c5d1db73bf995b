"""Very many drivers on the real pool, under the virtual clock: stragglers, losses, silence, machines that join."""

import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from actors.job import Job, Kind, Task
from actors.pools.dealing import DealingPool
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from env.make import Problem
from tests.simulation.fleet import Drivers, SimulatedFleet, World
from tests.simulation.schedule import Fault, Schedule

SLOT_SECONDS = 2.0
TROUBLE = {"kill": 1e-3, "leave": 5e-4, "silence": 1e-4, "slow": 1e-3, "join": 2e-4}
"""How often each happens, by task."""
TIMEOUT = 10.0
BITS = ("slots", "versions", "evaluations", "obs", "actions", "logprobs", "rewards", "objectives")


@dataclass(frozen=True)
class Scaled:
    """What came of it.

    Attributes:
        seconds: of each round, by the virtual clock, s.
        cpu: of the learner's side, for a task, ms.
        restarts: drivers that were replaced.
        happened: things that went wrong.
        same: whether each round has the bits of the first, which nothing disturbed.
    """

    seconds: list[float]
    cpu: float
    restarts: int
    happened: int
    same: bool

    def __str__(self) -> str:
        return (
            f"{self.happened:,} faults, {self.restarts:,} drivers replaced; rounds of {min(self.seconds):.2f} to "
            f"{max(self.seconds):.2f} s, median {statistics.median(self.seconds):.2f}; {self.cpu:.3f} ms of a core "
            f"a task; {'no bit changed' if self.same else 'OTHER BITS'}"
        )


class ManyDrivers(Drivers):
    """All slots are rolled out once, together; a task takes its own."""

    def __init__(self, job: Job, snapshot: Snapshot):
        super().__init__(job)
        self._collector.update(snapshot)
        self.whole = self._collector.run(Task(Kind.COLLECT, 0, 0, job.episodes))

    def run(self, task: Task, snapshot: Snapshot, key: bytes, driver: int, seconds: float) -> Trajectory:
        slots = self.whole.slots
        found = self.whole.rows(self._job.layout(task.kind), (slots >= task.start) & (slots < task.stop))
        found.drivers[:], found.seconds[:] = driver, seconds
        return found


def troubled(seed: int, tasks: int) -> Schedule:
    """Returns a schedule in which things go wrong as often as ``TROUBLE`` says."""
    return Schedule(seed, 0, 0, SLOT_SECONDS, 0.1, tuple(_faults(random.Random(seed), tasks)))


def _faults(rng: random.Random, tasks: int) -> Iterator[Fault]:
    for kind, share in TROUBLE.items():
        for at in rng.sample(range(tasks), round(share * tasks)):
            yield Fault(kind, at, rng.random())


def scale(drivers: int, rounds: int, seed: int = 0) -> Scaled:
    """Runs rounds of one slot a driver."""
    job = Job(Problem("sphere"), "random", 1, 0, drivers, 1, np.zeros((2, 2)), evaluate_starts=False)
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    snapshot = Snapshot(0, spec, np.zeros(spec.size), 0.1)
    world = World(troubled(seed, drivers * rounds))
    many = ManyDrivers(job, snapshot)
    seconds, same, started = [], True, time.process_time()
    with DealingPool(job, SimulatedFleet(world, many, room=drivers, most_events=10**9), drivers, TIMEOUT) as pool:
        for _ in range(rounds):
            began = world.clock
            pool.submit(0, snapshot, Kind.COLLECT)
            merged = pool.result().trajectory
            seconds.append(world.clock - began)
            same &= all(getattr(merged, name).tobytes() == getattr(many.whole, name).tobytes() for name in BITS)
    restarts = pool.restarts
    cpu = 1000 * (time.process_time() - started) / (drivers * rounds)
    return Scaled(seconds, cpu, restarts, world.happened, same)
