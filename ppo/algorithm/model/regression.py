"""Least squares of a network's outputs by Levenberg and Marquardt's method (Moré 1978, eq. 3.4).

A law is fitted to a few hundred targets and has thousands of parameters, so each step is solved in the space of the
residuals r, with the Jacobian J: ``step = -J.T @ solve(J @ J.T + damping * I, r)``. ``J @ J.T`` comes from the
activations and from the slopes at each layer, and J itself is never formed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from actors.snapshot import NetworkSpec
from ppo.algorithm.network import layer_inputs

FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-10  # as shares of the mean diagonal of J @ J.T, which may be singular
LESS, MORE = 0.5, 4.0  # what the damping is multiplied with after a step that helped, and after one that did not
PRECISE = 1e-14  # mean squared residual that is as good as none


@dataclass(frozen=True)
class Forward:
    """A pass through the network.

    Attributes:
        theta: parameters, ``[size]``.
        inputs: of each layer, ``[m, width]``.
        counts: which of the outputs that have targets are not beyond a bound, ``[m * p]`` of bool.
        residuals: of the outputs that have targets, ``[m * p]``; 0 beyond a bound.
        loss: sum of their squares.
    """

    theta: np.ndarray
    inputs: list[np.ndarray]
    counts: np.ndarray
    residuals: np.ndarray
    loss: float


class Regression:
    """Fits some outputs of a network to targets in [-1, 1]; at a target of -1 or 1 an output may lie beyond.

    Args:
        spec: the network.
        obs: its inputs, ``[m, obs_dim]``.
        outputs: which outputs have targets, ``[m, p]``.
        targets: ``[m, p]``.
    """

    def __init__(self, spec: NetworkSpec, obs: np.ndarray, outputs: np.ndarray, targets: np.ndarray):
        self._spec, self._obs, self._own, self._targets = spec, obs, outputs, targets.reshape(-1)
        self._rows, self._outputs = np.repeat(np.arange(len(obs)), outputs.shape[1]), outputs.reshape(-1)
        self._same = self._outputs[:, None] == self._outputs
        # Memory of each step. Of what is symmetric only the lower triangle is computed, in LAPACK's order of numbers.
        self._gram, self._part, self._spare = (np.zeros(self._same.shape, order="F") for _ in range(3))

    def fitted(self, theta: np.ndarray, steps: int) -> np.ndarray:
        """Returns the parameters after so many steps from ``theta``, or once the residuals are as good as none."""
        at = self._forward(theta.copy())
        gram, slopes = self._linearised(at)
        damping = FIRST_DAMPING * _scale(gram)
        for _ in range(steps):
            if at.loss < PRECISE * len(at.residuals):
                break
            damping = max(damping, LEAST_DAMPING * _scale(gram))
            tried = self._forward(at.theta - self._step(at, gram, slopes, damping))
            if tried.loss < at.loss:
                at, damping = tried, LESS * damping
                gram, slopes = self._linearised(at)
            else:
                damping *= MORE
        return at.theta

    def _forward(self, theta: np.ndarray) -> Forward:
        inputs = layer_inputs(self._spec, theta, self._obs)
        weight, bias = self._spec.views(theta)[-1]
        out = inputs[-1] @ weight + bias
        residuals = np.take_along_axis(out, self._own, axis=1).reshape(-1) - self._targets
        counts = ~self._beyond(residuals)
        residuals[~counts] = 0.0
        return Forward(theta, inputs, counts, residuals, float(residuals @ residuals))

    def _beyond(self, residuals: np.ndarray) -> np.ndarray:
        """Returns which outputs lie beyond a bound of the knobs at which their target is, ``[m * p]`` of bool."""
        return (np.abs(self._targets) == 1) & (residuals * self._targets > 0)

    def _linearised(self, at: Forward) -> tuple[np.ndarray, list[np.ndarray]]:
        """Returns the lower triangle of ``J @ J.T``, ``[m * p, m * p]``, and residuals' slopes at the hidden layers."""
        layers, rows = self._spec.views(at.theta), self._rows
        counts = at.counts  # what is beyond a bound stays there for a small step
        gram = self._gram
        gram[:] = self._same & counts & counts[:, None]
        self._multiply(gram, at.inputs[-1])
        slope, slopes = np.where(counts[:, None], layers[-1][0].T[self._outputs], 0.0), []
        for layer in reversed(range(len(layers) - 1)):
            h = at.inputs[layer + 1][rows]
            slope = slope * (1 - h * h if self._spec.activation == "tanh" else h > 0)
            slopes.append(slope)
            part = _products(slope, self._part)
            self._multiply(part, at.inputs[layer])
            gram += part
            slope = slope @ layers[layer][0].T
        return gram, slopes[::-1]

    def _multiply(self, factors: np.ndarray, inputs: np.ndarray) -> None:
        """Multiplies ``[m * p, m * p]`` in place by the products of a layer's inputs ``[m, width]``, bias included."""
        products = _products(inputs[self._rows], self._spare)
        products += 1
        factors *= products

    def _step(self, at: Forward, gram: np.ndarray, slopes: list[np.ndarray], damping: float) -> np.ndarray:
        """Returns what is to be subtracted from the parameters, ``[size]``."""
        damped = self._spare
        np.copyto(damped, gram)
        damped[np.diag_indices_from(damped)] += damping
        factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
        pull = cho_solve(factor, at.residuals, check_finite=False)
        last = np.zeros((len(pull), self._spec.layers[-1][1]))
        last[np.arange(len(pull)), self._outputs] = pull
        step = np.empty_like(at.theta)
        pulls = [slope * pull[:, None] for slope in slopes] + [last]
        for (weight, bias), inputs, pulled in zip(self._spec.views(step), at.inputs, pulls, strict=True):
            np.matmul(inputs[self._rows].T, pulled, out=weight)
            np.sum(pulled, axis=0, out=bias)
        return step


def _products(rows: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Returns the products of rows ``[n, width]`` with each other, in the lower triangle of ``out``, ``[n, n]``."""
    return dsyrk(1.0, rows.T, c=out, trans=1, lower=1, overwrite_c=1)


def _scale(gram: np.ndarray) -> float:
    """Returns the mean diagonal."""
    return float(np.trace(gram)) / len(gram)
