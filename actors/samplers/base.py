"""The contract of a start sampler."""

from abc import ABC, abstractmethod

import numpy as np

from actors.policy import Policy


class Sampler(ABC):
    """Draws the start states of a training step.

    To add your own, subclass this, write ``sample`` and pass ``--sampler package.module:Class``.

    Args:
        l_bounds, u_bounds: bounds of a start state, ``[dims]`` each.
    """

    asks_policy: bool = False
    """Whether ``sample`` asks the policy about starts, which then must be what it observes."""
    preload: tuple[str, ...] = ()
    """Modules that are slow to import and that ``sample`` needs: imported once and shared by all drivers."""

    def __init__(self, l_bounds: np.ndarray, u_bounds: np.ndarray):
        self.l_bounds = np.asarray(l_bounds, np.float64)
        self.u_bounds = np.asarray(u_bounds, np.float64)
        self.dims = len(self.l_bounds)

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        """Returns rows ``rows`` of the step's design of ``n`` starts.

        The design is a function of ``n``, ``rng`` and ``policy`` alone: each driver asks for its own rows of it, and
        they must be the same rows whatever is asked for beside them. The simple way is to draw all ``n`` and slice.

        Args:
            n: starts in the whole step.
            rng: the step's generator, in the same state whoever asks.
            policy: the current policy.
            rows: the contiguous rows wanted.

        Returns:
            ``[len(rows), dims]`` within the bounds.
        """

    def scale(self, unit: np.ndarray) -> np.ndarray:
        """Maps points ``[..., dims]`` of the unit cube to the bounds."""
        return self.l_bounds + (self.u_bounds - self.l_bounds) * unit
