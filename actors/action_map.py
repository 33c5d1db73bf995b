"""From the actions of a policy to those of an environment."""

import numpy as np
from gymnasium import spaces


class ActionMap:
    """From a policy's actions to those of an environment: choices, or numbers clipped to [-1, 1] and scaled to bounds.

    Where a space has no bounds, its actions are used as they are; where it is of whole numbers, they are rounded.
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
        """Actions ``[n, action_dim]`` of the policy, for the environment."""
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
        # Clipped once more, in the space's own precision: rounding may have taken it past a bound.
        return np.clip(scaled.astype(self.space.dtype), self.space.low, self.space.high)


def _shape(space: spaces.Space) -> tuple[int, ...]:
    assert space.shape is not None, "Box, Discrete and MultiDiscrete have one"
    return space.shape
