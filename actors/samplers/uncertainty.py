"""Starts where the policy is less sure."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler

SHARPNESS = 0.25  # of the choice among ranks: 0 would be random starts, infinity always the first


class Uncertainty(Sampler):
    """Each start is one of many random candidates, the more likely the higher the policy's entropy there.

    Candidates are ranked by entropy (Lewis & Gale 1994), and the one at rank r is taken with a probability in
    proportion to r^-SHARPNESS (Kirsch et al. 2023, arXiv 2106.12059, softrank). Always taking the first would put
    all starts of a batch into one corner of the conditions, where the entropy has its maximum, and the rest would
    be forgotten.

    A policy whose std does not depend on the state makes all candidates tie, which leaves random starts. Here it
    does depend on it, and where the std is floored the candidates are ranked by the unfloored one.
    """

    asks_policy = True

    def __init__(self, l_bounds: np.ndarray, u_bounds: np.ndarray, candidates: int = 256):
        super().__init__(l_bounds, u_bounds)
        self.candidates = candidates
        weights = np.arange(1, candidates + 1) ** -SHARPNESS
        self._cumulative = np.cumsum(weights)[:-1] / np.sum(weights)

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        candidates = self.scale(rng.random((n, self.candidates, self.dims)))[rows]
        ranks = np.searchsorted(self._cumulative, rng.random(n)[rows], side="right")  # 0 is the least sure
        order = np.argsort(-policy.uncertainty(candidates), axis=1)
        first = np.arange(len(candidates))
        return candidates[first, order[first, ranks]]
