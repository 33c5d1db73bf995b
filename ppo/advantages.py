"""Generalised advantage estimation over rectangular slots."""

import numpy as np


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
