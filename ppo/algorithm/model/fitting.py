"""Fits of a Gaussian process: the hyperparameters of most marginal likelihood, by NumPy or by torch on a device.

NumPy has the slopes of the loss derived by hand, torch by autograd. A fit takes the cube of the evaluations for each
loss; from some thousands on a GPU takes a small part of the time of a processor. What is predicted with the
hyperparameters is NumPy's and SciPy's either way.
"""

import numpy as np
import torch
from scipy.optimize import minimize

from actors.kernels import KernelName
from ppo.algorithm.device import fetched, sent
from ppo.algorithm.model.gaussian_process import (
    LEAST_NOISE,
    LENGTHS,
    MOST_NOISE,
    WARPS,
    GaussianProcess,
    Hyperparameters,
    Side,
    prior,
)

LEAST = 1e-300  # of a squared distance, whose root has no slope at 0, and of a variance


class Likelihood:
    """What ``GaussianProcess.loss_and_slopes`` gives for the same evaluations, by torch on a device, in float64.

    Args:
        states: ``[n, dims]``.
        values: finite f there, ``[n]``.
        device: where it is computed; it holds some dims times n^2 numbers.
    """

    def __init__(self, states: np.ndarray, values: np.ndarray, device: torch.device):
        columns = sent(np.ascontiguousarray(states.T), device)
        self._offsets = (columns[:, :, None] - columns[:, None, :]) ** 2
        self._place = sent((values - values.min()) / (float(np.ptp(values)) or 1.0), device)

    def loss_and_slopes(self, hyper: Hyperparameters) -> tuple[float, np.ndarray]:
        """Returns the loss and its slopes by the logarithms of the hyperparameters, ``[dims + 2]``.

        Raises:
            torch.linalg.LinAlgError: the covariance cannot be factored.
        """
        logs = sent(hyper.logs, self._place.device).requires_grad_()
        loss = self._loss(logs, hyper)
        (slopes,) = torch.autograd.grad(loss, logs)
        beside, beside_slopes = prior(hyper)
        return loss.item() + beside, fetched(slopes) + beside_slopes

    def _loss(self, logs: torch.Tensor, hyper: Hyperparameters) -> torch.Tensor:
        """Returns the loss without the prior, a scalar; of ``hyper`` it takes what is no number."""
        noise, warp, low = logs[-2].exp(), logs[-1].exp(), hyper.side == "low"
        place = self._place if low else 1 - self._place
        targets = torch.log1p(place / warp) * (1 if low else -1)
        ones = torch.ones_like(targets)
        covariance = self._correlation((-2 * logs[:-2]).exp(), hyper.kernel) + torch.diag(noise * ones)
        factor = torch.linalg.cholesky(covariance)
        for_level, for_targets = torch.cholesky_solve(torch.stack([ones, targets], dim=1), factor).unbind(dim=1)
        level = (for_level @ targets) / for_level.sum()
        variance = ((targets - level) @ (for_targets - level * for_level) / len(targets)).clamp(min=LEAST)
        halves = torch.log(torch.diag(factor)).sum()
        return 0.5 * len(targets) * torch.log(variance) + halves + torch.log(warp + place).sum()

    def _correlation(self, weights: torch.Tensor, kernel: KernelName) -> torch.Tensor:
        """Returns the correlation of the states, ``[n, n]``, for weights of squared offsets ``[dims]``.

        ``actors.kernels`` names the sources.
        """
        if kernel == "pairs":
            each = 1 / (1 + 0.5 * weights[:, None, None] * self._offsets)
            total, squares = each.sum(dim=0), (each * each).sum(dim=0)
            return (total * total - squares) / (len(weights) * (len(weights) - 1))
        squared = torch.tensordot(weights, self._offsets, dims=1)
        if kernel == "rbf":
            return torch.exp(-0.5 * squared)
        radius = torch.sqrt(5 * squared.clamp(min=LEAST))
        return (1 + radius + (5 / 3) * squared) * torch.exp(-radius)


def least_warp(values: np.ndarray, side: Side) -> float:
    """Returns the least warp of values ``[n]`` that a fit may choose.

    Where k of them have the value at the end that the warp stretches, as of a clipped f, the loss is about
    n log L - k L for a small warp, L = -log(warp), whatever the others say: from L = n / k on it falls for ever.
    """
    tied = (values == (values.min() if side == "low" else values.max())).sum()
    return float(np.clip(np.exp(-len(values) / tied), *WARPS))


def fit(
    states: np.ndarray,
    values: np.ndarray,
    starts: list[Hyperparameters],
    steps: int,
    device: torch.device | None = None,
) -> Hyperparameters:
    """Returns the hyperparameters of most marginal likelihood that SciPy's L-BFGS-B finds from the starts.

    Args:
        states: ``[n, dims]``.
        values: ``[n]``, finite.
        starts: where to start from.
        steps: iterations from each.
        device: where torch computes the likelihood; None for NumPy.
    """
    dims, on_device = states.shape[1], None if device is None else Likelihood(states, values, device)
    found = []
    for start in starts:
        bounds = np.log([LENGTHS] * dims + [(LEAST_NOISE, MOST_NOISE), (least_warp(values, start.side), WARPS[1])])

        def loss(logs: np.ndarray, start: Hyperparameters = start) -> tuple[float, np.ndarray]:
            hyper = start.at(logs)
            try:
                if on_device is not None:
                    return on_device.loss_and_slopes(hyper)
                return GaussianProcess(states, values, hyper).loss_and_slopes()
            except (np.linalg.LinAlgError, torch.linalg.LinAlgError):
                return 1e10, np.zeros(len(logs))

        result = minimize(loss, start.logs, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
        found.append((float(result.fun), start.at(result.x)))
    return min(found, key=lambda pair: pair[0])[1]
