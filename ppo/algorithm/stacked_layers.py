"""Layers of policy and value network side by side, and the memory that their gradients by hand are computed in."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from actors.snapshot import NetworkSpec

Layer = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Views:
    """Layers as views of a flat vector: hidden ones stacked, ``[k, inputs, outputs]`` and ``[k, 1, outputs]``.

    k is 2, for policy and value network, or 1 where there is no value network.
    """

    hidden: list[Layer]
    heads: list[Layer]

    @classmethod
    def of(cls, flat: np.ndarray, policy: NetworkSpec, value: NetworkSpec | None) -> "Views":
        """Views of a vector that holds the policy's parameters and then the value's."""
        layers, k = policy.views(flat[: policy.size]), 1 if value is None else 2
        apart = policy.size * flat.itemsize  # a hidden layer lies at the same place in both networks
        hidden = [(_stacked(weight, k, apart), _stacked(bias[None], k, apart)) for weight, bias in layers[:-1]]
        heads = layers[-1:] if value is None else [layers[-1], value.views(flat[policy.size :])[-1]]
        return cls(hidden, heads)


def _stacked(part: np.ndarray, k: int, apart: int) -> np.ndarray:
    """Stacks the policy's part and, ``apart`` bytes behind it, the value's, ``[k, *part.shape]``; a view."""
    return np.lib.stride_tricks.as_strided(part, (k, *part.shape), (apart, *part.strides))


class Buffers:
    """Arrays for minibatches of any number of rows: views of memory that is as large as the largest one needs.

    How many episodes end in a training step, and so how many values are asked for, is another number each time.

    Attributes:
        rows: number of rows ``n`` of the views.
        policy: the policy's hidden activations, float64, ``[n, width]`` each.
        all: those of all k networks, ``[k, n, width]`` each.
        slopes: of the loss at them.
        obs: observations, ``[n, obs_dim]``.
        ones: to sum rows with, ``[1, n]``.
    """

    def __init__(self, spec: NetworkSpec, k: int, dtype: DTypeLike):
        self._widths, self._obs_dim, self._k, self._dtype = spec.hidden_sizes, spec.obs_dim, k, dtype
        self.rows, self._most = -1, -1

    def fit(self, n: int) -> "Buffers":
        """Makes the views ones of ``n`` rows, with nothing in them, and returns this."""
        if n > self._most:
            self._most = n
            self._wide = [np.empty(n * width) for width in self._widths]
            self._flat = [np.empty(self._k * n * width, self._dtype) for width in (*self._widths, *self._widths)]
            self._rows = np.empty(n * self._obs_dim, self._dtype), np.ones(n, self._dtype)
        if n != self.rows:
            self.rows, depth = n, len(self._widths)
            self.policy = [
                flat[: n * width].reshape(n, width) for flat, width in zip(self._wide, self._widths, strict=True)
            ]
            sizes = [(self._k, n, width) for width in (*self._widths, *self._widths)]
            both = [flat[: math.prod(size)].reshape(size) for flat, size in zip(self._flat, sizes, strict=True)]
            self.all, self.slopes = both[:depth], both[depth:]
            self.obs, self.ones = self._rows[0][: n * self._obs_dim].reshape(n, self._obs_dim), self._rows[1][None, :n]
        return self
