"""Time until a training controls a slow process better than the best PID does, without the time of evaluations."""

import contextlib
import dataclasses
import pathlib
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actors.policy import Policy
from env.controllers import PID
from ppo.config import resolve
from ppo.evaluation.held_out import Controller, TrainedPolicy, held_out_returns
from ppo.experiments.stable_baselines3 import StableBaselines3PPO
from ppo.studies.control_runs import ControlRun, import_first

COLUMNS = ("run", "group", "problem", "variant", "seed", "seconds", "env steps", "passed", "return", "PID")
EPISODES = 20  # held-out episodes whose mean return is compared


@dataclass(frozen=True)
class RaceRun(ControlRun):
    """A training that ends when its policy passes the best of some controllers, or with the last training step.

    Attributes:
        rivals: controllers, of which the policy must pass the best.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    rivals: tuple[PID, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that the row depends on, without its names and the seed."""
        return super().settings | {"rivals": [dataclasses.asdict(rival) for rival in self.rivals]}

    def run(self) -> list[Any]:
        """Trains in this process, and returns the row; its seconds do not include evaluations."""
        problem = self.config.problem()
        mark = max(float(held_out_returns(problem, rival, EPISODES).mean()) for rival in self.rivals)
        import_first(self.peer)
        seconds, taken, reached, started = 0.0, 0, -np.inf, time.perf_counter()
        with (
            tempfile.TemporaryDirectory() as directory,
            contextlib.closing(_batches(self, pathlib.Path(directory, "run"))) as batches,
        ):
            for controller, steps in batches:
                seconds, taken = seconds + time.perf_counter() - started, steps
                reached = float(held_out_returns(problem, controller, EPISODES).mean())
                if reached > mark:
                    break
                started = time.perf_counter()
        return [*self.named, f"{seconds:.2f}", taken, reached > mark, f"{reached:.1f}", f"{mark:.1f}"]


def _batches(run: RaceRun, run_dir: pathlib.Path) -> Generator[tuple[Controller, int]]:
    """Trains, and yields the policy and the number of time steps so far after each batch."""
    config, peer = run.config, run.peer
    if peer is None:
        from ppo.training.trainer import Trainer

        with Trainer(resolve(config), run_dir, quiet=True) as trainer:
            for _ in trainer:
                yield TrainedPolicy(Policy(trainer.learner.snapshot()), config.problem()), trainer.learner.env_steps
        return
    with contextlib.closing(StableBaselines3PPO(config.problem().make_single, peer, config.seed)) as baselines:
        batch, total = peer.environments * peer.settings["n_steps"], run.env_steps
        while baselines.model.num_timesteps < total:
            baselines.train(batch)
            yield baselines, baselines.model.num_timesteps
