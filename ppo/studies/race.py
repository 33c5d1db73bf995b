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
from ppo.config import Config
from ppo.held_out import Actor, Trained, held_out_returns
from ppo.run_dir import RunDir
from ppo.studies.baselines import Baselines, Peer
from ppo.studies.returns import without_load

COLUMNS = ("cell", "group", "problem", "variant", "seed", "seconds", "env steps", "passed", "return", "PID")
PIDS = {
    "PI (SIMC)": PID(0.083, 40.0),
    "PID (Ziegler-Nichols)": PID(0.20, 10.0, 2.5),
    "PID (grid)": PID(0.13, 20.0, 2.0),
}
EPISODES = 20


@dataclass(frozen=True)
class RaceCell:
    """One training run, which ends once it has passed the best PID, or with the last training step.

    Attributes: as those of a ``ReturnsCell``.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    group: str
    problem: str
    variant: str
    config: Config
    peer: Peer | None = None

    @property
    def key(self) -> str:
        """Names the run."""
        return f"{self.group}/{self.problem}/{self.variant}/{self.config.training_steps}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Its row."""
        problem = without_load(self.config.problem())
        mark = max(float(held_out_returns(problem, pid, EPISODES).mean()) for pid in PIDS.values())
        seconds, taken, reached, started = 0.0, 0, -np.inf, time.perf_counter()
        with tempfile.TemporaryDirectory() as directory:
            batches = _batches(self.config.resolved(), pathlib.Path(directory, "run"), self.peer)
            with contextlib.closing(batches):
                for actor, steps in batches:
                    seconds, taken = seconds + time.perf_counter() - started, steps
                    reached = float(held_out_returns(problem, actor, EPISODES).mean())
                    if reached > mark:
                        break
                    started = time.perf_counter()
        named = [self.key, self.group, self.problem, self.variant, self.config.seed]
        return [*named, f"{seconds:.2f}", taken, reached > mark, f"{reached:.1f}", f"{mark:.1f}"]


def _batches(config: Config, run_dir: pathlib.Path, peer: Peer | None) -> Generator[tuple[Actor, int]]:
    """The policy and the time steps so far, after each batch that was learned from."""
    if peer is None:
        from ppo.run import Run

        with Run(config, RunDir(run_dir), resume=False, track=False, quiet=True) as run:
            while not run.complete:
                facts, _ = run.training_step()
                run.end_step(facts)
                yield Trained(Policy(run.learner.snapshot()), config.problem()), run.learner.env_steps
        return
    assert config.training_steps and config.episodes and config.time_steps
    with contextlib.closing(Baselines(config.problem(), peer, config.seed)) as baselines:
        batch = peer.environments * peer.settings["n_steps"]
        total = config.training_steps * config.episodes * config.time_steps
        while baselines.model.num_timesteps < total:
            baselines.train(batch)
            yield baselines, baselines.model.num_timesteps
