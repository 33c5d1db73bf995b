"""How far the means of a slot lie apart, and a limit to it.

Leave-one-out advantages compare actions as if all of a slot had the same mean. A policy sees where the knobs stand, so
the means of a slot's time steps differ. If they differ by more than the noise, then their difference, and no longer the
noise, decides which action is the better one: updates are random, and the difference grows. ``docs/method.md`` gives
what was seen of it.
"""

import numpy as np

from actors.policy import Policy

MAX_SPREAD = 0.5
"""Standard deviations. Trainings that end well stay below 0.7, and most of them below 0.1 (docs/method.md)."""


def mean_spread(policy: Policy, obs: np.ndarray) -> float:
    """Returns how far the means of a slot lie from their average, in standard deviations, as a root mean square.

    Args:
        policy: a Gaussian one, of one or several components.
        obs: states of the slots, ``[E, T, obs_dim]``.
    """
    means, stds = policy.gaussians(obs.reshape(-1, obs.shape[2]))
    return float(np.sqrt((means / stds).reshape(*obs.shape[:2], -1).var(axis=1).mean()))


def limit_mean_spread(policy: Policy, theta: np.ndarray, obs: np.ndarray) -> float:
    """Scales a policy's weights of the knobs down, in place, if the means of a slot lie too far apart.

    What the policy does from the centre of the knobs, which is what a law does, does not change. Where observations are
    normalised, it is what the policy does from where the knobs are on average.

    Args:
        policy: a Gaussian one of a tuning problem.
        theta: its parameters, ``[policy.spec.size]``, to be changed.
        obs: states of the slots, ``[E, T, obs_dim]``, knobs first.

    Returns:
        The spread before.
    """
    spread = mean_spread(policy, obs)
    if spread > MAX_SPREAD:
        policy.spec.views(theta)[0][0][: policy.spec.action_dim] *= MAX_SPREAD / spread
    return spread
