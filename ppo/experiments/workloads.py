"""Workloads that ``ppo.bench`` and ``ppo.study`` measure, and functions that time them."""

import contextlib
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from actors.job import Job, Kind
from actors.pools.base import Pool
from actors.pools.factory import make_pool
from actors.snapshot import NetworkSpec, Snapshot
from env.make import Problem
from env.objectives import Ackley
from ppo.config import Config, resolve
from ppo.training.seeds import directory_of
from ppo.training.side_by_side import SideBySide
from ppo.training.trainer import Trainer

BLOCKS = 5  # measurements of each side
Values = tuple[str, str, str, str]
"""Texts of a row: this program's figure, the peer's figure, the measured value, and the target."""

# The thesis's runtime benchmark, 64 episodes of 2 time steps of 2-D Ackley, with the update that the peer has.
STANDARD = Config(
    env="ackley",
    episodes=64,
    time_steps=2,
    sampler="random",
    hidden_sizes=(64, 64),
    advantages="gae",
    reward="improvement",
    update_damping=0.0,
    update_epochs=10,
    eval_every=0,
    training_steps=10**6,
)


class ComputingAckley(Ackley):
    """Ackley's function, in which each row computes for 5 ms, as a simulator does."""

    milliseconds = 5.0

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        end = time.thread_time() + self.milliseconds / 1000 * len(x)
        while time.thread_time() < end:
            pass
        return super().__call__(x, c)


class LognormalCostAckley(Ackley):
    """Ackley's function, in which each row waits for a random time: lognormal, mean 20 ms, coefficient of variation 1.

    The time depends on the row alone, so that two runs have the same times.
    """

    mean_ms, sigma = 20.0, float(np.sqrt(np.log(2.0)))

    def milliseconds(self, x: np.ndarray, c: np.ndarray) -> list[float]:
        """Returns the milliseconds that each row waits, ``[n]``."""
        keys = np.concatenate([x, c], axis=1).view(np.uint64)
        mu = np.log(self.mean_ms) - self.sigma**2 / 2
        return [float(np.random.default_rng(key.tolist()).lognormal(mu, self.sigma)) for key in keys]

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        time.sleep(sum(self.milliseconds(x, c)) / 1000)
        return super().__call__(x, c)


class RecordedCostAckley(LognormalCostAckley):
    """Ackley's function without waiting; ``calls`` holds the milliseconds that the rows of each call would wait."""

    calls: list[list[float]] = []

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        self.calls.append(self.milliseconds(x, c))
        return Ackley.__call__(self, x, c)


@contextlib.contextmanager
def training(config: Config, **options: Any) -> Iterator[Trainer]:
    """Opens a training run in a temporary directory; ``options`` are further arguments of ``Trainer``."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Trainer(resolve(config), pathlib.Path(directory, "run"), quiet=True, **options) as trainer,
    ):
        yield trainer


@contextlib.contextmanager
def side_by_side(configs: Sequence[Config], **options: Any) -> Iterator[SideBySide]:
    """Opens trainings of several seeds in a temporary directory; ``options`` are further arguments of ``Trainer``."""
    with tempfile.TemporaryDirectory() as directory:
        places = [directory_of(pathlib.Path(directory), config.seed) for config in configs]
        trainers = [
            Trainer(resolve(config), files, quiet=True, **options)
            for config, files in zip(configs, places, strict=True)
        ]
        with SideBySide(trainers, quiet=True) as together:
            yield together


def step_ms(trainer: Trainer, steps: int) -> float:
    """Measures the median milliseconds of a training step, including all of the loop around it."""
    return median_ms(lambda: next(trainer), steps)


def median_ms(call: Callable[[], Any], times: int) -> float:
    """Measures the median milliseconds of a call."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds)


def alternated(ours: Callable[[], float], theirs: Callable[[], float], blocks: int = BLOCKS) -> tuple[float, float]:
    """Calls both in turn and returns the medians of what they measure."""
    pairs = [(ours(), theirs()) for _ in range(blocks)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def standard_job(problem: Problem, sampler: str = "random") -> Job:
    """Returns the job with which a pool collects the standard workload without a learner."""
    return Job(problem, sampler, 256, 0, 64, 2, np.zeros((21, 2)))


def fresh_snapshot(version: int = 0, hidden: tuple[int, ...] = (64, 64)) -> Snapshot:
    """Returns the snapshot of a random policy."""
    spec = NetworkSpec(2, hidden, "tanh", "gaussian", 1)
    return Snapshot(version, spec, np.random.default_rng(version).normal(size=spec.size) * 0.1, 0.1)


@contextlib.contextmanager
def collecting(problem: Problem, drivers: int) -> Iterator[Pool]:
    """Opens a pool of ``drivers`` driver processes that collects the standard workload."""
    with make_pool(standard_job(problem), drivers, "process", 600) as pool:
        yield pool


def collect_seconds(pool: Pool, steps: range) -> tuple[float, float]:
    """Measures the median seconds of collecting and of broadcasting over the training steps ``steps``."""
    rounds = []
    for step in steps:
        pool.submit(step, fresh_snapshot(step), Kind.COLLECT)
        rounds.append(pool.result())
    return statistics.median(r.collect for r in rounds), statistics.median(r.broadcast for r in rounds)
