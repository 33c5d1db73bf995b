"""Environments whose observations have several parts."""

import gymnasium
import numpy as np
from gymnasium import spaces


class SeesParts(gymnasium.Env):
    """A reward of 1 for the action that is the place; an episode is truncated after six time steps.

    The names of its parts are not sorted.
    """

    observation_space = spaces.Dict(
        speed=spaces.Box(-1, 1, (2, 2), np.float32),
        place=spaces.Discrete(3, start=1),
        dials=spaces.MultiDiscrete([2, 3]),
        alarm=spaces.MultiBinary(2),
    )
    action_space = spaces.Discrete(3, start=1)

    def _shown(self):
        self.place = int(self.np_random.integers(1, 4))
        speed = self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32)
        dials, alarm = self.np_random.integers([2, 3]), self.np_random.integers(2, size=2).astype(np.int8)
        return {"alarm": alarm, "dials": dials, "place": self.place, "speed": speed}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._shown(), {}

    def step(self, action):
        reward = float(action == self.place)
        self.t += 1
        return self._shown(), reward, False, self.t == 6, {}


class SeesTuple(SeesParts):
    """The same parts, in a tuple."""

    observation_space = spaces.Tuple(list(SeesParts.observation_space.spaces.values()))

    def _shown(self):
        shown = super()._shown()
        return tuple(shown[name] for name in SeesParts.observation_space.spaces)
