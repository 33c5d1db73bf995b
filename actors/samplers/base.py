"""The base class of start samplers."""

from abc import ABC, abstractmethod

import numpy as np

from actors.policy import Policy


class Sampler(ABC):
    """Draws the start states of a training step.

    To add your own, subclass this, write ``sample`` and pass ``--sampler package.module:Class``.

    Args:
        l_bounds, u_bounds: lower and upper bounds of a start state, ``[dims]`` each.
    """

    asks_policy: bool = False
    """Whether ``sample`` asks the policy about starts; start states must then be observations."""
    preload: tuple[str, ...] = ()
    """Modules that ``sample`` needs and that are slow to import; they are imported once and shared by all drivers."""

    def __init__(self, l_bounds: np.ndarray, u_bounds: np.ndarray):
        self.l_bounds = np.asarray(l_bounds, np.float64)
        self.u_bounds = np.asarray(u_bounds, np.float64)
        self.dims = len(self.l_bounds)

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        """Returns rows ``rows`` of the step's design of ``n`` starts.

        The design must be a function of ``n``, ``rng`` and ``policy`` alone: each driver asks for its own rows, and a
        row must not depend on which other rows are asked for. The simplest way is to draw all ``n`` starts and slice.

        Args:
            n: number of starts in the whole training step.
            rng: generator of the training step, in the same state for every driver.
            policy: current policy.
            rows: contiguous rows to return.

        Returns:
            Start states within the bounds, ``[len(rows), dims]``.
        """

    def scale(self, unit: np.ndarray) -> np.ndarray:
        """Maps points ``[..., dims]`` of the unit cube to the bounds."""
        return self.l_bounds + (self.u_bounds - self.l_bounds) * unit
