"""Advantages over rectangular slots: GAE, V-trace where another policy acted, or leave-one-out within a slot."""

import numpy as np
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
    """Estimates advantages by GAE(lambda) (Schulman et al. 2016, arXiv 1506.02438, eq. 16).

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
    _check_closed(terminations | truncations)
    delta = rewards + gamma * np.where(terminations, 0.0, final_values) - values
    carried = gamma * gae_lambda * ~(terminations | truncations)
    advantages = np.empty_like(delta)
    following = np.zeros(len(delta))
    for t in reversed(range(delta.shape[1])):
        following = delta[:, t] + carried[:, t] * following
        advantages[:, t] = following
    return advantages


def v_trace(
    rewards: np.ndarray,
    values: np.ndarray,
    final_values: np.ndarray,
    terminations: np.ndarray,
    truncations: np.ndarray,
    ratios: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates values and advantages of a policy where another one acted (Espeholt et al. 2018, arXiv 1802.01561).

    Targets are eq. 1, by the recursion of remark 1, with both truncation levels at 1 and the traces of remark 2, lambda
    times the truncated ratio. Where all ratios are 1 they are those of GAE(lambda). Advantages are those of section
    4.2 without their ratio, which the clipped surrogate has. Ends count as in ``gae``.

    Args:
        rewards, values, final_values, terminations, truncations: as ``gae`` takes them.
        ratios: probability of each action under the policy that learns over that under the one that acted, ``[E, T]``.
        gamma: discount.
        gae_lambda: lambda.

    Returns:
        Targets of the value and advantages, ``[E, T]`` each.
    """
    ends = terminations | truncations
    _check_closed(ends)
    following = np.where(terminations, 0.0, final_values)  # value of what each step led to; becomes its target
    truncated = np.minimum(ratios, 1.0)
    delta = truncated * (rewards + gamma * following - values)
    carried = gamma * gae_lambda * truncated * ~ends
    targets = np.empty_like(delta)
    correction = np.zeros(len(delta))
    for t in reversed(range(delta.shape[1])):
        correction = delta[:, t] + carried[:, t] * correction
        targets[:, t] = values[:, t] + correction
    following[:, :-1] = np.where(ends[:, :-1], following[:, :-1], targets[:, 1:])
    return targets, rewards + gamma * following - values


def _check_closed(ends: np.ndarray) -> None:
    """Checks that the last step of each slot is an end of an episode, ``[E, T]`` of bool."""
    if not ends[:, -1].all():
        raise ValueError("a slot's last step must be terminated or truncated")


def leave_one_out_advantages(objectives: np.ndarray, actions: np.ndarray, rank_weight: float) -> np.ndarray:
    """Compares each outcome of a tuning problem with the others of its slot, which share its conditions.

    This is a leave-one-out baseline (Kool et al. 2019; Ahmadian et al. 2024, arXiv 2402.14740, eq. 5), so no value
    network is needed. Two scales are mixed, logarithms of ranks within the batch and logarithms of differences in
    units of their median; neither depends on the scale or the zero of f. Between equal outcomes the action that lies
    less outside the bounds is the better one. An outcome that failed is ranked below all others, and has no difference
    to any: its slot is compared by ranks alone. ``docs/method.md`` gives the reasons.

    Args:
        objectives: f of what each action led to, NaN where it failed, ``[E, T]``, T of at least 2.
        actions: before they were clipped to [-1, 1], ``[E, T, knobs]``.
        rank_weight: weight of the ranks, in [0, 1].

    Returns:
        ``[E, T]``.
    """
    pairs = _pairs(objectives)
    outside = np.maximum(np.abs(actions) - 1, 0).sum(axis=2)
    ties = _mean_of_others((pairs == 0) * np.sign(_pairs(outside)))
    difference, has_failed = _mean_of_others(pairs), np.isnan(objectives).any(axis=1)
    difference[has_failed] = 0.0
    size = np.abs(difference)
    scale = _median(size[size > 0]) if size.any() else 1.0
    by_size = np.sign(difference) * np.log1p(size / scale)
    worse = np.searchsorted(np.sort(objectives, axis=None), objectives)  # how many are better; equals stay equal
    ranked = _unit(_mean_of_others(_pairs(np.log(worse + 0.5))))
    mixed = rank_weight * ranked + (1 - rank_weight) * _unit(by_size)
    return np.where(has_failed[:, None], ranked, mixed) + ties


def inverse_density_weights(conditions: np.ndarray, bandwidth: float) -> np.ndarray:
    """Weights a batch's slots as if its conditions were spread evenly, whatever the sampler prefers.

    The weight is one over a Gaussian kernel estimate of the conditions' density, corrected for the part of the kernel
    that lies out of bounds.

    Args:
        conditions: ``[E, conditions]`` in [-1, 1].
        bandwidth: standard deviation of the kernel for one condition; it grows with the root of their number.

    Returns:
        ``[E]``, with a mean of 1.
    """
    width = bandwidth * conditions.shape[1] ** 0.5
    distances = _squared_distances(conditions)
    inside = ndtr((1 - conditions) / width) - ndtr((-1 - conditions) / width)
    weights = inside.prod(axis=1) / np.exp(-0.5 * distances / width**2).sum(axis=1)
    return weights / weights.mean()


def _squared_distances(points: np.ndarray) -> np.ndarray:
    """Returns what ``scipy.spatial.distance.cdist`` does, to the bit, ``[n, n]``; that takes long to load."""
    total = np.zeros((len(points), len(points)))
    for column in points.T:
        difference = column[:, None] - column
        total += difference * difference
    return total


def _pairs(values: np.ndarray) -> np.ndarray:
    """Returns by how much each value of the slot lies above a value, ``[E, T, T]``."""
    return values[:, None, :] - values[:, :, None]


def _mean_of_others(pairs: np.ndarray) -> np.ndarray:
    """Averages over the other values of the slot, ``[E, T]``; the pair of a value with itself is 0."""
    return pairs.sum(axis=2) / (pairs.shape[1] - 1)


def _unit(values: np.ndarray) -> np.ndarray:
    """Scales values to a root mean square of 1, unless all are 0."""
    return values / (np.sqrt(np.add.reduce(values**2, axis=None) / values.size) or 1.0)


def _median(values: np.ndarray) -> float:
    """Returns what ``np.median`` does of finite values ``[n]``, in a third of the time that it takes for a batch."""
    ordered, middle = np.sort(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
