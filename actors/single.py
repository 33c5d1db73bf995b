"""The policy's likeliest action at one state, in a few microseconds and with the bits that it has in any batch.

The matrix products are those of a padded block, since another shape may have other bits; everything else is done for
the one row that counts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from actors.policy import ACTIVATIONS, BLOCK, Policy, normalise


def single_mode(policy: Policy) -> Callable[[Sequence[float]], np.ndarray]:
    """Returns a function from conditions ``[conditions]`` to the mean action ``[knobs]`` of a tuning problem's policy.

    It gives what ``Policy.mode`` does at the state with these conditions and the knobs at 0.
    """
    spec, snapshot = policy.spec, policy.snapshot
    knobs, activation = spec.action_dim, ACTIVATIONS[spec.activation]
    layers = spec.views(snapshot.theta)
    critic, live, components = snapshot.critic, policy.live, spec.components

    def outputs(row: np.ndarray) -> np.ndarray:
        row = normalise(row, snapshot.obs_mean, snapshot.obs_var)
        for number, (weight, bias) in enumerate(layers, 1):
            block = np.zeros((BLOCK, len(row)))
            block[0] = row
            row = np.matmul(block, weight)[0]
            row += bias
            if number < len(layers):
                row = activation(row, out=row)
        return row

    def mode(conditions: Sequence[float]) -> np.ndarray:
        row = np.zeros(spec.obs_dim)
        row[knobs:] = conditions
        out = outputs(row)
        if components == 1:
            return out[:knobs]
        means = out[: components * knobs].reshape(components, knobs)[live]
        if critic is None:
            return means[out[-components:][live].argmax()]
        states = np.empty((len(live), spec.obs_dim))
        states[:, :knobs], states[:, knobs:] = policy.valid(means), conditions
        return means[critic.mean(states).argmin()]

    return mode
