"""What a Ray cluster costs, and what it does not change: two nodes on this machine, one row for each question."""

import dataclasses
import functools
import itertools
import statistics
import time
from collections.abc import Callable

import numpy as np

from actors.job import Job, Kind
from actors.pools.factory import make_pool
from actors.pools.processes import cores
from actors.trajectory import Trajectory
from env.make import Problem
from ppo.config import Config
from ppo.experiments.ray_nodes import Nodes, nodes_of
from ppo.experiments.tables import Table, machine
from ppo.experiments.waiting import SLOTS, TIME_STEPS, Waiting, Waits, WaitsInThread, over_the_longest_slot
from ppo.experiments.workloads import STANDARD, fresh_snapshot, step_ms, training
from ppo.studies.runs import Options

TAKES, GROUPS = ("quick",), ()
COLUMNS = ("run", "measured", "details")
DRIVERS, COST_MS = 16, 20.0
BLOCKS, STEPS = 7, 10
DIGEST = Config(env="ackley", training_steps=200, episodes=30, evaluation_cost_ms=1.0, eval_every=0, seed=401)
CHANGE_SECONDS = 8.0
MANY, MANY_SECONDS = 1000, 2.0
TIMEOUT = 600.0


def run(options: Options) -> None:
    """Measures the rows that are missing, and writes the table."""
    table = Table(options.out / "cluster.csv", COLUMNS)
    rows: dict[str, Callable[[bool], tuple[str, str]]] = {
        f"Ray against pipes, {DRIVERS} drivers, {COST_MS:g} ms": against_pipes,
        "SIGKILL of raylet and agent of one of two nodes in mid-step": killed,
        f"nodes that join and leave over {DIGEST.training_steps} training steps": joining,
        f"{MANY:,} drivers, evaluations of {MANY_SECONDS:g} s": many,
        **{
            f"{SLOTS} slots that wait, {TIME_STEPS} times {times}, {name}": functools.partial(waiting, kind, sigma)
            for times, sigma in (("20 ms", 0.0), ("lognormal times", 1.0))
            for name, kind in (("coroutines", Waits), ("threads", WaitsInThread))
        },
    }
    for key, measure in rows.items():
        if not table.has(key):
            table.add(key, *measure(options.quick))
    (options.out / "cluster.md").write_text(f"{table.markdown()}\n{machine(('ray',))}\n", encoding="utf-8")
    print(table.markdown())


def against_pipes(quick: bool) -> tuple[str, str]:
    """Compares the wall time of a training step on two nodes with that over pipes, in turns."""
    blocks, steps = (2, 2) if quick else (BLOCKS, STEPS)
    pipes = dataclasses.replace(STANDARD, drivers=DRIVERS, evaluation_cost_ms=COST_MS)
    with nodes_of([cores()] * 2) as nodes, training(pipes) as local, training(on(nodes, pipes)) as ray:
        times: dict[str, list[float]] = {"pipes": [], "ray": []}
        for trainer in (local, ray):
            step_ms(trainer, 3)
        for _ in range(blocks):
            for name, trainer in (("pipes", local), ("ray", ray)):
                times[name].append(step_ms(trainer, steps))
    ratios = [b / a for a, b in zip(times["pipes"], times["ray"], strict=True)]
    medians = {name: statistics.median(values) for name, values in times.items()}
    shown = (
        f"{medians['ray']:.1f} ms a step on two nodes, {medians['pipes']:.1f} ms over pipes; {blocks} blocks of {steps}"
    )
    return f"{median_and_worst(ratios, 3)} times the wall time", shown


