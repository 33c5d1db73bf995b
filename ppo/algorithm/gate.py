"""A policy's gate, fitted to which of its components is the best where: a logistic regression of the last layer."""

import numpy as np

from actors.snapshot import NetworkSpec
from ppo.algorithm.network import layer_inputs

GATE_STEPS = 200  # iterations of L-BFGS
GATE_RIDGE = 1e-6


def fit_gate(
    spec: NetworkSpec, theta: np.ndarray, obs: np.ndarray, components: np.ndarray, weights: np.ndarray | None = None
) -> None:
    """Fits the gate, in place, to which component is the best in each of some states.

    Args:
        spec: the policy's network.
        theta: the policy's parameters.
        obs: normalised states, ``[m, obs_dim]``.
        components: the best one in each, ``[m]``.
        weights: how much each state counts, ``[m]`` with a mean of 1; None for all alike.
    """
    if spec.components == 1:
        return
    from scipy.optimize import minimize  # imported here, since it is slow to load

    features = layer_inputs(spec, theta, obs)[-1]
    features = np.column_stack([features, np.ones(len(features))])
    hot = np.eye(spec.components)[components]
    shares = np.ones(len(hot)) / len(hot) if weights is None else weights / len(hot)
    shape = features.shape[1], spec.components

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logits = features @ flat.reshape(shape)
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        slope = (features.T @ (shares[:, None] * (np.exp(logs) - hot))).reshape(-1) + GATE_RIDGE * flat
        return float(-shares @ (hot * logs).sum(axis=1) + 0.5 * GATE_RIDGE * flat @ flat), slope

    found = minimize(loss, np.zeros(shape).reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": GATE_STEPS})
    weight, bias = spec.views(theta)[-1]
    fitted = found.x.reshape(shape)
    weight[:, -spec.components :], bias[-spec.components :] = fitted[:-1], fitted[-1]
