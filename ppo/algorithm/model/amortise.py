"""The model's best knobs at many conditions, learned by the policy's components.

For each of many conditions the model is searched for its best knobs. They are assigned to the component whose mean is
nearest; where none is near, a component that nothing was assigned to starts anew. The means are then fitted to what is
assigned to them, and last to the least f that the model expects of them (Amos 2023, arXiv 2202.00665: amortisation by
regression, and by the objective). The gate is fitted to the same assignment.
"""

import numpy as np
import torch
from scipy.optimize import minimize

from actors.law import centre_states
from actors.snapshot import NetworkSpec
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.network import forward

FAR = 0.05  # distance in knobs from which another component is worth having
GATE_WEIGHT = 1e-4  # of the gate's cross entropy beside squared distances
PRECISE = {"maxcor": 20, "ftol": 1e-15, "gtol": 1e-12}
POLISHING = 60  # iterations


def polished(model: GaussianProcess, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Minimises the model's mean locally, from knobs ``[m, knobs]`` at conditions ``[m, conditions]``.

    All rows are one problem to SciPy's L-BFGS-B, since they do not depend on each other.
    """
    shape = knobs.shape

    def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
        states = np.concatenate([flat.reshape(shape), conditions], axis=1)
        values, slopes = model.mean_and_slope(states, shape[1])
        return float(values.sum()), slopes.reshape(-1)

    low, high = model.window(conditions, shape[1])
    bounds = list(zip(low.reshape(-1), high.reshape(-1), strict=True))
    options = PRECISE | {"maxiter": POLISHING}
    start = np.clip(knobs, low, high).reshape(-1)
    found = minimize(total, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    best = found.x.reshape(shape)
    before, after = (model.mean(np.concatenate([x, conditions], axis=1)) for x in (knobs, best))
    return np.where((after <= before)[:, None], best, knobs)


def assigned(targets: np.ndarray, means: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Assigns targets to the nearest components.

    Args:
        targets: ``[m, knobs]``.
        means: of the components at the targets' conditions, ``[m, K, knobs]``.
        live: components in use, ``[K]`` of bool.

    Returns:
        Component of each target, ``[m]``, and the components that start anew with the knobs at which they do.
    """
    distances = np.sqrt(((means - targets[:, None]) ** 2).sum(axis=2))
    distances[:, ~live] = np.inf
    anew: dict[int, np.ndarray] = {}
    for _ in range(means.shape[1]):
        free = np.flatnonzero(np.bincount(distances.argmin(axis=1), minlength=means.shape[1]) == 0)
        nearest = distances.min(axis=1)
        farthest = int(nearest.argmax())
        if not len(free) or nearest[farthest] < FAR:
            break
        anew[int(free[0])] = targets[farthest]
        distances[:, free[0]] = np.sqrt(((targets - targets[farthest]) ** 2).sum(axis=1))
    return distances.argmin(axis=1), anew


class Amortisation:
    """Fits a policy's means and gate at some conditions, by SciPy's L-BFGS-B.

    Args:
        spec: the policy's network.
        conditions: ``[m, conditions]``.
        components: component that is to be the best at each of them, ``[m]``.
    """

    def __init__(self, spec: NetworkSpec, conditions: np.ndarray, components: np.ndarray):
        self._spec, self._conditions = spec, conditions
        self._obs = torch.from_numpy(centre_states(conditions, spec.action_dim))
        self._own = torch.from_numpy(spec.own_outputs(components)[:, : spec.action_dim])
        self._components = torch.from_numpy(components)

    def to_targets(self, theta: np.ndarray, targets: np.ndarray, steps: int) -> np.ndarray:
        """Returns parameters under which the means are near targets ``[m, knobs]``."""
        goal = torch.from_numpy(targets)
        return self._fitted(theta, steps, lambda means: ((means - goal) ** 2).sum(1).mean())

    def to_model(self, theta: np.ndarray, model: GaussianProcess, steps: int) -> np.ndarray:
        """Returns parameters under which a model expects the least f of the means."""
        return self._fitted(theta, steps, lambda means: Expected.apply(means, model, self._conditions))

    def _fitted(self, theta: np.ndarray, steps: int, loss_of_means) -> np.ndarray:
        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            parameters = torch.from_numpy(flat).requires_grad_()
            out = forward(self._spec, parameters, self._obs)
            value = loss_of_means(out.gather(1, self._own))
            if self._spec.components > 1:
                logits = out[:, -self._spec.components :]
                value = value + GATE_WEIGHT * torch.nn.functional.cross_entropy(logits, self._components)
            (slope,) = torch.autograd.grad(value, parameters)
            return value.item(), slope.numpy()

        options = PRECISE | {"maxiter": steps}
        return minimize(loss, theta.copy(), jac=True, method="L-BFGS-B", options=options).x


class Expected(torch.autograd.Function):
    """The mean f that a model expects of knobs ``[m, knobs]``, and the square of how far they are out of bounds."""

    @staticmethod
    def forward(ctx, means, model: GaussianProcess, conditions: np.ndarray):
        knobs = means.detach().numpy()
        inside = np.clip(knobs, *model.window(conditions, knobs.shape[1]))
        values, slopes = model.mean_and_slope(np.concatenate([inside, conditions], axis=1), knobs.shape[1])
        unit = 1.0 if model.frame is None else model.frame.radius
        outside = (knobs - inside) / unit
        ctx.slopes = (np.where(outside == 0, slopes, 0.0) + 2 * outside / unit) / len(knobs)
        return means.new_tensor(values.mean() + (outside**2).sum(axis=1).mean())

    @staticmethod
    def backward(ctx, slope):
        return slope * torch.from_numpy(ctx.slopes), None, None
