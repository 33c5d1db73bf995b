"""Starts where the policy is uncertain."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler

SHARPNESS = 0.25  # exponent of the rank: 0 would give random starts, infinity always the most uncertain candidate


class Uncertainty(Sampler):
    """Chooses each start among many random candidates, with a preference for those where the policy is uncertain.

    Candidates are ranked by the policy's entropy (Lewis & Gale 1994), and the one at rank r is taken with a probability
    in proportion to r^-SHARPNESS (Kirsch et al. 2023, arXiv 2106.12059, softrank). The entropy is that of the std
    without its floor. ``docs/method.md`` gives the reasons.

    Args:
        l_bounds, u_bounds: lower and upper bounds of a start state, ``[dims]`` each.
        candidates: number of candidates for each start.
    """

    asks_policy = True

    def __init__(self, l_bounds: np.ndarray, u_bounds: np.ndarray, candidates: int = 256):
        super().__init__(l_bounds, u_bounds)
        self.candidates = candidates
        weights = np.arange(1, candidates + 1) ** -SHARPNESS
        self._cumulative = np.cumsum(weights)[:-1] / np.sum(weights)

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        candidates = self.scale(rng.random((n, self.candidates, self.dims)))[rows]
        ranks = np.searchsorted(self._cumulative, rng.random(n)[rows], side="right")  # rank 0 is the most uncertain
        order = np.argsort(-policy.uncertainty(candidates), axis=1)
        index = np.arange(len(candidates))
        return candidates[index, order[index, ranks]]
