"""Uniform random starts."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler


class Random(Sampler):
    """Draws each start uniformly within the bounds, independently of the others."""

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        return self.scale(rng.random((n, self.dims)))[rows]
