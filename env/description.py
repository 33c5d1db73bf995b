"""What is known of a problem before anything runs on it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from env.coordinates import Coordinates
from env.kinds import Choice
from env.spaces import choices_of


@dataclass(frozen=True)
class Description:
    """Sizes, spaces and limits of one row of an environment.

    Attributes:
        observation_space: space of observations, a flat Box.
        action_space: space of actions: Box, Discrete or MultiDiscrete.
        start_space: space of start states; None where starts cannot be set.
        episode_limit: the environment's own time limit in time steps; None where it has none.
        reward_threshold: return from which Gymnasium considers the environment solved; None where it names none.
        shown_space: space of observations as the environment itself gives them, before they are flattened.
        without_load: keywords that switch off the computing load, which changes no result.
        coordinates: names, units, ranges and kinds of the knobs and of the conditions of a tuning problem; else None.
        constraints: number of values beside f that are to be 0 or less.
        asked: whether it is a bench, which is asked and told, and no function.
        solved: whether it tells its best knobs.
        at_once: how many of its evaluations may be under way at once; None for any number.
        waits: whether many of them may be under way at once in one process.
    """

    observation_space: spaces.Box
    action_space: spaces.Space
    start_space: spaces.Space | None
    episode_limit: int | None
    reward_threshold: float | None
    without_load: Mapping[str, Any]
    shown_space: spaces.Space | None = None
    coordinates: tuple[Coordinates, Coordinates] | None = None
    at_once: int | None = None
    constraints: int = 0
    asked: bool = False
    solved: bool = False
    waits: bool = False

    @property
    def obs_dim(self) -> int:
        """Size of an observation."""
        return self.observation_space.shape[0]

    @property
    def named(self) -> tuple[Coordinates, Coordinates] | None:
        """The coordinates of a tuning problem that gives them names and units; None where it has plain ones."""
        if self.coordinates is None:
            return None
        knobs, conditions = self.coordinates
        plain = Coordinates.plain("x", len(knobs), "knobs"), Coordinates.plain("c", len(conditions), "conditions")
        return None if (knobs, conditions) == plain else self.coordinates

    @property
    def knob_steps(self) -> np.ndarray | None:
        """Distances in [-1, 1] between the values that each knob can have; None where all can have all."""
        steps = self.coordinates[0].steps if self.coordinates else np.zeros(1)
        return steps if steps.any() else None

    @property
    def observed(self) -> tuple[int, ...]:
        """Numbers of the conditions that come by themselves."""
        return self.coordinates[1].observed if self.coordinates else ()

    @property
    def whole_rounds(self) -> bool:
        """Whether rounds must be planned whole: what the slots of a sampled one are compared by cannot be had."""
        return self.asked or bool(self.observed)

    @property
    def labelled(self) -> tuple[int, ...]:
        """Which knobs are choices."""
        knobs = self.coordinates[0].values() if self.coordinates else ()
        return tuple(j for j, knob in enumerate(knobs) if isinstance(knob, Choice))

    @property
    def combinations(self) -> int:
        """Number of combinations of their options; 1 where there are none."""
        knobs = self.coordinates[0].values() if self.coordinates else ()
        return math.prod(len(knob.options) for knob in knobs if isinstance(knob, Choice))

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of options of each discrete choice in an action; empty where actions are continuous."""
        return choices_of(self.action_space)

    @property
    def action_dim(self) -> int:
        """Number of values in an action: one for each choice or coordinate."""
        if self.choices:
            return len(self.choices)
        assert self.action_space.shape is not None, "a Box has a shape"
        return int(np.prod(self.action_space.shape))
