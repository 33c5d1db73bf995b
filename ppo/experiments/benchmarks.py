"""The figures of ``python -m ppo.bench``.

On both sides a training step is 64 episodes x 2 time steps of 2-D Ackley and 10 epochs of a full batch of 128, with two
64x64 tanh networks and one thread. The sides differ in precision (float64 here where log-probabilities need it, float32
there) and in that episodes end as terminated there, which is quicker for Stable-Baselines3. This program and the peer
are measured in turn; the figures are medians.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil

from actors.job import Kind, Task
from actors.policy import centre_states
from actors.pools.factory import make_pool
from actors.pools.processes import ProcessPool
from actors.rollout import Collector
from env.make import Problem
from env.objectives import Ackley
from ppo.algorithm.conditions import fixed_conditions
from ppo.config import Config
from ppo.evaluation.evaluator import LINE_POINTS, SOBOL_POINTS
from ppo.experiments.archive_benchmarks import recording, replay
from ppo.experiments.compiled_benchmarks import beside_jax, first_command, imagined_step
from ppo.experiments.control_benchmarks import cart_pole, half_cheetah
from ppo.experiments.seeds_benchmarks import ALONE, SLOW, ten_commands, ten_seeds
from ppo.experiments.stable_baselines3 import (
    LEARNING_STEPS,
    TRAINING_STEP,
    LeanAckley,
    LeanTempControl,
    ackley_peer,
    library,
    vec_env,
)
from ppo.experiments.streak import Streak
from ppo.experiments.workloads import (
    BLOCKS,
    STANDARD,
    RecordedCostAckley,
    Values,
    alternated,
    collect_seconds,
    collecting,
    fresh_snapshot,
    standard_job,
    step_ms,
    training,
)


def training_step(drivers: int, sampler: str, processes: int, target: str) -> Values:
    """Measures the milliseconds of a training step.

    Args:
        drivers: number of this program's drivers.
        sampler: this program's start sampler.
        processes: number of the peer's worker processes; 0 for none.
        target: text of the target.
    """
    config = dataclasses.replace(STANDARD, drivers=drivers, sampler=sampler)
    with training(config) as trainer:  # opened first, so that the drivers' fork server is not the peer's
        step_ms(trainer, 30)
        peer = ackley_peer(processes)
        peer.train(10 * TRAINING_STEP)

        def theirs() -> float:
            started = time.perf_counter()
            peer.train(30 * TRAINING_STEP)
            return 1000 * (time.perf_counter() - started) / 30

        ours, other = alternated(lambda: step_ms(trainer, 60), theirs)
        peer.close()
    return f"{ours:.2f} ms", f"{other:.2f} ms", f"1/{other / ours:.1f}", target


def environment_steps(target: str) -> Values:
    """Measures time steps a second of 256 furnaces in this process, beside Stable-Baselines3's batch of lean ones."""
    rows = 256
    batch = Problem("TempControl-v1", env_kwargs={"load_rounds": 0}).make_batch(rows, None)
    batch.reset(seed=0)
    peer = vec_env(LeanTempControl, rows)
    peer.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (rows, 1))
    steps = 450 // BLOCKS  # all blocks together end before the episode does

    def seconds(env: Any) -> float:
        started = time.perf_counter()
        for _ in range(steps):
            env.step(actions)
        return time.perf_counter() - started

    ours, other = alternated(lambda: seconds(batch), lambda: seconds(peer))
    speeds = [f"{rows * steps / took:,.0f} a second" for took in (ours, other)]
    return speeds[0], speeds[1], f"{other / ours:.0f} times", target


def start(target: str) -> Values:
    """Measures the seconds until 64 drivers are ready, including the start of the fork server."""
    started = time.perf_counter()
    with collecting(Problem("ackley"), 64):
        ours = time.perf_counter() - started
    library()  # imported before its time is taken, as are the modules of this program
    started = time.perf_counter()
    peer = vec_env(LeanAckley, 64, processes=True)
    peer.reset()
    other = time.perf_counter() - started
    peer.close()
    return f"{ours:.2f} s", f"{other:.1f} s", f"1/{other / ours:.0f}", target


def memory(target: str) -> Values:
    """Measures the private memory (USS) of a driver that has collected."""
    with collecting(Problem("ackley"), 8) as pool:
        collect_seconds(pool, range(5))
        ours = statistics.median(_uss(psutil.Process().children(recursive=True)))
    peer = ackley_peer(8)
    peer.train(2 * TRAINING_STEP)
    other = statistics.median(_uss(psutil.Process().children(recursive=True)))
    peer.close()
    return f"{ours:.1f} MB", f"{other:.0f} MB", f"1/{other / ours:.0f}", target


