"""Maps the actions of a policy to those of an environment."""

import numpy as np
from gymnasium import spaces


class ActionMap:
    """Maps a policy's actions to those of an environment: choices, or values clipped to [-1, 1] and scaled to bounds.

    Values without bounds are not changed. Values of an integer space are rounded.

    Args:
        space: action space of the environment, Box, Discrete or MultiDiscrete.
    """

    def __init__(self, space: spaces.Space):
        self.space = space
        if isinstance(space, spaces.Box):
            low, high = space.low.astype(np.float64), space.high.astype(np.float64)
            self._bounded = np.isfinite(low) & np.isfinite(high)
            self._low, self._width = np.where(self._bounded, low, 0.0), np.where(self._bounded, high - low, 0.0)
            self._whole = np.issubdtype(space.dtype, np.integer)
            self._as_is = not self._whole and bool((low == -1).all() and (high == 1).all())

    def __call__(self, actions: np.ndarray) -> np.ndarray:
        """Returns the environment's actions for the policy's actions ``[n, action_dim]``."""
        if isinstance(self.space, spaces.Discrete):
            return actions[:, 0].astype(np.int64) + self.space.start
        if isinstance(self.space, spaces.MultiDiscrete):
            return actions.reshape(-1, *_shape(self.space)).astype(self.space.dtype) + self.space.start
        assert isinstance(self.space, spaces.Box)
        actions = actions.reshape(-1, *self.space.shape)
        unit = np.minimum(np.maximum(actions, -1), 1)
        if self._as_is:
            return unit.astype(self.space.dtype, copy=False)
        scaled = np.where(self._bounded, self._low + (unit + 1) * (self._width / 2), actions)
        scaled = np.rint(scaled) if self._whole else scaled
        # Clip again in the space's own precision, since rounding may have passed a bound.
        return np.clip(scaled.astype(self.space.dtype), self.space.low, self.space.high)


def _shape(space: spaces.Space) -> tuple[int, ...]:
    """Returns the shape of a space that has one."""
    assert space.shape is not None, "Box, Discrete and MultiDiscrete have one"
    return space.shape
