"""Advantages over rectangular slots: generalised estimation, or differences within a slot."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr


def gae(
    rewards: np.ndarray,
    values: np.ndarray,
    final_values: np.ndarray,
    terminations: np.ndarray,
    truncations: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> np.ndarray:
    """Advantages by GAE(lambda) (Schulman et al. 2016, arXiv 1506.02438, eq. 16).

    The recursion is cut where an episode ends, whichever way; a truncated one is bootstrapped with the value of the
    observation it ended in, a terminated one is not, even where it was truncated in the same step.

    Args:
        rewards: ``[E, T]``.
        values: V of the observation each action was chosen at, ``[E, T]``.
        final_values: V of the observation each step led to, before any reset, ``[E, T]``.
        terminations, truncations: ``[E, T]`` of bool; one of them is set in the last column.
        gamma: discount.
        gae_lambda: lambda; 1 gives the discounted return minus the value, 0 the one-step error.

    Returns:
        ``[E, T]``. Returns (targets of the value) are these plus ``values``.
    """
    if not (terminations | truncations)[:, -1].all():
        raise ValueError("a slot's last step must be terminated or truncated")
    delta = rewards + gamma * np.where(terminations, 0.0, final_values) - values
    carried = gamma * gae_lambda * ~(terminations | truncations)
    advantages = np.empty_like(delta)
    following = np.zeros(len(delta))
    for t in reversed(range(delta.shape[1])):
        following = delta[:, t] + carried[:, t] * following
        advantages[:, t] = following
    return advantages


def slot_differences(objectives: np.ndarray, actions: np.ndarray, by_rank: float) -> np.ndarray:
    """Advantages of a tuning problem: by how much an outcome beats the others of its slot.

    A slot's time steps share their conditions, so each outcome is judged by its like, and no value network is needed
    (a leave-one-out baseline: Kool et al. 2019; Ahmadian et al. 2024, arXiv 2402.14740). While a value network's error
    outgrows what the policy still tries, once its std is small, a difference stays as sharp as it was.

    Two scales are mixed, and neither minds how f is scaled or where its zero is. In logarithms of ranks within the
    batch, the best outcomes lie far apart, as in log f: that tells two valleys apart while the policy still covers
    both. In logarithms of differences, in medians of the batch's, the conditions that are worst off weigh most, and a
    few steep ones do not drown the rest.

    Between equal outcomes the action that lies less outside the bounds is the better one: all that are clipped to the
    same bound look alike to f, and a policy that went there would not return.

    Args:
        objectives: f of what each action led to, ``[E, T]``, T of at least 2.
        actions: before they were clipped to [-1, 1], ``[E, T, knobs]``.
        by_rank: weight of the ranks, in [0, 1].

    Returns:
        ``[E, T]``.
    """
    pairs = _pairs(objectives)
    outside = np.maximum(np.abs(actions) - 1, 0).sum(axis=2)
    ties = _mean_of_others((pairs == 0) * np.sign(_pairs(outside)))
    difference = _mean_of_others(pairs)
    size = np.abs(difference)
    scale = np.median(size[size > 0]) if size.any() else 1.0
    by_size = np.sign(difference) * np.log1p(size / scale)
    worse = np.searchsorted(np.sort(objectives, axis=None), objectives)  # how many are better; equals stay equal
    ranked = _mean_of_others(_pairs(np.log(worse + 0.5)))
    return by_rank * _unit(ranked) + (1 - by_rank) * _unit(by_size) + ties


def evening_weights(conditions: np.ndarray, width: float) -> np.ndarray:
    """Weights of a batch's slots under which its conditions count as if they were spread evenly.

    A sampler may ask again and again where it is least sure. That should tell more about those conditions, not make
    them matter more: the rest of the law would follow. So a slot weighs less the more others lie near it: one over a
    Gaussian kernel estimate of their density, corrected for the part of the kernel that lies out of bounds.

    Args:
        conditions: ``[E, conditions]`` in [-1, 1].
        width: standard deviation of the kernel for one condition; it grows with the root of their number.

    Returns:
        ``[E]``, with a mean of 1.
    """
    width *= conditions.shape[1] ** 0.5
    distances = cdist(conditions, conditions, "sqeuclidean")
    inside = ndtr((1 - conditions) / width) - ndtr((-1 - conditions) / width)
    weights = inside.prod(axis=1) / np.exp(-0.5 * distances / width**2).sum(axis=1)
    return weights / weights.mean()


def _pairs(values: np.ndarray) -> np.ndarray:
    """By how much each other value of the slot lies above a value, ``[E, T, others]``, itself among the others."""
    return values[:, None, :] - values[:, :, None]


def _mean_of_others(pairs: np.ndarray) -> np.ndarray:
    """``[E, T]``; the pair of a value with itself is 0."""
    return pairs.sum(axis=2) / (pairs.shape[1] - 1)


def _unit(values: np.ndarray) -> np.ndarray:
    """Scaled to a root mean square of 1, unless all are 0."""
    return values / (np.sqrt(np.mean(values**2)) or 1.0)
