"""One simulated run, and what must have come out of it."""

import contextlib
import csv
import dataclasses
import functools
import pathlib
import tempfile
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

from actors.job import Job
from actors.pools.base import DriverError
from actors.pools.dealing import MAX_FAILURES, DealingPool
from env.errors import UsageError
from ppo.config import Config, ResolvedConfig, resolve
from ppo.data.archive import NAME, read_archive
from ppo.data.disk import Disk
from ppo.data.rows import accepted, in_order
from ppo.training.job import make_job
from ppo.training.trainer import Trainer
from tests.ppo.training.at_once import AtOnce
from tests.simulation.disk import SimulatedDisk
from tests.simulation.fleet import TIMEOUT, Crash, Drivers, SimulatedFleet, World
from tests.simulation.schedule import Schedule

TINY: dict[str, Any] = {"hidden_sizes": (4,), "update_epochs": 2, "checkpoint_every": 2, "checkpoint_seconds": 0}
SCENARIOS = (
    Config("tests.problems:UnknownOptimum", training_steps=5, episodes=8, eval_every=0, seed=1, **TINY),
    Config("tests.problems:UnknownOptimum", training_steps=5, episodes=8, eval_every=2, seed=2, **TINY),
    Config(
        "tests.problems:CountdownEnv", training_steps=5, episodes=8, time_steps=5, eval_every=3, eval_episodes=3,
        num_minibatches=1, record=True, seed=3, **TINY,
    ),
    Config("tests.problems:UnknownOptimum", training_steps=6, episodes=8, eval_every=2, lag=2, seed=4, **TINY),
)  # fmt: skip
MOST_LIVES = 12
MORE_DRIVERS = 2  # that there is no room for at first
GAVE_UP = f", and {MAX_FAILURES - 1} before it did"  # a slot that loses so many drivers ends the run, as it is told
MEMORY = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a schedule.

    Attributes:
        problem: what is wrong, in words; empty where nothing is.
        trace: what happened.
        faults: number of faults that happened.
        lives: number of lives of the learner.
        steps: number of training steps that were collected, those collected twice included.
    """

    problem: str
    trace: list[str]
    faults: int
    lives: int
    steps: int


@functools.cache
def scenario(number: int) -> tuple[ResolvedConfig, Job, Drivers]:
    """Returns a scenario's configuration, its job, and the environments of its drivers."""
    config = resolve(SCENARIOS[number])
    from ppo.evaluation.evaluator import make_evaluator

    job = make_job(config, make_evaluator(config)[1])
    return config, job, Drivers(job)


@functools.cache
def expected(number: int) -> dict[str, Any]:
    """Returns what must come out of a scenario: that of its run without drivers and without trouble."""
    config = dataclasses.replace(scenario(number)[0], drivers=0)
    with quick(), tempfile.TemporaryDirectory(dir=MEMORY) as path:
        with Trainer(config, pathlib.Path(path, "run"), quiet=True) as trainer:
            for _ in trainer:
                pass
        return results(trainer)


def results(trainer: Trainer) -> dict[str, Any]:
    """Returns what may depend on nothing that happens: the law, the metrics, the evaluations."""
    path = trainer.files.path
    rows = read_archive(path / NAME, "the archive").rows
    rows = in_order(accepted(rows) if "f" in rows.dtype.names else rows)
    fields = [name for name in rows.dtype.names if name not in ("seconds", "driver")]
    metrics: list[Any] = []
    if trainer.files.metrics.exists():
        with trainer.files.metrics.open(newline="") as file:
            metrics = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in csv.DictReader(file)]
    return {
        "law": trainer.learner.snapshot().sha256,
        "evaluations": trainer.learner.evaluations,
        "archive": {name: rows[name].tobytes() for name in fields},
        "metrics": metrics,
    }


class InTurn(AtOnce):
    """In the place of the learner's thread: steps to come are collected when they are begun."""

    ends = (Crash,)


class NoResources:
    """In the place of what samples the use of the machine, which takes longer than a simulated run."""

    gpu_words = ""

    def __init__(self, gpu: str | None):
        pass

    def sample_if_due(self) -> None:
        pass


@contextlib.contextmanager
def in_world(world: World, disk: Disk, job: Job, drivers: Drivers, count: int) -> Iterator[None]:
    """Puts a trainer on a simulated disk, with so many simulated drivers, by the virtual clock."""

    def make_pool(*_: Any) -> DealingPool:
        return DealingPool(job, SimulatedFleet(world, drivers, room=count), count + MORE_DRIVERS, TIMEOUT)

    clock = types.SimpleNamespace(monotonic=lambda: world.clock)
    with (
        quick(),
        mock.patch("ppo.data.disk.disk", disk),
        mock.patch("ppo.data.archive.time", clock),
        mock.patch("ppo.training.job.make_pool", make_pool),
        mock.patch("ppo.training.ahead.DaemonThreads", InTurn),
    ):
        yield


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Leaves out what costs time and changes nothing."""
    with (
        mock.patch("ppo.training.trainer.Resources", NoResources),
        mock.patch("ppo.training.trainer.threadpool_limits", return_value=contextlib.nullcontext()),
    ):
        yield


def simulate(schedule: Schedule) -> Outcome:
    """Runs a schedule to its end, through all lives of the learner."""
    config, job, drivers = scenario(schedule.scenario)
    world, steps, lives = World(schedule), 0, 0
    problem = ""
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        disk, run = SimulatedDisk(pathlib.Path(path), world), pathlib.Path(path, "run")
        with in_world(world, disk, job, drivers, schedule.drivers):
            found = None
            while found is None and not problem:
                lives += 1
                disk.begin_life()
                try:
                    with Trainer(config, run, resume=(run / "config.json").exists(), quiet=True) as trainer:
                        for _ in trainer:
                            steps += 1
                    found = results(trainer)
                except Crash:
                    world.say("the learner has ended")
                except UsageError as error:
                    world.say(f"error: {str(error).replace(path, '')}")
                    if not disk.trouble:
                        problem = f"error: {error}"
                except DriverError as error:
                    world.say(f"error: {error}")
                    if GAVE_UP not in str(error):
                        problem = f"DriverError: {error}"
                except Exception as error:
                    problem = f"{type(error).__name__}: {error}"
                if lives > MOST_LIVES:
                    problem = "too many lives"
    if found is not None:
        wanted = expected(schedule.scenario)
        problem = ", ".join(f"other {name}" for name in wanted if found[name] != wanted[name])
    return Outcome(problem, world.trace, world.happened, lives, steps)
