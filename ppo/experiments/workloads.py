"""Measurements of this program, for ``ppo.bench`` and ``ppo.study``."""

import contextlib
import pathlib
import statistics
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from actors.pools.base import Pool
from actors.pools.factory import make_pool
from actors.rollout import Job, Kind
from actors.snapshot import NetworkSpec, Snapshot
from env.make import Problem
from env.objectives import Ackley
from ppo.config.fields import Config
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Run

# The thesis's runtime benchmark: 64 episodes of 2 time steps of 2-D Ackley; its update as the peers do it.
STANDARD = Config(
    env="ackley",
    episodes=64,
    time_steps=2,
    sampler="random",
    hidden_sizes=(64, 64),
    advantages="gae",
    reward="improvement",
    agreement=0.0,
    update_epochs=10,
    eval_every=0,
    training_steps=10**6,
)


class ComputingAckley(Ackley):
    """Ackley's function with milliseconds of computing in each row, as a simulator would do."""

    milliseconds = 5.0

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        end = time.thread_time() + self.milliseconds / 1000 * len(x)
        while time.thread_time() < end:
            pass
        return super().__call__(x, c)


class ErraticAckley(Ackley):
    """Ackley's function whose rows take a random time: lognormal, mean 20 ms, coefficient of variation 1.

    The time is a function of the row, so that two runs draw the same ones.
    """

    mean_ms, sigma = 20.0, float(np.sqrt(np.log(2.0)))

    def milliseconds(self, x: np.ndarray, c: np.ndarray) -> list[float]:
        """Of each row."""
        keys = np.concatenate([x, c], axis=1).view(np.uint64)
        mu = np.log(self.mean_ms) - self.sigma**2 / 2
        return [float(np.random.default_rng(key.tolist()).lognormal(mu, self.sigma)) for key in keys]

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        time.sleep(sum(self.milliseconds(x, c)) / 1000)
        return super().__call__(x, c)


class RecordedAckley(ErraticAckley):
    """The same without waiting; keeps what each call's rows would have taken."""

    calls: list[list[float]] = []

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        self.calls.append(self.milliseconds(x, c))
        return Ackley.__call__(self, x, c)


@contextlib.contextmanager
def running(config: Config) -> Iterator[Run]:
    """A run in a directory of its own that goes when it is over."""
    with tempfile.TemporaryDirectory() as directory:
        files = RunDir(pathlib.Path(directory, "run"))
        with Run(config.resolved(), files, resume=False, track=False, quiet=True) as run:
            yield run


def step_ms(run: Run, steps: int) -> float:
    """Median milliseconds of a training step, all of the loop's time counted."""
    seconds = []
    for _ in range(steps):
        started = time.perf_counter()
        facts, _ = run.training_step()
        run.end_step(facts)
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds)


def standard_job(problem: Problem, sampler: str = "random") -> Job:
    """The standard work for a pool alone."""
    return Job(problem, sampler, 256, 0, 64, 2, np.zeros((21, 2)))


def fresh_snapshot(version: int = 0, hidden: tuple[int, ...] = (64, 64)) -> Snapshot:
    """A policy to collect with."""
    spec = NetworkSpec(2, hidden, "tanh", "gaussian", 1)
    return Snapshot(version, spec, np.random.default_rng(version).normal(size=spec.size) * 0.1, 0.1)


@contextlib.contextmanager
def collecting(problem: Problem, drivers: int) -> Iterator[Pool]:
    """A pool of so many driver processes on the standard work."""
    with make_pool(standard_job(problem), drivers, "process", 600) as pool:
        yield pool


def collect_seconds(pool: Pool, steps: range) -> tuple[float, float]:
    """Medians of (collect, broadcast) over training steps ``steps``."""
    rounds = []
    for step in steps:
        pool.submit(step, fresh_snapshot(step), Kind.COLLECT)
        rounds.append(pool.result())
    return statistics.median(r.collect for r in rounds), statistics.median(r.broadcast for r in rounds)
