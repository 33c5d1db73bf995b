"""Returns over episodes that neither training nor its evaluations have seen, the same ones for whoever acts."""

import dataclasses
from typing import Any, Protocol

import numpy as np
from gymnasium.vector.utils import batch_space

from actors.policy import Policy
from actors.rollout import ActionMap
from actors.seeding import Stream, env_seed
from env.make import Problem

EPISODES = 100
SEED = 0


class Actor(Protocol):
    """Whoever acts: a controller of ``env.controllers``, a trained policy, chance."""

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """The environment's actions for observations ``[rows, obs_dim]``."""


class Trained:
    """A trained policy at its likeliest actions."""

    def __init__(self, policy: Policy, problem: Problem):
        self._policy = policy
        self._map = ActionMap(problem.action_space())

    def reset(self, rows: int) -> None:
        """Starts episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """The environment's actions."""
        return self._map(self._policy.mode(obs))


class Chance:
    """Random actions."""

    def __init__(self, problem: Problem):
        self._one = problem.action_space()

    def reset(self, rows: int) -> None:
        """Starts episodes."""
        self._space = batch_space(self._one, rows)
        self._space.seed(SEED)

    def act(self, obs: np.ndarray) -> np.ndarray:
        """The environment's actions."""
        return self._space.sample()


def held_out_returns(problem: Problem, actor: Actor, episodes: int = EPISODES, seed: int = SEED) -> np.ndarray:
    """Undiscounted return of each episode, ``[episodes]``, to its end; without a time limit, for ``time_steps``.

    Another ``seed`` gives other episodes, for tuning a controller on. What only keeps the processor busy is left out.
    """
    problem = without_load(problem)
    batch = problem.make_batch(episodes, None)
    # A list, which vector environments take and their type omits.
    seeds: Any = [env_seed(seed, 0, Stream.HELD_OUT, i, 0) for i in range(episodes)]
    obs, _ = batch.reset(seed=seeds)
    actor.reset(episodes)
    total, over = np.zeros(episodes), np.zeros(episodes, bool)
    for _ in range(problem.episode_limit() or problem.slot_length()):
        obs, rewards, terminations, truncations, _ = batch.step(actor.act(obs))
        total += np.where(over, 0.0, rewards)
        ended = terminations | truncations
        over |= ended
        if over.all():
            break
        if ended.any():  # those go on, and are not counted any more
            obs, _ = batch.reset(seed=seeds, options={"reset_mask": ended})
    batch.close()
    return total


def without_load(problem: Problem) -> Problem:
    """The same problem without what keeps the processor busy and changes nothing."""
    if problem.env not in ("TempControl-v0", "TempControl-v1"):
        return problem
    others = tuple(word for word in problem.env_kwargs if not word.startswith("load_rounds="))
    return dataclasses.replace(problem, env_kwargs=(*others, "load_rounds=0"))
