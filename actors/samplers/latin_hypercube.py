"""Latin hypercube starts."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler


class LatinHypercube(Sampler):
    """One Latin hypercube design over all starts of the step (McKay, Beckman & Conover 1979).

    In each coordinate, each of the n equal intervals holds exactly one start. The design spans all drivers, though they
    do not communicate with each other.
    """

    preload = ("scipy.stats",)

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        from scipy.stats import qmc  # imported here, since it is slow to load and other samplers do not need it

        return self.scale(qmc.LatinHypercube(self.dims, rng=rng).random(n))[rows]
