"""Coordinates of the model about the law: knobs relative to what the law gives, conditions as they are.

Where the best knobs move with the conditions, a valley that is narrow and oblique in knobs and conditions is straight
in these coordinates: what the model learns at one condition holds at the others. They suit a law of one component.
"""

import numpy as np

from actors.policy import Policy, centre_states
from actors.step_limit import StepLimit
from ppo.algorithm.model.evidence import some_of

LEAST_RADIUS = 0.01
ROUNDING = 1e-9


class Frame:
    """Maps states to coordinates in which the law's knobs are 0 and those at the rim of its window -1 or 1.

    Args:
        policy: a policy of which one component is in use.
        radius: how far the window reaches from the law's knobs.
    """

    def __init__(self, policy: Policy, radius: float):
        self.radius = radius
        self.policy, self._knobs = policy, policy.spec.action_dim
        self._last = b"", np.empty(0)

    def centre(self, conditions: np.ndarray) -> np.ndarray:
        """Returns the law's knobs at conditions ``[m, conditions]``, ``[m, knobs]``."""
        key = conditions.tobytes()
        if self._last[0] != key:  # an optimiser asks for the same conditions again and again
            states = centre_states(conditions, self._knobs)  # not those that integers allow, among which it would jump
            self._last = key, np.clip(self.policy.proposals(states)[:, self.policy.live[0]], -1, 1)
        return self._last[1]

    def coordinates(self, states: np.ndarray) -> np.ndarray:
        """Returns the coordinates of states ``[m, dims]``, ``[m, dims]``."""
        found = states.copy()
        found[:, : self._knobs] -= self.centre(states[:, self._knobs :])
        found[:, : self._knobs] /= self.radius
        return found

    def inside(self, states: np.ndarray) -> np.ndarray:
        """Returns which states ``[m, dims]`` lie in the window, ``[m]`` of bool; the rim does."""
        return (np.abs(self.coordinates(states)[:, : self._knobs]) <= 1 + ROUNDING).all(axis=1)

    def window(self, conditions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the least and the largest knobs of the window, ``[m, knobs]`` each."""
        centre = self.centre(conditions)
        return np.maximum(centre - self.radius, -1), np.minimum(centre + self.radius, 1)


def means_at(policy: Policy, conditions: np.ndarray) -> np.ndarray:
    """Returns the knobs of each component in use at conditions ``[m, conditions]``, ``[m, components, knobs]``."""
    return policy.valid(policy.proposals(centre_states(conditions, policy.spec.action_dim))[:, policy.live])


def window_of(
    frame: Frame | None, limit: StepLimit | None, conditions: np.ndarray, knobs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the least and the largest knobs of a frame within a limit, at conditions ``[m, conditions]``.

    Args:
        frame: of a process; None for one of the whole range.
        limit: how far knobs may lie from those of a start law; None for no limit.
        conditions: ``[m, conditions]``.
        knobs: their number.

    Returns:
        Two arrays ``[m, knobs]``.
    """
    shape = len(conditions), knobs
    low, high = (np.full(shape, -1.0), np.ones(shape)) if frame is None else frame.window(conditions)
    if limit is None:
        return low, high
    bounds = limit.bounds(conditions)
    return np.clip(low, *bounds), np.clip(high, *bounds)


def nearest(policy: Policy, states: np.ndarray, least: int, most: int, least_radius: float) -> tuple[np.ndarray, float]:
    """Returns states ``[n, dims]`` near a law of one component, by number in ascending order, and how far they reach.

    Distances are the largest over the knobs.

    Args:
        policy: the law.
        states: to choose from.
        least, most: how many at the least, and at the most where many lie within the least distance.
        least_radius: how far they reach at the least.
    """
    offsets = Frame(policy, 1.0).coordinates(states)[:, : policy.spec.action_dim]
    distances = np.abs(offsets).max(axis=1)
    radius = max(LEAST_RADIUS, least_radius, float(np.sort(distances)[least - 1]))
    inside = np.flatnonzero(distances <= radius)
    return some_of(inside, most), radius
