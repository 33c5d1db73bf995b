"""Runs on environments that are not tuning problems, and their returns over held-out episodes."""

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
from ppo.training.soundness import result_fields

OURS, CHANCE = "tuninglaw", "chance"
"""Names of this program, and of random actions, in the tables."""
COLUMNS = (
    *("run", "group", "problem", "variant", "seed", "env steps", "seconds", "cpu percent", "gpu percent"),
    *("policy sha256", "curve", "returns"),
)


@dataclass(frozen=True)
class ControlRun:
    """A run on an environment that is not a tuning problem.

    Attributes:
        group: name of the group of runs that it belongs to.
        problem: name of the environment in the tables.
        variant: name of the model or the settings in the tables.
        config: full configuration, including the seed.
        peer: set-up of Stable-Baselines3, which is then trained in place of this program, for as many time steps.
    """

    group: str
    problem: str
    variant: str
    config: Config
    peer: PeerSetup | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that the row depends on, defaults included, without its names and the seed."""
        if self.peer is not None:
            return _environment(self.config) | {"env_steps": self.env_steps, "peer": dataclasses.asdict(self.peer)}
        return {name: value for name, value in result_fields(resolve(self.config)).items() if name != "seed"}

    @property
    def key(self) -> str:
        """Name of the run, with a digest of its settings, so that a run with other settings has another name."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.group}/{self.problem}/{self.variant}/{self.config.seed}/{digest}"

    @property
    def named(self) -> list[Any]:
        """First values of the row: its names and the seed."""
        return [self.key, self.group, self.problem, self.variant, self.config.seed]

    @property
    def env_steps(self) -> int:
        """Number of time steps of the training: the budget, of which this program may leave a part of a step."""
        if self.config.env_steps is not None:
            return self.config.env_steps
        config = resolve(self.config)
        return config.training_steps * config.episodes * config.time_steps


@dataclass(frozen=True)
class MeasuredTraining(ControlRun):
    """A training, and the measurement of the policy that it ends with."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    def run(self) -> list[Any]:
        """Trains in this process, measures the policy, and returns the row.

        The seconds are those of the training, with the start of driver or worker processes and without evaluations.
        """
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
    """A measurement of random actions, without a training."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that the row depends on: the environment alone."""
        return _environment(self.config)

    def run(self) -> list[Any]:
        """Measures the returns and returns the row."""
        problem = self.config.problem()
        return [*self.named, 0, *"----", "", _numbers(held_out_returns(problem, RandomActions(problem)))]


def _environment(config: Config) -> dict[str, Any]:
    return {"env": config.env, "env_kwargs": config.env_kwargs}


def shortened(config: Config) -> Config:
    """Returns a configuration with a budget of two of its training steps, to check that a study works."""
    resolved = resolve(config)
    return dataclasses.replace(config, env_steps=2 * resolved.episodes * resolved.time_steps)


Outcome = tuple[Controller, int, float, dict[str, Any], str, list[float]]
"""Policy, number of time steps, seconds, use of resources, digest of the policy, and scores of the evaluations."""


def check_extras(runs: Sequence[ControlRun]) -> None:
    """Checks that the extras that the runs need are installed.

    Raises:
        UsageError: an extra is not installed.
    """
    for problem in {run.config.problem() for run in runs}:
        problem.describe()
    if any(run.peer is not None for run in runs):
        library()


def import_first(peer: PeerSetup | None) -> None:
    """Imports all that a training needs, including torch, so that the import is not part of a measured time."""
    if peer is None:
        importlib.import_module("ppo.training.trainer")
    else:
        library()


def _train(config: Config, run_dir: pathlib.Path) -> Outcome:
    """Trains this program; the seconds do not include evaluations."""
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
    """Trains Stable-Baselines3 for as many time steps."""
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
    """Returns the rows of one variant on one problem."""
    return [row for row in rows if (row["problem"], row["variant"]) == (problem, variant)]


def returns_of(row: Row) -> np.ndarray:
    """Returns the held-out returns of a row, ``[episodes]``."""
    return np.array([float(value) for value in row["returns"].split()])


def mean_returns(rows: Sequence[Row]) -> list[float]:
    """Returns the mean return of each row, one for each seed."""
    return [float(returns_of(row).mean()) for row in rows]


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    """Returns the values as the text of a cell, which ``returns_of`` reads."""
    return " ".join(f"{value:.6g}" for value in values)
