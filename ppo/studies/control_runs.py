"""Runs on environments that are no tuning problems, with the returns of held-out episodes."""

import contextlib
import dataclasses
import hashlib
import importlib
import json
import pathlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actors.policy import Policy
from ppo.config import Config, resolve
from ppo.evaluation.held_out import Controller, RandomActions, TrainedPolicy, held_out_returns
from ppo.experiments.stable_baselines3 import PeerSetup, StableBaselines3PPO, library
from ppo.experiments.tables import Row
from ppo.training.resources import Resources

COLUMNS = (
    *("run", "group", "problem", "variant", "seed", "env steps", "seconds", "cpu percent", "gpu percent"),
    *("policy sha256", "curve", "returns"),
)


@dataclass(frozen=True)
class ControlRun:
    """A run on an environment that is no tuning problem.

    Attributes:
        group: experiment it belongs to.
        problem: what the environment is called in the tables.
        variant: what it tries.
        config: all of it, the seed included.
        peer: train Stable-Baselines3 instead, for as many time steps.
    """

    group: str
    problem: str
    variant: str
    config: Config
    peer: PeerSetup | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the row, names and seed aside."""
        if self.peer is not None:
            problem = {"env": self.config.env, "env_kwargs": self.config.env_kwargs}
            return problem | {"env_steps": self.env_steps, "peer": dataclasses.asdict(self.peer)}
        return {name: value for name, value in self.config.changed().items() if name != "seed"}

    @property
    def key(self) -> str:
        """Name of the run, with a digest of its settings, so that under others it is another run."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.group}/{self.problem}/{self.variant}/{self.config.seed}/{digest}"

    @property
    def named(self) -> list[Any]:
        """The first values of its row."""
        return [self.key, self.group, self.problem, self.variant, self.config.seed]

    @property
    def env_steps(self) -> int:
        """Time steps of the training."""
        config = resolve(self.config)
        return config.training_steps * config.episodes * config.time_steps


@dataclass(frozen=True)
class MeasuredTraining(ControlRun):
    """A training whose policy is measured at the end."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    def run(self) -> list[Any]:
        """Trains, in this process, measures, and returns a row. Seconds are those of the training, the start of driver
        or worker processes included and evaluations left out."""
        import_first(self.peer)
        with tempfile.TemporaryDirectory() as directory:
            outcome = _train(self.config, pathlib.Path(directory, "run")) if self.peer is None else _train_peer(self)
        controller, steps, seconds, resources, digest, curve = outcome
        gpu = f"{resources['gpu_percent']:.1f}" if "gpu_percent" in resources else "-"
        used = [steps, f"{seconds:.2f}", f"{resources['cpu_percent']:.1f}", gpu]
        return [
            *self.named,
            *used,
            digest,
            _numbers(curve),
            _numbers(held_out_returns(self.config.problem(), controller)),
        ]


@dataclass(frozen=True)
class RandomActionsRun(ControlRun):
    """Random actions, measured; nothing is trained."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    def run(self) -> list[Any]:
        """Returns the row."""
        problem = self.config.problem()
        return [*self.named, 0, *"----", "", _numbers(held_out_returns(problem, RandomActions(problem)))]


Outcome = tuple[Controller, int, float, dict[str, Any], str, list[float]]


def check_extras(runs: Sequence[ControlRun]) -> None:
    """Checks that the extras are there that these runs need, before any begins.

    Raises:
        UsageError: one is missing.
    """
    for problem in {run.config.problem() for run in runs}:
        problem.describe()
    if any(run.peer is not None for run in runs):
        library()


def import_first(peer: PeerSetup | None) -> None:
    """Imports what a training needs, torch with it, so that no clock counts that."""
    if peer is None:
        importlib.import_module("ppo.training.trainer")
    else:
        library()


def _train(config: Config, run_dir: pathlib.Path) -> Outcome:
    """Trains this program; the seconds leave evaluations out."""
    from ppo.training.trainer import Trainer

    started = time.perf_counter()
    with Trainer(resolve(config), run_dir, quiet=True) as trainer:
        curve = [step.score for step in trainer if step.score is not None]
        summary = trainer.finish(pictures=False)
        evaluating = trainer.timing.totals["evaluate"]
        policy = Policy(trainer.learner.snapshot())
    seconds = time.perf_counter() - started - evaluating
    controller = TrainedPolicy(policy, config.problem())
    return controller, summary["env_steps"], seconds, summary["resources"], summary["policy_sha256"], curve


def _train_peer(run: MeasuredTraining) -> Outcome:
    assert run.peer is not None
    steps = run.env_steps
    resources, started = Resources(), time.perf_counter()
    with contextlib.closing(
        StableBaselines3PPO(run.config.problem().make_single, run.peer, run.config.seed)
    ) as trained:
        trained.train(steps, resources.sample_if_due)
        seconds, used = time.perf_counter() - started, resources.summary()
    return trained, trained.model.num_timesteps, seconds, used, "-", []


def rows_of(rows: Sequence[Row], problem: str, variant: str) -> list[Row]:
    """Returns the rows of a variant on a problem."""
    return [row for row in rows if (row["problem"], row["variant"]) == (problem, variant)]


def returns_of(row: Row) -> np.ndarray:
    """Returns the held-out returns of a row, ``[episodes]``."""
    return np.array([float(value) for value in row["returns"].split()])


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{value:.6g}" for value in values)
