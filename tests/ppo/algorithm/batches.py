"""Networks and made-up batches for the tests of the update."""

import dataclasses

import numpy as np

from actors import NetworkSpec
from ppo.algorithm.components import GateBatch
from ppo.algorithm.losses import Batch

SPECS = [NetworkSpec(3, (5, 4), "tanh", "gaussian", 2), NetworkSpec(3, (5,), "relu", "categorical", 2, (4, 3))]


def batch_for(spec, n=12, seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(n, spec.obs_dim))
    if spec.head == "gaussian":
        actions = rng.normal(size=(n, spec.action_dim))
    else:
        actions = rng.integers(0, spec.choices, (n, spec.action_dim)).astype(float)
    numbers = [rng.normal(size=n) for _ in range(4)]
    return Batch(obs, actions, numbers[0] - 3, *numbers[1:])


def gate_batch_for(spec, n=12, seed=0, dead=()):
    """Returns the batch of a policy of several components, of which those in ``dead`` are not in use."""
    rng = np.random.default_rng(seed + 100)
    live = ~np.isin(np.arange(spec.components), dead)
    acted = rng.choice(np.flatnonzero(live), n)
    logprobs = rng.normal(-1.5, 0.7, n)
    gate = GateBatch(acted, logprobs, rng.normal(size=n), np.exp(rng.normal(size=n)), live)
    batch = batch_for(spec, n, seed)
    return dataclasses.replace(batch, logprobs=batch.logprobs + logprobs, returns=None, values=None, gate=gate)
