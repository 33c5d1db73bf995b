"""Who is first to control a slow process as well as the best PID does, by the clock, evaluations left out."""

import contextlib
import pathlib
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actors.policy import Policy
from env.controllers import PID
from ppo.evaluation.held_out import Actor, Trained, held_out_returns
from ppo.experiments.stable_baselines3 import Baselines
from ppo.studies.returns import ControlCell, import_first
from ppo.training.run_dir import RunDir

COLUMNS = ("cell", "group", "problem", "variant", "seed", "seconds", "env steps", "passed", "return", "PID")
EPISODES = 20


@dataclass(frozen=True)
class RaceCell(ControlCell):
    """One that ends once it has passed the best of some controllers, or with the last training step.

    Attributes:
        rivals: the controllers.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    rivals: tuple[PID, ...] = ()

    @property
    def settings(self) -> list[Any]:
        return [*super().settings, self.rivals]

    def run(self) -> list[Any]:
        """Its row."""
        problem = self.config.problem()
        mark = max(float(held_out_returns(problem, rival, EPISODES).mean()) for rival in self.rivals)
        import_first(self.peer)
        seconds, taken, reached, started = 0.0, 0, -np.inf, time.perf_counter()
        with (
            tempfile.TemporaryDirectory() as directory,
            contextlib.closing(_batches(self, pathlib.Path(directory, "run"))) as batches,
        ):
            for actor, steps in batches:
                seconds, taken = seconds + time.perf_counter() - started, steps
                reached = float(held_out_returns(problem, actor, EPISODES).mean())
                if reached > mark:
                    break
                started = time.perf_counter()
        return [*self.named, f"{seconds:.2f}", taken, reached > mark, f"{reached:.1f}", f"{mark:.1f}"]


def _batches(cell: RaceCell, run_dir: pathlib.Path) -> Generator[tuple[Actor, int]]:
    """The policy and the time steps so far, after each batch that was learned from."""
    config, peer = cell.config.resolved(), cell.peer
    if peer is None:
        from ppo.training.trainer import Run

        with Run(config, RunDir(run_dir), resume=False, track=False, quiet=True) as run:
            while not run.complete:
                facts, _ = run.training_step()
                run.end_step(facts)
                yield Trained(Policy(run.learner.snapshot()), config.problem()), run.learner.env_steps
        return
    with contextlib.closing(Baselines(config.problem().make_single, peer, config.seed)) as baselines:
        batch, total = peer.environments * peer.settings["n_steps"], cell.env_steps
        while baselines.model.num_timesteps < total:
            baselines.train(batch)
            yield baselines, baselines.model.num_timesteps
