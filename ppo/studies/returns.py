"""Training runs of a control study: each one a row of a CSV, with the returns of held-out episodes."""

import contextlib
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

from actors.law import load_snapshot
from actors.policy import Policy
from ppo.config.fields import Config
from ppo.evaluation.held_out import Actor, Chance, Trained, held_out_returns
from ppo.experiments.stable_baselines3 import Baselines, Peer, library
from ppo.experiments.tables import Cells
from ppo.training.resources import Usage

COLUMNS = (
    *("cell", "group", "problem", "variant", "seed", "env steps", "seconds", "cpu percent", "gpu percent"),
    *("policy sha256", "curve", "returns"),
)


@dataclass(frozen=True)
class ControlCell:
    """One training run on an environment that is no tuning problem.

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
    peer: Peer | None = None

    @property
    def settings(self) -> list[Any]:
        """All that decides the row, names and seed aside."""
        if self.peer is not None:
            return [self.config.env, self.config.env_kwargs, self.env_steps, self.peer]
        return [
            (field.name, getattr(self.config, field.name)) for field in self.config.changed() if field.name != "seed"
        ]

    @property
    def key(self) -> str:
        """Names the run, with a digest of its settings, so that under others it is another run."""
        digest = hashlib.sha256(repr(self.settings).encode()).hexdigest()[:8]
        return f"{self.group}/{self.problem}/{self.variant}/{self.config.seed}/{digest}"

    @property
    def named(self) -> list[Any]:
        """The first cells of its row."""
        return [self.key, self.group, self.problem, self.variant, self.config.seed]

    @property
    def env_steps(self) -> int:
        """Time steps of the training."""
        config = self.config.resolved()
        assert config.training_steps and config.episodes and config.time_steps
        return config.training_steps * config.episodes * config.time_steps


@dataclass(frozen=True)
class ReturnsCell(ControlCell):
    """One whose policy is measured at the end."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    def run(self) -> list[Any]:
        """Trains, in this process, measures, and returns a row. Seconds are those of the training, the start of driver
        or worker processes included and evaluations left out."""
        import_first(self.peer)
        with tempfile.TemporaryDirectory() as directory:
            outcome = _train(self.config, pathlib.Path(directory, "run")) if self.peer is None else _train_peer(self)
        actor, steps, seconds, resources, digest, curve = outcome
        gpu = f"{resources['gpu_percent']:.1f}" if "gpu_percent" in resources else "-"
        used = [steps, f"{seconds:.2f}", f"{resources['cpu_percent']:.1f}", gpu]
        return [*self.named, *used, digest, _numbers(curve), _numbers(held_out_returns(self.config.problem(), actor))]


@dataclass(frozen=True)
class ChanceCell(ControlCell):
    """Nothing is trained: random actions are measured."""

    columns: ClassVar[Sequence[str]] = COLUMNS

    def run(self) -> list[Any]:
        """Its row."""
        problem = self.config.problem()
        return [*self.named, 0, *"----", "", _numbers(held_out_returns(problem, Chance(problem)))]


Outcome = tuple[Actor, int, float, dict[str, Any], str, list[float]]


def check_extras(cells: Sequence[ControlCell]) -> None:
    """Raises UsageError where an extra is missing that one of these runs needs, before any begins."""
    for problem in {cell.config.problem() for cell in cells}:
        problem.action_space()
    if any(cell.peer is not None for cell in cells):
        library()


def import_first(peer: Peer | None) -> None:
    """Imports what a training needs, torch with it, so that no clock counts that."""
    if peer is None:
        importlib.import_module("ppo.training.trainer")
    else:
        library()


def _train(config: Config, run_dir: pathlib.Path) -> Outcome:
    from ppo.train import train

    curve: list[float] = []
    started = time.perf_counter()
    summary = train(config, run_dir, quiet=True, pictures=False, scored=lambda step, score: curve.append(score))
    seconds = time.perf_counter() - started
    actor = Trained(Policy(load_snapshot(run_dir / "law.npz")), config.problem())
    evaluating = json.loads((run_dir / "timing.json").read_text(encoding="utf-8"))["evaluate"]["total"]
    return actor, summary["env_steps"], seconds - evaluating, summary["resources"], summary["policy_sha256"], curve


def _train_peer(cell: ReturnsCell) -> Outcome:
    assert cell.peer is not None
    steps = cell.env_steps
    usage, started = Usage(), time.perf_counter()
    with contextlib.closing(Baselines(cell.config.problem().make_single, cell.peer, cell.config.seed)) as actor:
        actor.train(steps, usage.sample_if_due)
        seconds, resources = time.perf_counter() - started, usage.summary()
    return actor, actor.model.num_timesteps, seconds, resources, "-", []


def rows_of(rows: Sequence[Cells], problem: str, variant: str) -> list[Cells]:
    """Those of a variant on a problem."""
    return [row for row in rows if (row["problem"], row["variant"]) == (problem, variant)]


def returns_of(row: Cells) -> np.ndarray:
    """Returns of a row's held-out episodes."""
    return np.array([float(value) for value in row["returns"].split()])


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{value:.6g}" for value in values)
