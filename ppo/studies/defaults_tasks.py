"""The tasks of the study of the defaults of control, and what should come out of each."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from env.temp_control import WITHOUT_LOAD
from ppo.config import Config
from ppo.experiments.control_benchmarks import HALF_CHEETAH_PEER
from ppo.experiments.stable_baselines3 import PEER_LABEL, PeerSetup

NORMALISED_PEER = "Stable-Baselines3, normalised"
"""What version 0.1 was compared with: its defaults normalise neither observations nor rewards."""


@dataclass(frozen=True)
class Task:
    """A task with a budget of time steps, and the returns that the defaults should reach.

    Attributes:
        config: environment, sampler of starts, and budget; in ``TASKS`` nothing else.
        seeds: largest number of seeds: ten where a training takes less than a minute.
        peer_seeds: the same for Stable-Baselines3 with its defaults, whose trainings take several times as long.
        ablated: whether the ablation is done on it.
        held_out: whether nothing was chosen by the task.
        median, worst: least return of the median and of the worst seed; None for none.
        of_peer: how many times Stable-Baselines3's median the median should be at the least; None for none.
        peers: further set-ups of Stable-Baselines3, by name, with ``seeds`` seeds.
    """

    config: Config
    seeds: int = 5
    peer_seeds: int = 3
    ablated: bool = False
    held_out: bool = False
    median: float | None = None
    worst: float | None = None
    of_peer: float | None = None
    peers: dict[str, PeerSetup] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the task in tables."""
        keywords = self.config.env_kwargs
        level = f" {keywords['level']}" if "level" in keywords else ""
        observed = " with actions" if keywords.get("actions") else ""
        return f"{self.config.env}{level}{observed}, {self.config.env_steps:,}"

    @property
    def sides(self) -> dict[str, PeerSetup]:
        """Set-ups of Stable-Baselines3, by name: its defaults first."""
        return {PEER_LABEL: PeerSetup()} | self.peers


def furnace(level: str, steps: int, actions: bool = False, **more: Any) -> Task:
    """Returns a task on the furnace, explored from any temperature, without the load, which changes no result.

    Args:
        level: complexity.
        steps: budget of time steps.
        actions: whether the last five actions are observed.
        more: further attributes of the task.
    """
    keywords = {"level": level} | ({"actions": True} if actions else {}) | WITHOUT_LOAD
    return Task(Config(env="TempControl-v1", env_kwargs=keywords, sampler="lhs", env_steps=steps), **more)


TASKS = (
    Task(Config(env="CartPole-v1", env_steps=60_000), 10, 10, ablated=True, median=500.0, worst=500.0),
    Task(Config(env="Pendulum-v1", env_steps=150_000), 10, 5, ablated=True, median=-180.0, worst=-250.0),
    Task(Config(env="Acrobot-v1", env_steps=100_000), 10, 5, held_out=True, median=-85.0, of_peer=1.0),
    Task(Config(env="MountainCarContinuous-v0", sampler="lhs", env_steps=300_000), 10, ablated=True, median=92.0),
    furnace("medium", 20_000, seeds=10, peer_seeds=5, ablated=True, median=-3000.0),
    furnace("medium", 20_000, actions=True, seeds=10, peer_seeds=5, ablated=True, median=-3000.0),
    furnace("low", 900_000, seeds=10, peer_seeds=1),
    furnace("medium", 900_000, seeds=10, peer_seeds=1, ablated=True),
    furnace("high", 900_000, seeds=10, peer_seeds=1, ablated=True),
    Task(
        Config(env="HalfCheetah-v5", env_steps=1_000_000),
        ablated=True,
        median=6000.0,
        of_peer=2.0,
        peers={NORMALISED_PEER: HALF_CHEETAH_PEER},
    ),
    Task(Config(env="Hopper-v5", env_steps=1_000_000), ablated=True, of_peer=1.0),
    Task(Config(env="Walker2d-v5", env_steps=1_000_000), held_out=True, of_peer=1.0),
    Task(Config(env="InvertedDoublePendulum-v5", env_steps=300_000), 10, 5, held_out=True, of_peer=1.0),
)
ADVISED_TASKS = tuple(
    dataclasses.replace(task, config=dataclasses.replace(task.config, gamma=0.95, norm_obs=False))
    for task in (furnace(level, 900_000, actions=True, seeds=10) for level in ("medium", "high"))
)
"""The furnace with what is advised for it, which were no defaults for all tasks."""
