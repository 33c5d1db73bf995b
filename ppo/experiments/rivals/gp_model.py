"""A Gaussian process fitted by BoTorch; marginal likelihood chooses its kernel and the warp of f."""

import contextlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gpytorch
import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.optim.fit import fit_gpytorch_mll_scipy
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

from ppo.experiments.rivals.warp import Warp

LEAST_NOISE = 1e-8
"""Least variance of the noise, that of the warped f being 1. BoTorch's default prior holds it at 2e-4 on Rosenbrock."""
BOUNDS = {
    "model.covar_module.base_kernel.raw_lengthscale": (math.log(0.02), math.log(200.0)),
    "model.covar_module.raw_outputscale": (math.log(1e-3), math.log(1e6)),
    "likelihood.noise_covar.raw_noise": (math.log(LEAST_NOISE), 0.0),
}
"""Bounds of the logarithms of the hyper-parameters, by parameter."""
JITTERS = (0.0, *(10.0**power for power in range(-10, -3)))
KERNELS = {"Matern-5/2": MaternKernel, "RBF": RBFKernel}


@contextlib.contextmanager
def exact() -> Iterator[None]:
    """Lets GPyTorch compute by Cholesky however many evaluations there are, and hides the warnings of both libraries.

    They warn of jitter, and of searches that end at the limits of precision. BoTorch shows them whatever the filters
    say, so they are recorded and forgotten.
    """
    with (
        warnings.catch_warnings(record=True),
        gpytorch.settings.max_cholesky_size(10**6),
        gpytorch.settings.fast_computations(False, False, False),
        gpytorch.settings.cholesky_max_tries(9),
    ):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Shape:
    """What marginal likelihood chooses.

    Attributes:
        kernel: a name in ``KERNELS``; all have a length for each coordinate.
        warped: whether f is warped by a logarithm.
    """

    kernel: str
    warped: bool


class Surface:
    """A fitted Gaussian process: mean and standard deviation of the warped f, in double precision.

    Args:
        model: fitted model.
        warp: the warp of f.
        z: states, ``[n, dims]``.
        y: warped values, ``[n]``.
    """

    def __init__(self, model: SingleTaskGP, warp: Warp, z: torch.Tensor, y: torch.Tensor):
        self.model, self.warp = model, warp
        self._kernel, self._z = model.covar_module, z
        with torch.no_grad():
            self._constant = model.mean_module.constant.detach()
            covariance = self._kernel(z).to_dense() + model.likelihood.noise * torch.eye(len(z), dtype=z.dtype)
            self._root = _cholesky(covariance)
            self._weights = torch.cholesky_solve((y - self._constant)[:, None], self._root)[:, 0]

    def mean(self, z: torch.Tensor) -> torch.Tensor:
        """Returns the mean at states ``[m, dims]``, ``[m]``."""
        return self._constant + self._kernel(z, self._z).to_dense() @ self._weights

    def lower_bound(self, z: torch.Tensor, deviations: float) -> torch.Tensor:
        """Returns the mean less some standard deviations, without the noise, at states ``[m, dims]``, ``[m]``."""
        cross = self._kernel(z, self._z).to_dense()
        part = torch.linalg.solve_triangular(self._root, cross.T, upper=False)
        variance = self._kernel(z, diag=True) - (part * part).sum(dim=0)
        return self._constant + cross @ self._weights - deviations * variance.clamp_min(1e-14).sqrt()

    def with_all(self, z: np.ndarray, f: np.ndarray) -> "Surface":
        """Returns the process given all states ``[n, dims]`` and values ``[n]``, its hyper-parameters as they are."""
        return Surface(self.model, self.warp, torch.as_tensor(z), torch.as_tensor(self.warp(f)))


def _cholesky(covariance: torch.Tensor) -> torch.Tensor:
    """Returns the Cholesky factor, with the least jitter that it needs."""
    identity = torch.eye(len(covariance), dtype=covariance.dtype)
    for jitter in JITTERS:
        root, failed = torch.linalg.cholesky_ex(covariance + jitter * identity)
        if not failed:
            return root
    raise RuntimeError("the covariance of the Gaussian process is not positive definite")


def fit(
    shape: Shape, z: np.ndarray, f: np.ndarray, spread: int, state: dict[str, Any] | None = None
) -> tuple[Surface, float]:
    """Fits the hyper-parameters by marginal likelihood, with wide priors.

    Args:
        shape: kernel and warp.
        z: states, ``[n, dims]``.
        f: finite values, ``[n]``.
        spread: how many of the first evaluations are spread over all states; they alone set the unit of the warp.
        state: the state of a fitted model of the same shape, at which the search starts.

    Returns:
        The process, and the logarithm of the marginal likelihood of f itself, which compares warps too.
    """
    warp = Warp.of(f, spread) if shape.warped else Warp.identity(f)
    states, y = torch.as_tensor(z), torch.as_tensor(warp(f))
    model = _model(shape, states, y)
    if state is not None:
        model.load_state_dict(state)
    objective = ExactMarginalLogLikelihood(model.likelihood, model)
    objective.train()
    fit_gpytorch_mll_scipy(objective, bounds=BOUNDS, options={"maxiter": 200})
    with torch.no_grad():
        evidence = float(objective(model(states), y)) * len(f) + warp.log_slopes(f)
    objective.eval()
    return Surface(model, warp, states, y), evidence


def _model(shape: Shape, z: torch.Tensor, y: torch.Tensor) -> SingleTaskGP:
    """Returns a model whose hyper-parameters are sought in logarithms, so that the noise can fall to its bound."""
    logs: dict[str, Any] = {"lower_bound": 0.0, "transform": torch.exp, "inv_transform": torch.log}
    lengths = {"lengthscale_prior": LogNormalPrior(0.0, 1.5), "lengthscale_constraint": GreaterThan(**logs)}
    scale = {"outputscale_prior": LogNormalPrior(1.0, 2.0), "outputscale_constraint": GreaterThan(**logs)}
    kernel = ScaleKernel(KERNELS[shape.kernel](ard_num_dims=z.shape[1], **lengths), **scale)
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(**logs))
    model = SingleTaskGP(z, y[:, None], likelihood=likelihood, covar_module=kernel, outcome_transform=None)
    model.covar_module.base_kernel.lengthscale = 0.5
    model.covar_module.outputscale = 1.0
    model.likelihood.noise = 1e-4
    return model