def _uss(processes: list[psutil.Process]) -> list[float]:
    """Returns the private memory in MB of the workers among the processes, which are children of a fork server."""
    workers = [p for p in processes if p.parent() is not None and p.parent() != psutil.Process()]
    return [p.memory_full_info().uss / 1e6 for p in workers]


def large_snapshot(target: str) -> Values:
    """Measures the milliseconds until 64 idle drivers hold a policy of a million parameters."""
    with collecting(Problem("ackley"), 64) as pool:
        assert isinstance(pool, ProcessPool)
        snapshots = [fresh_snapshot(version, (1000, 1000)) for version in range(12)]
        ours = 1000 * statistics.median([pool.broadcast(snapshot) for snapshot in snapshots][2:])
    return f"{ours:.1f} ms", "-", f"{snapshots[0].spec.size:,} parameters", target


def latency(drivers: int, target: str) -> Values:
    """Measures rho* with a latency of 20 ms an evaluation: the sum of all latencies over the time that it took."""
    with collecting(Problem("ackley", evaluation_cost_ms=20.0), drivers) as pool:
        collect_seconds(pool, range(2))
        seconds = sum(collect_seconds(pool, range(2, 10)))
    return f"{1000 * seconds:.0f} ms", f"{64 * 60 / drivers:.0f} ms ideal", f"{64 * 0.06 / seconds:.2f}", target


def computing(target: str) -> Values:
    """Measures rho* of two drivers with evaluations that keep a processor busy."""
    problem = Problem("ppo.experiments.workloads:ComputingAckley")
    times = {}
    for drivers in (1, 2):
        with collecting(problem, drivers) as pool:
            collect_seconds(pool, range(2))
            times[drivers] = collect_seconds(pool, range(2, 5))
    rho = times[1][0] / sum(times[2])
    return f"{1000 * sum(times[2]):.0f} ms", f"{1000 * times[1][0]:.0f} ms with one", f"{rho:.2f}", target


def random_cost(target: str) -> Values:
    """Measures the time of collecting with evaluations of random cost.

    It is compared with a simulation that deals one slot at a time, with the same costs.
    """
    steps = range(2, 8)
    with collecting(Problem("ppo.experiments.workloads:LognormalCostAckley"), 16) as pool:
        collect_seconds(pool, range(2))
        took = [sum(collect_seconds(pool, range(step, step + 1))) for step in steps]
    dealt, ideal = zip(*(_dealing(step, 16) for step in steps), strict=True)
    ours, best = statistics.median(np.divide(took, ideal)), statistics.median(np.divide(dealt, ideal))
    return f"{ours:.2f} times total/k", f"{best:.2f} simulated", f"{100 * (ours / best - 1):+.1f} %", target


def _dealing(step: int, drivers: int) -> tuple[float, float]:
    """Simulates dealing the slots of a training step one at a time to the first driver that is free.

    Returns:
        Seconds until the last driver ends, and the sum of all slots' seconds over the number of drivers.
    """
    collector = Collector(standard_job(Problem("ppo.experiments.workloads:RecordedCostAckley")))
    collector.update(fresh_snapshot(step))
    RecordedCostAckley.calls.clear()
    task = Task(Kind.COLLECT, step, 0, 64)
    collector.run(task)
    slots = np.concatenate(RecordedCostAckley.calls).reshape(-1, task.stop).sum(axis=0) / 1000  # over its time steps
    free = [0.0] * drivers
    for seconds in slots:
        first = free.index(min(free))
        free[first] += float(seconds)
    return max(free), float(slots.sum()) / drivers


def automatic(cost_ms: float, target: str) -> Values:
    """Measures the time of a round with the automatic number of drivers, beside the best of a sweep."""
    problem = Problem("ackley", evaluation_cost_ms=cost_ms)
    times = {}
    for drivers in (0, 1, 2, 4, 8, 16, 24, 32, 48, 64):
        if drivers < 8 and cost_ms >= 5:
            continue  # far from the best, and slow to measure
        with collecting(problem, drivers) as pool:
            collect_seconds(pool, range(3))
            times[drivers] = sum(collect_seconds(pool, range(3, 13)))
    with make_pool(standard_job(problem), "auto", "process", 600) as pool:
        collect_seconds(pool, range(8))
        ours = sum(collect_seconds(pool, range(8, 18)))
        chosen = pool.drivers
    best = min(times, key=lambda k: times[k])
    share = 100 * (ours / times[best] - 1)
    return f"{1000 * ours:.2f} ms, k = {chosen}", f"{1000 * times[best]:.2f} ms, k = {best}", f"{share:+.0f} %", target


