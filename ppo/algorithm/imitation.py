"""Imitation of the best of evaluations made before: where a policy starts from when a run reuses them.

It is advantage-weighted regression (Peng et al. 2019, arXiv 1910.00177) with ranks for advantages: each evaluation
pulls the policy's mean action at its conditions towards its knobs, the more the better f was among its neighbours.
"""

import numpy as np
import torch

from actors.seeding import Stream, generator
from actors.snapshot import NetworkSpec
from ppo.algorithm.network import forward

NEIGHBOURS = 48  # evaluations at the nearest conditions, with which one is compared
TEMPERATURE = 0.05  # share of better neighbours at which a weight has fallen to 1/e
MOST = 5000  # evaluations that are imitated; of more, so many spread over all
LEAST = 16  # evaluations for each knob and condition; fewer mislead more than they tell
STEPS, LEARNING_RATE = 600, 3e-3


def enough(evaluations: int, knobs: int, conditions: int) -> bool:
    """Returns whether so many evaluations are worth imitating."""
    return evaluations >= LEAST * (knobs + conditions)


def imitation_weights(c: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Weights evaluations by how few of their neighbours are better, ``[n]``, with a sum of 1.

    What conditions do to f by themselves is taken out by a linear fit over the neighbours.

    Args:
        c: conditions, ``[n, conditions]``.
        f: values, ``[n]``.
    """
    count = min(NEIGHBOURS, len(f))
    from scipy.spatial import cKDTree  # imported here, since it is slow to load

    _, near = cKDTree(c).query(c, k=count)
    near = near.reshape(len(f), count)
    offsets = c[near] - c[:, None]
    terms = np.concatenate([np.ones((*near.shape, 1)), offsets], axis=2)
    slopes = (np.linalg.pinv(terms) @ f[near][:, :, None])[:, 1:]
    level = f[near] - (offsets @ slopes)[:, :, 0]
    weights = np.exp(-(level < f[:, None]).mean(axis=1) / TEMPERATURE)
    return weights / weights.sum()


def imitate(spec: NetworkSpec, theta: np.ndarray, x: np.ndarray, c: np.ndarray, f: np.ndarray, seed: int) -> np.ndarray:
    """Returns the parameters of a policy whose mean action follows the best evaluations.

    Args:
        spec: the policy's network.
        theta: parameters to start from, ``[spec.size]``.
        x: evaluated knobs, ``[n, knobs]``.
        c: their conditions, ``[n, conditions]``.
        f: finite values, ``[n]``, as many as ``enough`` asks for.
        seed: seed of the run; the knobs that the policy sees beside the conditions are drawn from it.
    """
    kept = np.linspace(0, len(f) - 1, min(len(f), MOST)).astype(int)
    x, c, f = x[kept], c[kept], f[kept]
    rng = generator(seed, 0, Stream.IMITATION)
    weights, knobs = torch.from_numpy(imitation_weights(c, f)), torch.from_numpy(np.ascontiguousarray(x))
    flat = torch.from_numpy(theta.copy()).requires_grad_()
    optimizer = torch.optim.Adam([flat], LEARNING_RATE)
    anneal = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, STEPS)
    for _ in range(STEPS):
        before = rng.uniform(-1, 1, x.shape)  # where the knobs stand says nothing about the best ones
        before[::2] = 0.0  # and a law is asked from the centre
        outputs = forward(spec, flat, torch.from_numpy(np.concatenate([before, c], axis=1)))
        loss = (weights * ((outputs[:, : spec.action_dim] - knobs) ** 2).sum(1)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        anneal.step()
    return flat.detach().numpy()
