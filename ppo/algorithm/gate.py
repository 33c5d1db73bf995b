"""A policy's gate, fitted to which of its components is the best where: a logistic regression of the last layer."""

import numpy as np
from scipy.optimize import minimize

from actors.snapshot import NetworkSpec
from ppo.algorithm.network import layer_inputs

GATE_STEPS = 200  # iterations of L-BFGS
GATE_RIDGE = 1e-6


def fit_gate(spec: NetworkSpec, theta: np.ndarray, obs: np.ndarray, components: np.ndarray) -> None:
    """Fits the gate, in place, to the components ``[m]`` that are the best in states ``[m, obs_dim]``, normalised."""
    if spec.components == 1:
        return
    features = layer_inputs(spec, theta, obs)[-1]
    features = np.column_stack([features, np.ones(len(features))])
    hot = np.eye(spec.components)[components]
    shape = features.shape[1], spec.components

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        logits = features @ weights
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        slope = features.T @ (np.exp(logs) - hot) / len(hot) + GATE_RIDGE * weights
        return float(-(hot * logs).sum() / len(hot) + 0.5 * GATE_RIDGE * flat @ flat), slope.reshape(-1)

    found = minimize(loss, np.zeros(shape).reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": GATE_STEPS})
    weight, bias = spec.views(theta)[-1]
    fitted = found.x.reshape(shape)
    weight[:, -spec.components :], bias[-spec.components :] = fitted[:-1], fitted[-1]
