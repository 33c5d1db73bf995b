"""Processes and policies that several tests of the model ask."""

import dataclasses

import numpy as np

from actors import NetworkSpec, Policy, Snapshot
from env import Objective
from ppo.algorithm.model.fitting import fit
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters, factored, first_guesses

HYPER = {side: Hyperparameters(np.array([0.7, 1.5, 3.0]), 0.02, 0.3, side) for side in ("low", "high")}


class Crossing(Objective):
    """A polynomial of two valleys: the one at a knob of about -0.6 is the best where c < 0, and the other elsewhere."""

    knobs = 1
    conditions = 1

    def __call__(self, x, c):
        return (4 * (x * x - 0.36) ** 2 - 0.1 * c * x)[:, 0]

    def valleys(self, c):
        """Returns the knob of each of the two valleys at conditions ``[m, 1]``, ``[m, 2]``."""
        x = np.tile([-0.6, 0.6], (len(c), 1))
        for _ in range(9):  # Newton's steps to where the slope is 0
            x -= (16 * x * (x * x - 0.36) - 0.1 * c) / (48 * x * x - 5.76)
        return x

    def best(self, c):
        return np.take_along_axis(self.valleys(c), (c > 0).astype(int), axis=1)


def drawn(n=25, dims=3, seed=0):
    """Returns states ``[n, dims]`` and made-up values there, in an odd unit and from an odd zero."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1, 1, (n, dims))
    return states, 40 * np.exp(np.sin(3 * states[:, 0]) + states[:, 1] * states[:, -1]) - 7


def process(side="low", n=25, seed=0, kernel="matern"):
    """Returns a process of three coordinates whose hyperparameters are given."""
    return GaussianProcess(*drawn(n, 3, seed), dataclasses.replace(HYPER[side], kernel=kernel))


def fitted(objective, n, steps=40, seed=0):
    """Returns a process that is fitted to an objective, at points spread over the whole range."""
    states = np.random.default_rng(seed).uniform(-1, 1, (n, objective.dims))
    values = objective(states[:, : objective.knobs], states[:, objective.knobs :])
    return factored(states, values, fit(states, values, first_guesses(objective.dims), steps))


def policy_of(means, conditions=1, live=None):
    """Returns a policy whose components have the same means ``[K, knobs]`` under all conditions, alike to the gate."""
    means = np.asarray(means, float)
    count, knobs = means.shape
    spec = NetworkSpec(knobs + conditions, (4,), "tanh", "gaussian", knobs, components=count)
    theta = np.zeros(spec.size)
    for number, mean in enumerate(means):
        spec.place(theta, number, mean, 0.1)
    return Policy(Snapshot(0, spec, theta, 0.1, live=None if live is None else np.asarray(live)))
