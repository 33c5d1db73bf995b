"""Which evaluations the process of the whole range takes, where there are more than it can take.

Half of them are spread over the range. The others are chosen in two turns, of those for which a process of the ones
before expects the least f in comparison with the policy's: knobs must not look like the best ones only because what
was found there is left out. What was found has no say in the choice, since of values with noise the largest would be
too large.

A law's critic takes, besides, what was found nearest to what the law's components propose: where it knows of nothing
near to a component's knobs, it may expect less of them than of the best ones.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from actors.policy import Policy
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.frame import means_at
from ppo.algorithm.model.gaussian_process import Hyperparameters, factored
from ppo.algorithm.model.search import expected_at


class Count(NamedTuple):
    """A number of evaluations.

    Attributes:
        least: for few coordinates.
        a_coordinate: for each of many.
    """

    least: int
    a_coordinate: int

    def of(self, dims: int) -> int:
        """Returns the number for so many coordinates."""
        return max(self.least, self.a_coordinate * dims)


POINTS = Count(1000, 200)  # that a process takes
NEAR_SHARE = 4  # one of so many evaluations is near the policy
PROMISING_SHARE, CONSIDERED = 8, 20_000  # one of so many is promising, of so many that are considered at the most
TURNS = 2


def selected(evidence: Evidence, policy: Policy, hyper: Hyperparameters | None) -> np.ndarray:
    """Returns the numbers of the evaluations to take, in ascending order.

    Args:
        evidence: all evaluations.
        policy: the current policy.
        hyper: those of the process so far; None before there is one.
    """
    n, most = len(evidence), POINTS.of(evidence.states.shape[1])
    if n <= most:
        return np.arange(n)
    if hyper is None:
        return _spread(evidence, evidence.states, policy, most)
    scaled = evidence.states / hyper.lengths
    taken = _spread(evidence, scaled, policy, most // 2)
    for _ in range(TURNS):
        promising = _promising(evidence, policy, hyper, taken, most)
        taken = np.sort(np.append(taken, promising[spread_out(scaled[promising], most // 2 // TURNS)]))
    return taken


def nearest_to(states: np.ndarray, evidence: Evidence, hyper: Hyperparameters) -> np.ndarray:
    """Returns the evaluations nearest to states ``[m, dims]`` in length scales: their numbers in ascending order."""
    return np.unique(cKDTree(evidence.states / hyper.lengths).query(states / hyper.lengths)[1])


def spread_out(points: np.ndarray, count: int) -> np.ndarray:
    """Returns so many of points ``[n, dims]`` by number, each the farthest from those before it (Gonzalez 1985)."""
    chosen = np.zeros(count, np.int64)
    distances = ((points - points[0]) ** 2).sum(axis=1)
    for number in range(1, count):
        chosen[number] = farthest = int(distances.argmax())
        np.minimum(distances, ((points - points[farthest]) ** 2).sum(axis=1), out=distances)
    return chosen


def _spread(evidence: Evidence, scaled: np.ndarray, policy: Policy, count: int) -> np.ndarray:
    """Returns so many evaluations: half are of those nearest to the policy, each half as far apart as may be.

    Distances from each other are those of the scaled states, ``[n, dims]``.
    """
    knobs, conditions = np.split(evidence.states, [policy.spec.action_dim], axis=1)
    gaps = means_at(policy, conditions) - knobs[:, None]
    order = np.argsort((gaps**2).sum(axis=2).min(axis=1), kind="stable")
    near, others = np.split(order, [max(count // 2, len(order) // NEAR_SHARE)])
    return np.sort(np.concatenate([part[spread_out(scaled[part], count // 2)] for part in (near, others)]))


def _promising(evidence: Evidence, policy: Policy, hyper: Hyperparameters, taken: np.ndarray, least: int) -> np.ndarray:
    """Returns the others for which a process of those taken expects the least f in comparison with the policy's."""
    left = np.setdiff1d(np.arange(len(evidence)), taken)
    left = left[:: -(-len(left) // CONSIDERED)]
    process = factored(evidence.states[taken], evidence.values[taken], hyper)
    states = evidence.states[left]
    conditions = states[:, policy.spec.action_dim :]
    by_policy = expected_at(process, means_at(policy, conditions), conditions).min(axis=1)
    order = np.argsort(process.mean(states) - by_policy, kind="stable")
    return left[order[: max(least, len(left) // PROMISING_SHARE)]]
