"""An ensemble of networks, which learns f from more evaluations than a process can take.

Several networks of tanh units are trained on the same evaluations from different parameters (Lakshminarayanan et al.
2017, arXiv 1612.01474, without adversarial examples), in minibatches, so that a pass takes a time in proportion to the
evaluations and not to their cube. Their mean is searched for the best knobs as that of a process is.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import torch

from actors.step_limit import StepLimit
from ppo.algorithm.device import fetched, sent
from ppo.algorithm.model.gaussian_process import GaussianProcess

NETWORKS, WIDTHS = 4, (64, 64)
STEPS, MINIBATCH = 12_000, 512  # of Adam
RATE, WARMUP, LAST_RATE = 0.02, 0.1, 1e-5  # the largest, the share of the steps until then, and the last one
BLOCK = 4096  # states that are predicted at a time

Layers = list[tuple[np.ndarray, np.ndarray]]
"""Weights ``[networks, inputs, outputs]`` and biases ``[networks, 1, outputs]`` of each layer."""


class Ensemble:
    """Predicts the warped f, which orders knobs as f does, by the mean of its networks.

    Args:
        process: whose warp of f it learns.
        states: where f was evaluated, ``[n, dims]``.
        values: f there, ``[n]``.
        rng: draws the first parameters and the minibatches.
        device: where it is trained, by torch's name; it predicts in NumPy.
    """

    def __init__(
        self,
        process: GaussianProcess,
        states: np.ndarray,
        values: np.ndarray,
        rng: np.random.Generator,
        device: str = "cpu",
    ):
        self._process = process
        targets = process.warped(values)
        self._level, self._scale = float(targets.mean()), float(targets.std()) or 1.0
        targets = (targets - self._level) / self._scale
        self._layers = trained(_drawn(states.shape[1], rng), states, targets, rng, torch.device(device))

    limit: StepLimit | None = None  # only a process has one

    def mean(self, states: np.ndarray) -> np.ndarray:
        """Returns the warped f expected at states ``[m, dims]``, ``[m]``."""
        found = [self._forward(states[rows])[-1] for rows in _blocks(len(states))]
        return self._level + self._scale * np.concatenate(found, axis=1)[..., 0].mean(axis=0)

    def mean_and_slope(self, states: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the warped f expected at ``[m, dims]``, ``[m]``, and its slope by the knobs, ``[m, knobs]``."""
        _, *hidden, out = self._forward(states)
        slope = np.ones_like(out)
        for (weight, _), h in zip(self._layers[:0:-1], reversed(hidden), strict=True):
            slope = (slope @ weight.transpose(0, 2, 1)) * (1 - h * h)
        slope = slope @ self._layers[0][0][:, :knobs].transpose(0, 2, 1)
        return self._level + self._scale * out[..., 0].mean(axis=0), self._scale * slope.mean(axis=0)

    def window(self, conditions: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns between which knobs it predicts at conditions ``[m, conditions]``, ``[m, knobs]`` each: all."""
        return np.full((len(conditions), knobs), -1.0), np.ones((len(conditions), knobs))

    def unwarped(self, warped: np.ndarray) -> np.ndarray:
        """Returns f for its warped values."""
        return self._process.unwarped(warped)

    def _forward(self, states: np.ndarray) -> list[np.ndarray]:
        """Returns what enters each layer, and what leaves the last one, ``[networks, m, 1]``."""
        values = [np.broadcast_to(states, (NETWORKS, *states.shape))]
        for weight, bias in self._layers[:-1]:
            values.append(np.tanh(values[-1] @ weight + bias))
        weight, bias = self._layers[-1]
        return [*values, values[-1] @ weight + bias]


def trained(
    layers: Layers, states: np.ndarray, targets: np.ndarray, rng: np.random.Generator, device: torch.device
) -> Layers:
    """Returns the parameters after training on states ``[n, dims]`` and targets ``[n]`` of mean 0 and variance 1.

    In single precision, whose rounding is far below what minibatches differ by.
    """
    x, y = (torch.tensor(array, dtype=torch.float32, device=device) for array in (states, targets))
    parameters = [torch.tensor(array, dtype=x.dtype, device=device) for layer in layers for array in layer]
    for one in parameters:
        one.requires_grad_()
    adam = torch.optim.Adam(parameters, RATE)
    rates = torch.optim.lr_scheduler.OneCycleLR(
        adam, RATE, STEPS, pct_start=WARMUP, final_div_factor=RATE / 25 / LAST_RATE
    )
    minibatches = _minibatches(len(states), rng, device)
    for _ in range(STEPS):
        rows = next(minibatches)
        values = x[rows].expand(NETWORKS, -1, -1)
        for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            values = torch.tanh(torch.baddbmm(bias, values, weight))
        out = torch.baddbmm(parameters[-1], values, parameters[-2])[..., 0]
        loss = ((out - y[rows]) ** 2).mean(dim=1).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        rates.step()
    arrays = [fetched(one.detach()).astype(np.float64) for one in parameters]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


def _drawn(dims: int, rng: np.random.Generator) -> Layers:
    """Returns the first parameters: weights with a variance of one over the inputs, and biases that are not alike."""
    sizes = itertools.pairwise((dims, *WIDTHS, 1))
    return [
        (rng.standard_normal((NETWORKS, a, b)) / a**0.5, rng.standard_normal((NETWORKS, 1, b)) * (b > 1))
        for a, b in sizes
    ]


def _minibatches(n: int, rng: np.random.Generator, device: torch.device) -> Iterator[torch.Tensor]:
    """Yields the rows of minibatches without end: each pass takes all rows once, in another order, but for a rest."""
    size = min(n, MINIBATCH)
    while True:
        order = sent(rng.permutation(n), device)
        for first in range(0, n - size + 1, size):
            yield order[first : first + size]


def _blocks(count: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, count, BLOCK)]
