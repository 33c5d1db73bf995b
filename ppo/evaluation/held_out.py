"""Returns over episodes that neither training nor its evaluations have seen, the same ones for every controller."""

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
    """Anything that acts: a controller of ``env.controllers``, a trained policy, random actions."""

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the environment's actions for observations ``[rows, obs_dim]``."""


class TrainedPolicy:
    """A trained policy that takes its likeliest actions."""

    def __init__(self, policy: Policy, problem: Problem):
        self._policy = policy
        self._map = ActionMap(problem.describe().action_space)

    def reset(self, rows: int) -> None:
        """Starts episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the environment's actions."""
        return self._map(self._policy.mode(obs))


class RandomActions:
    """Actions drawn at random from the action space."""

    def __init__(self, problem: Problem):
        self._one = problem.describe().action_space

    def reset(self, rows: int) -> None:
        """Starts episodes."""
        self._space = batch_space(self._one, rows)
        self._space.seed(SEED)

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns the environment's actions."""
        return self._space.sample()


def held_out_returns(
    problem: Problem, controller: Controller, episodes: int = EPISODES, seed: int = SEED
) -> np.ndarray:
    """Measures the undiscounted return of each episode, ``[episodes]``: to its end, or without a limit a slot long.

    Another ``seed`` gives other episodes, for tuning a controller on. What only keeps the processor busy is left out.
    """
    problem = problem.without_load()
    batch = problem.make_batch(episodes, None)
    # A list, which vector environments take and their type omits.
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
        if ended.any():  # those go on, and are not counted any more
            obs, _ = batch.reset(seed=seeds, options={"reset_mask": ended})
    batch.close()
    return total
