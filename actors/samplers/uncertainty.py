"""Starts where the policy is least sure."""

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler


class Uncertainty(Sampler):
    """Each start is the one of many random candidates at which the policy's entropy is highest (Lewis & Gale 1994).

    A policy whose std does not depend on the state makes all candidates tie, which leaves random starts. Here it
    does depend on it, and where the std is floored the candidates are ranked by the unfloored one.
    """

    def __init__(self, l_bounds: np.ndarray, u_bounds: np.ndarray, candidates: int = 256):
        super().__init__(l_bounds, u_bounds)
        self.candidates = candidates

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        candidates = self.scale(rng.random((n, self.candidates, self.dims)))[rows]
        best = np.argmax(policy.uncertainty(candidates), axis=1)
        return candidates[np.arange(len(candidates)), best]
