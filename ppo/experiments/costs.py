"""What the parts of a training step cost the learner's side in this process, in seconds of a core.

The time of the processor is taken, not that of the clock, so that other programs on the machine count little.
"""

import pickle
import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np
from threadpoolctl import threadpool_limits

from actors.job import Job, Kind, Task
from actors.pools import protocol
from actors.pools.cluster.agent import Order
from actors.pools.dealing import DealingPool
from actors.pools.shared_snapshot import SharedSnapshot
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Layout, Merger, Trajectory
from env.make import Problem
from ppo.algorithm.learner import Learner
from ppo.config import ResolvedConfig
from ppo.experiments.echo import EchoFleet, OneByOne
from ppo.experiments.workloads import STANDARD, fresh_snapshot, training

TUNING = Layout(2, 2, 1, objectives=True)
"""A slot of the thesis's runtime benchmark: two time steps of 2-D Ackley."""
CONTROL = Layout(1000, 17, 6, objectives=False)
"""A slot with HalfCheetah's shapes."""


def cpu(calls: Iterable[Callable[[], object]]) -> float:
    """Returns the median seconds of the processor, all threads of this process together, over the calls."""
    seconds = []
    for call in calls:
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def waiting_job(drivers: int, wait_ms: float) -> Job:
    """Returns a job of one slot a driver, of one evaluation that waits."""
    problem = Problem("ackley", evaluation_cost_ms=wait_ms)
    return Job(problem, "random", 256, 401, drivers, 1, np.zeros((21, 2)), evaluate_starts=False)


def play(pool: DealingPool, rounds: int) -> None:
    """Runs rounds of one slot a task."""
    for step in range(rounds):
        pool.submit(step, fresh_snapshot(), Kind.COLLECT, OneByOne())
        pool.result()


def trajectory_of(layout: Layout, slots: range) -> Trajectory:
    """Returns random slots of version 0, in episodes that end with them."""
    made, rng = Trajectory.empty(layout, len(slots)), np.random.default_rng(0)
    for name in ("obs", "actions", "rewards", "objectives", "final_obs"):
        getattr(made, name)[:] = rng.normal(size=getattr(made, name).shape)
    made.logprobs[:], made.truncations[:, -1], made.slots[:] = -1.0, True, slots
    return made


def dealing(drivers: int, rounds: int) -> float:
    """Measures the learner's seconds for a task whose driver answers at once; the packing of the answer included."""
    job = waiting_job(drivers, 0.0)
    layout = job.layout(Kind.COLLECT)
    answers = [bytes(trajectory_of(layout, range(slot, slot + 1)).buffer) for slot in range(drivers)]
    with DealingPool(job, EchoFleet(answers), drivers, 0.0) as pool:
        play(pool, 1)
        return cpu([lambda: play(pool, 1)] * rounds) / drivers


def merging(layout: Layout, slots: int, block: int, rounds: int) -> float:
    """Measures the seconds of merging a slot, where the slots come in blocks of so many."""
    merger = Merger(layout, slots)
    blocks = [trajectory_of(layout, range(start, start + block)) for start in range(0, slots, block)]

    def merge() -> None:
        merger.begin(0)
        for one in blocks:
            merger.add(one)

    merge()  # takes the memory
    return cpu([merge] * rounds) / slots


def keeping(block: int, rounds: int) -> float:
    """Measures the seconds in which the archive keeps a slot, where they come in blocks of so many."""
    with training(STANDARD) as trainer:
        next(trainer)
        recorder = trainer.rounds.recorder
        assert recorder is not None, "a tuning problem is archived"
        recorder.slot_by_slot = True  # as where f is slow
        one = trajectory_of(TUNING, range(block))
        return cpu([lambda: recorder.arrived(one)] * rounds) / block


def updating(config: ResolvedConfig, spec: NetworkSpec, layout: Layout, slots: int, rounds: int) -> float:
    """Measures the learner's seconds of learning from a slot."""
    learner = Learner(config, spec)
    seen = trajectory_of(layout, range(slots))
    with threadpool_limits(1, "blas"):
        return cpu([lambda: learner.improve(seen, learner.schedule, 0)] * rounds) / slots


def sharing(snapshot: Snapshot, rounds: int) -> float:
    """Measures the seconds in which a snapshot is packed, compared with the last one and put into shared memory."""
    shared = SharedSnapshot()
    try:
        shared.write(snapshot.to_bytes())
        return cpu([lambda: shared.write(snapshot.to_bytes())] * rounds)
    finally:
        shared.close()


def task_bytes() -> int:
    """Returns the bytes of a task to an agent, its share of the call included."""
    block = protocol.pack_block(1, 1, "")
    orders = [Order(i, protocol.pack_task(Task(Kind.COLLECT, 1, i, i + 1), 1, 1, block)) for i in range(1000)]
    return round(len(pickle.dumps(orders, protocol=5)) / len(orders))


def answer_bytes(layout: Layout) -> int:
    """Returns the bytes of the answer to a task of one slot."""
    answer = protocol.Answer(Task(Kind.COLLECT, 1, 2, 3), 1, 0.0, 1.0, bytes(layout.slot_bytes), 1)
    return len(protocol.pack_finished(answer))
