"""Measures returns over held-out episodes.

Neither a training nor its evaluations use these episodes, and they are the same for all controllers.
"""

from typing import Any, Protocol

import numpy as np
from gymnasium.vector.utils import batch_space

from actors.action_map import ActionMap
from actors.policy import Policy
from actors.seeding import Stream, env_seed
from env.make import Problem

EPISODES = 100
SEED = 0


class Controller(Protocol):
    """Anything that acts: a controller of ``env.controllers``, a trained policy, or random actions."""

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns actions of the environment for observations ``[rows, obs_dim]``."""


class TrainedPolicy:
    """A trained policy that takes its likeliest actions.

    Args:
        policy: trained policy.
        problem: problem that it was trained on.
    """

    def __init__(self, policy: Policy, problem: Problem):
        self._policy = policy
        self._map = ActionMap(problem.describe().action_space)

    def reset(self, rows: int) -> None:
        """Starts episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the environment's actions."""
        return self._map(self._policy.mode(obs))


class RandomActions:
    """Actions drawn at random from the action space, with a fixed seed.

    Args:
        problem: problem whose actions are drawn.
    """

    def __init__(self, problem: Problem):
        self._action_space = problem.describe().action_space

    def reset(self, rows: int) -> None:
        """Starts episodes."""
        self._space = batch_space(self._action_space, rows)
        self._space.seed(SEED)

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the environment's actions."""
        return self._space.sample()


def held_out_returns(
    problem: Problem, controller: Controller, episodes: int = EPISODES, seed: int = SEED
) -> np.ndarray:
    """Measures the undiscounted return of each held-out episode, without the environment's computing load.

    An episode that the environment does not limit lasts no longer than a slot.

    Args:
        problem: problem to act on.
        controller: controller to measure.
        episodes: number of episodes.
        seed: seed of the episodes; another one than the default gives episodes to tune a controller on.

    Returns:
        Returns, ``[episodes]``.
    """
    problem = problem.without_load()
    batch = problem.make_batch(episodes, None)
    # Vector environments accept a list of seeds, which the type of ``reset`` omits.
    seeds: Any = [env_seed(seed, 0, Stream.HELD_OUT, i, 0) for i in range(episodes)]
    obs, _ = batch.reset(seed=seeds)
    controller.reset(episodes)
    total, over = np.zeros(episodes), np.zeros(episodes, bool)
    for _ in range(problem.describe().episode_limit or problem.slot_length()):
        obs, rewards, terminations, truncations, _ = batch.step(controller.act(obs))
        total += np.where(over, 0.0, rewards)
        ended = terminations | truncations
        over |= ended
        if over.all():
            break
        if ended.any():  # rows that have ended run on, and are not counted
            obs, _ = batch.reset(seed=seeds, options={"reset_mask": ended})
    batch.close()
    return total
