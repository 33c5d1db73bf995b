"""A deployed policy of an environment: what it observes, as the environment gives it, to an action that it accepts."""

from typing import Any

import numpy as np
from gymnasium import spaces

from actors.action_map import ActionMap
from actors.law_file import About
from actors.policy import Policy
from actors.snapshot import Snapshot
from env.spaces import choices_of, space_from_json


class ControlPolicy:
    """Takes the likeliest action of a trained policy: ``policy(obs)``.

        env, policy = gymnasium.make("CartPole-v1"), tuninglaw.load("runs/cartpole")
        obs, info = env.reset()
        obs, reward, terminated, truncated, info = env.step(policy(obs))

    The observation normaliser is part of it.

    Args:
        snapshot: snapshot of a policy.
        about: what it is of.

    Attributes:
        observation_space, action_space: what it takes and what it gives.
        about: what it is of, and how it came about.

    Raises:
        ValueError: the spaces are not those of the policy.
    """

    def __init__(self, snapshot: Snapshot, about: About):
        assert about.actions is not None and about.observations is not None, "it is of an environment"
        self.about, self._policy = about, Policy(snapshot)
        self.observation_space = space_from_json(about.observations)
        self.action_space = space_from_json(about.actions)
        self._map = ActionMap(self.action_space)
        if spaces.flatdim(self.observation_space) != snapshot.spec.obs_dim:
            raise ValueError(
                f"its policy observes {snapshot.spec.obs_dim} values, and {self.observation_space} has others"
            )

        given, spec = self.action_space, snapshot.spec
        suits = isinstance(given, spaces.Box | spaces.Discrete | spaces.MultiDiscrete)
        if (
            not suits
            or choices_of(given) != spec.choices
            or (not spec.choices and spaces.flatdim(given) != spec.action_dim)
        ):
            raise ValueError(f"its policy gives {spec.action_dim} values, and {given} takes others")

    def __call__(self, obs: Any) -> Any:
        """Returns the action for an observation.

        Raises:
            ValueError: it is none of ``observation_space``.
        """
        try:
            row = np.asarray(spaces.flatten(self.observation_space, obs), np.float64)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"an observation that is none of {self.observation_space} ({error})") from None
        if row.shape != (self._policy.spec.obs_dim,):
            raise ValueError(
                f"an observation of {row.size} values, where {self.observation_space} has {self._policy.spec.obs_dim}"
            )
        action = self._map(self._policy.mode(row[None]))[0]
        return int(action) if isinstance(self.action_space, spaces.Discrete) else action
