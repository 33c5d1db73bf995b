"""Policies of several Gaussians, their critics and plans, for the tests of acting."""

import itertools

import numpy as np

from actors import NetworkSpec, Policy, Snapshot
from actors.critic import Critic
from actors.kernels import KERNEL_NAMES
from actors.plan import Plan

ROOT5 = 5**0.5


def spec_of(components, knobs=2, conditions=1, hidden=(8,)):
    return NetworkSpec(knobs + conditions, hidden, "tanh", "gaussian", knobs, components=components)


def mixture(components=3, seed=0, version=4, std_floor=0.05, **changes):
    """Returns the snapshot of a random policy with 2 knobs and 1 condition."""
    spec = changes.pop("spec", spec_of(components))
    theta = 0.5 * np.random.default_rng(seed).normal(size=spec.size)
    return Snapshot(version, spec, theta, std_floor, **changes)


def constant_policy(means, logits, slopes=None, **changes):
    """Returns a policy of 1 knob and 1 condition, whose means are the same in every state.

    Args:
        means: of the components, ``[K]``.
        logits: of the gate at a condition of 0, ``[K]``.
        slopes: of the logits by the condition, ``[K]``; None for none.
        changes: other attributes of the snapshot.
    """
    spec = spec_of(len(means), 1, 1, ())
    theta = np.zeros(spec.size)
    weight, bias = spec.views(theta)[0]
    bias[:] = [*means, *np.full(len(means), -1.0), *logits]
    weight[1, -len(means) :] = 0.0 if slopes is None else slopes
    return Policy(Snapshot(0, spec, theta, **changes))


def random_critic(n=9, dims=3, noise=0.01, seed=0, kernel="matern"):
    """Returns the critic of made-up evaluations, and their warped f."""
    rng = np.random.default_rng(seed)
    states, values, lengths = rng.uniform(-1, 1, (n, dims)), rng.normal(size=n), 0.5 + rng.random(dims)
    level, variance = 0.3, 2.5
    weights = np.linalg.solve(correlation(states, states, lengths, kernel) + noise * np.eye(n), values - level)
    scalars = [level, variance, noise, 0.1, 1.0, -4.0, 8.0, KERNEL_NAMES.index(kernel)]
    return Critic(states, weights, lengths, np.array(scalars)), values


def correlation(a, b, lengths, kernel="matern"):
    """Returns the correlation of two sets of points by a kernel, one pair at a time."""
    return np.array([[OF_OFFSETS[kernel]((one - other) / lengths) for other in b] for one in a])


def of_matern(offsets):
    r = np.linalg.norm(offsets)
    return (1 + ROOT5 * r + 5 * r**2 / 3) * np.exp(-ROOT5 * r)


def of_pairs(offsets):
    return np.mean([one * other for one, other in itertools.combinations(1 / (1 + offsets**2 / 2), 2)])


OF_OFFSETS = {"matern": of_matern, "rbf": lambda offsets: np.exp(-(offsets @ offsets) / 2), "pairs": of_pairs}


def random_plan(slots, seed=0):
    """Returns a plan for 2 knobs, some of them out of bounds, and 1 condition."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([np.zeros((slots, 2)), rng.uniform(-1, 1, (slots, 1))], axis=1)
    return Plan(starts, rng.uniform(-1.5, 1.5, (slots, 2)))
