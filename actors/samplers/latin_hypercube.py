"""Latin hypercube starts."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler


class LatinHypercube(Sampler):
    """One Latin hypercube design over all starts of the step (McKay, Beckman & Conover 1979).

    In each coordinate every one of the n equal intervals holds exactly one start: the design is global, though the
    drivers that run it never talk to each other.
    """

    preload = ("scipy.stats",)

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        from scipy.stats import qmc  # here, since only who uses it should pay for it

        return self.scale(qmc.LatinHypercube(self.dims, rng=rng).random(n))[rows]