def killed(quick: bool) -> tuple[str, str]:
    """Measures what a node costs that is killed in the middle of a round, and compares the bits."""
    job = Job(Problem("ackley", evaluation_cost_ms=COST_MS), "random", 256, 401, 64, 2, np.zeros((21, 2)))
    with make_pool(job, 0, "thread", TIMEOUT) as pool:
        pool.submit(0, fresh_snapshot(0), Kind.COLLECT)
        expected = bits(pool.result().trajectory)
    lost, same = [], True
    for _ in range(1 if quick else 5):
        with nodes_of([2, 2]) as nodes, make_pool(job, 8, "ray", TIMEOUT, address=nodes.address) as pool:
            seconds: list[float] = []
            for kill in (False, False, False, True):
                started = time.monotonic()
                pool.submit(0, fresh_snapshot(0), Kind.COLLECT)
                if kill:
                    time.sleep(seconds[-1] / 2)
                    nodes.kill()
                same &= bits(pool.result().trajectory) == expected
                seconds.append(time.monotonic() - started)
            lost.append(seconds[-1] - seconds[-2])
    shown = f"{len(lost)} times, a round takes {seconds[-2]:.2f} s; {'no bit changed' if same else 'OTHER BITS'}"
    return f"{median_and_worst(lost, 2)} s lost", shown


def joining(quick: bool) -> tuple[str, str]:
    """Trains while nodes join and leave, and compares the policy with that of this process."""
    config = dataclasses.replace(DIGEST, training_steps=30) if quick else DIGEST
    with training(dataclasses.replace(config, drivers=0, evaluation_cost_ms=0.0)) as trainer:
        expected = [None for _ in trainer] and trainer.learner.snapshot().sha256
    changes = itertools.cycle([Nodes.add, Nodes.remove, Nodes.kill, Nodes.add])
    made, used = 0, set[int]()
    with nodes_of([2, 2]) as nodes, training(on(nodes, dataclasses.replace(config, drivers=8))) as trainer:
        due = time.monotonic() + CHANGE_SECONDS / 2
        for _ in trainer:
            used.add(len(trainer.pool._roster))  # type: ignore[attr-defined]
            time.sleep(0.2)
            if time.monotonic() > due:
                next(changes)(nodes)
                made, due = made + 1, time.monotonic() + CHANGE_SECONDS
        found = trainer.learner.snapshot().sha256
    same = "the same digest" if found == expected else "ANOTHER DIGEST"
    return same, f"{made} changes, {min(used)} to {max(used)} drivers at work; {found[:16]}"


def many(quick: bool) -> tuple[str, str]:
    """Measures memory and speed of very many drivers, each with one evaluation that waits."""
    drivers, seconds = (20, 0.1) if quick else (MANY, MANY_SECONDS)
    problem = Problem("ackley", evaluation_cost_ms=1000 * seconds)
    job = Job(problem, "random", 256, 401, drivers, 1, np.zeros((21, 2)), evaluate_starts=False)
    with nodes_of([2, 2]) as nodes, make_pool(job, drivers, "ray", TIMEOUT, address=nodes.address) as pool:
        times = []
        for step in range(2 if quick else 8):
            pool.submit(step, fresh_snapshot(step), Kind.COLLECT)
            done = pool.result()
            times.append(done.broadcast + done.collect)
        memory = nodes.bytes / 1e9
    speeds = [drivers * seconds / one for one in times[1:]]
    shown = f"{memory:.2f} GB in all, Ray's processes and the learner included; a round takes {times[-1]:.2f} s"
    return f"rho* {median_and_worst(speeds, 0, min)}, {memory:.2f} GB", shown


def waiting(kind: type[Waiting], sigma: float, quick: bool) -> tuple[str, str]:
    """Compares rounds of evaluations that only wait, in this process and in one driver, with their slowest slot."""
    here, apart = (over_the_longest_slot(kind, drivers, sigma, 5 if quick else 100) for drivers in (0, 1))
    shown = f"in one driver process {median_and_worst(apart, 3)}; {len(here)} rounds"
    return f"{median_and_worst(here, 3)} times its slowest slot", shown


def median_and_worst(values: list[float], digits: int, worst: Callable[[list[float]], float] = max) -> str:
    """Returns the median of values and the worst one in words."""
    return f"{statistics.median(values):.{digits}f} (worst {worst(values):.{digits}f})"


def on(nodes: Nodes, config: Config) -> Config:
    """Returns a configuration whose drivers are on the nodes of a cluster."""
    return dataclasses.replace(config, backend="ray", ray_address=nodes.address)


def bits(trajectory: Trajectory) -> bytes:
    """Returns what no result of may depend on who ran it."""
    return b"".join(getattr(trajectory, name).tobytes() for name in ("obs", "actions", "logprobs", "objectives"))