def learning(target: str) -> Values:
    """Measures the seconds until 20 consecutive evaluations, 10 training steps apart, have an MSE under 0.01 on Ackley.

    This program has its defaults. The peer has 64 episodes a training step, normalised rewards, and a learning rate
    that is annealed over 5,000 training steps.
    """
    ours, (theirs, reached) = _seconds_to_solve(), _peer_seconds_to_solve()
    never = f"not within {LEARNING_STEPS:,} steps"
    shown = f"{theirs:.0f} s" if reached else f"{never}, {theirs:.0f} s"
    if ours is None:
        return never, shown, "-", target
    return f"{ours:.1f} s", shown, f"{'' if reached else 'below '}1/{theirs / ours:.1f}", target


def _seconds_to_solve() -> float | None:
    """Trains with the defaults; returns the seconds until Ackley is solved, or None where it never is."""
    with training(Config(env="ackley", drivers=0, seed=71)) as trainer:
        started, streak = time.perf_counter(), Streak()
        for step in trainer:
            if step.score is not None and streak.add(step.score):
                return time.perf_counter() - started
    return None


def _peer_seconds_to_solve() -> tuple[float, bool]:
    """Trains the peer; returns the seconds of the training, and whether Ackley is solved at its end."""
    peer = ackley_peer(learning=True, seed=71)
    objective, conditions = Ackley(), fixed_conditions(1, LINE_POINTS, SOBOL_POINTS)
    optimum, states = objective.solve(conditions)[1], centre_states(conditions, objective.knobs)
    started, streak, solved = time.perf_counter(), Streak(), False
    while not solved and peer.model.num_timesteps < LEARNING_STEPS * TRAINING_STEP:
        peer.train(10 * TRAINING_STEP)
        actions = peer.act(states.astype(np.float32))
        error = np.mean((objective(np.clip(actions, -1, 1).astype(float), conditions) - optimum) ** 2)
        solved = streak.add(float(error))
    seconds = time.perf_counter() - started
    peer.close()
    return seconds, solved


FIGURES: dict[str, Callable[[], Values]] = {
    "training step, in this process": lambda: training_step(0, "random", 0, "1/16"),
    "training step, 16 driver processes": lambda: training_step(16, "random", 16, "1/20"),
    "training step, heterogeneous, 256 candidates": lambda: training_step(0, "heterogeneous", 0, "1/8"),
    "training step, beside a whole loop in JAX": lambda: beside_jax("1.4 times"),
    "imagined training step, model of 300": lambda: imagined_step("2 ms"),
    "the first command, 5,000 steps in this process": lambda: first_command("4 s"),
    "10 seeds over one, the command with the defaults": lambda: ten_commands("2.5 times"),
    "10 seeds over one, training step, this process": lambda: ten_seeds(ALONE, "7 times"),
    "10 seeds over one, 20 ms latency, 16 drivers": lambda: ten_seeds(SLOW, "-"),
    "HalfCheetah-v5, this process": lambda: half_cheetah(0, "1/12"),
    "HalfCheetah-v5, 2 drivers": lambda: half_cheetah(2, "1/12"),
    "CartPole-v1 to 475": lambda: cart_pole("1/5"),
    "until 20 evaluations under MSE 0.01, 2-D Ackley": lambda: learning("1/10"),
    "rho*, 20 ms latency, 16 drivers": lambda: latency(16, "15.5"),
    "rho*, 20 ms latency, 64 drivers": lambda: latency(64, "58"),
    "rho*, computing, 2 drivers on 2 cores": lambda: computing("1.9"),
    "evaluations of random cost, 16 drivers": lambda: random_cost("+5 %"),
    "environment steps, TempControl-v1 without load": lambda: environment_steps("20 times"),
    "64 drivers ready": lambda: start("1.5 s"),
    "private memory of a driver": lambda: memory("20 MB"),
    "1,000,000 parameters to 64 drivers": lambda: large_snapshot("30 ms"),
    "--drivers auto, 0 ms": lambda: automatic(0.0, "+10 %"),
    "--drivers auto, 1 ms": lambda: automatic(1.0, "+10 %"),
    "--drivers auto, 5 ms": lambda: automatic(5.0, "+10 %"),
    "--drivers auto, 20 ms": lambda: automatic(20.0, "+10 %"),
    "archive, share of a training step": lambda: recording(0.0, 300, "5 %"),
    "archive, share at 1 ms an evaluation": lambda: recording(1.0, 15, "1 %"),
    "replay of 60,000 evaluations": lambda: replay("1 times"),
}
