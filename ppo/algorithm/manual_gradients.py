"""The gradient of the loss, derived by hand in NumPy: several times faster than autograd on small networks.

Its losses and gradients are those of ``ppo.algorithm.losses``; the tests hold both to 1e-10 in float64. Buffers are
used again. The k networks, policy and value or the policy alone, have the same hidden layers, so each backward
product is taken once for all, ``[k, n, width]``. Float64 is kept for the forward pass to the log-probabilities: in
float32 a gradient is off by 1e-7 of itself, a ratio of probabilities at a std of 1e-4 by 1e-2.
"""

import dataclasses

import numpy as np
import torch
from numpy.typing import DTypeLike

from actors.policy import ACTIVATIONS, LOG_SQRT_2PI, RAW_LOG_STD_MAX
from actors.snapshot import NetworkSpec
from ppo.algorithm.components import gate_slopes
from ppo.algorithm.losses import Batch, ratio_statistics
from ppo.algorithm.stacked_layers import Buffers, Views
from ppo.config import ResolvedConfig


class ManualGradients:
    """Values of a batch, and the gradient of the loss, by NumPy. It takes the arguments of ``AutogradGradients``.

    Args:
        dtype: type of the value network and of the gradient.

    Attributes:
        parameters: the agent's own.
    """

    device = None  # NumPy's arrays, in the processor's memory

    def __init__(
        self,
        policy: NetworkSpec,
        value: NetworkSpec | None,
        parameters: torch.Tensor,
        config: ResolvedConfig,
        dtype: DTypeLike = np.float32,
    ):
        self.policy, self.value, self.config, self._dtype = policy, value, config, dtype
        self.parameters = parameters.numpy()
        self._policy_layers = policy.views(self.parameters[: policy.size])
        self._rounded = np.empty(len(parameters), dtype)
        self._layers = Views.of(self._rounded, policy, value)
        self._gradient = np.zeros(len(parameters), dtype)
        self._slopes = Views.of(self._gradient, policy, value)
        self._buffers = Buffers(policy, len(self._layers.heads), dtype)
        self._activation = ACTIVATIONS[policy.activation]

    def begin(self, batch: Batch) -> Batch:
        """Returns the batch as it is; parameters and batch are where it computes already."""
        return batch

    def sent(self, array: np.ndarray) -> np.ndarray:
        """Returns the array as it is."""
        return array

    def end(self) -> None:
        """The parameters are the agent's own."""

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``, float64."""
        assert self.value is not None
        self._rounded[:] = self.parameters
        buffers = self._buffers.fit(len(obs))
        buffers.obs[:] = obs
        return self._value_forward(buffers).astype(np.float64)

    def gradient(self, batch: Batch, std_floor: float, log: bool) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the gradient of the loss over a minibatch, ``[size]``, and if ``log`` what is logged of it.

        The next call overwrites the gradient.
        """
        self._rounded[:] = self.parameters
        buffers = self._buffers.fit(len(batch.obs))
        buffers.obs[:] = batch.obs
        out = self._policy_forward(batch.obs, buffers)
        head = self._categorical if self.policy.head == "categorical" else self._gaussian
        if batch.gate is not None:
            head = self._components
        d_out, losses = head(out, batch, std_floor, log)
        slopes = [d_out.astype(self._dtype)]
        if self.value is not None:
            d_values = self._value_slope(self._value_forward(buffers), batch, losses, log)
            slopes.append(d_values[:, None].astype(self._dtype))
        self._backward(buffers, slopes)
        return self._gradient, losses

    def _policy_forward(self, obs: np.ndarray, buffers: Buffers) -> np.ndarray:
        """Returns the policy's outputs, ``[n, outputs]``, float64."""
        *hidden, (weight, bias) = self._policy_layers
        x = obs
        for (w, b), h, rounded in zip(hidden, buffers.policy, buffers.all, strict=True):
            np.matmul(x, w, out=h)
            h += b
            x = self._activation(h, out=h)
            rounded[0] = h
        return x @ weight + bias

    def _value_forward(self, buffers: Buffers) -> np.ndarray:
        """Returns the value's outputs, ``[n]``."""
        x = buffers.obs
        for (w, b), activations in zip(self._layers.hidden, buffers.all, strict=True):
            h = activations[1]
            np.matmul(x, w[1], out=h)
            h += b[1]
            x = self._activation(h, out=h)
        weight, bias = self._layers.heads[1]
        return (x @ weight + bias)[:, 0]

    def _backward(self, buffers: Buffers, slopes: list[np.ndarray]) -> None:
        """Computes the gradient from the slopes of the loss at each network's outputs, ``[n, outputs]``."""
        depth = len(buffers.all)
        d = np.empty((len(slopes), 0, 0))
        for i, slope in enumerate(slopes):
            (weight, _), (d_weight, d_bias) = self._layers.heads[i], self._slopes.heads[i]
            last = buffers.all[-1][i] if depth else buffers.obs
            np.matmul(last.T, slope, out=d_weight)
            np.matmul(buffers.ones, slope, out=d_bias[None])
            if depth:
                d = buffers.slopes[-1]
                np.matmul(slope, weight.T, out=d[i])
        for number in reversed(range(depth)):
            h = buffers.all[number]
            if self.policy.activation == "tanh":
                h *= h  # the activation itself is not needed any more
                np.subtract(1, h, out=h)
                d *= h
            else:
                d *= h > 0
            d_weight, d_bias = self._slopes.hidden[number]
            below = buffers.all[number - 1].transpose(0, 2, 1) if number else buffers.obs.T
            np.matmul(below, d, out=d_weight)
            np.matmul(buffers.ones, d, out=d_bias)
            if number:
                d = np.matmul(d, self._layers.hidden[number][0].transpose(0, 2, 1), out=buffers.slopes[number - 1])

    def _gaussian(
        self, out: np.ndarray, batch: Batch, std_floor: float, log: bool
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the slope of the loss at the outputs, ``[n, 2 * action_dim]``, and the losses."""
        n, dim = len(out), self.policy.action_dim
        unlimited = out[:, dim:]
        raw = np.minimum(unlimited, RAW_LOG_STD_MAX)
        raw *= 2
        raw_var = np.exp(raw, out=raw)
        var = raw_var + std_floor**2
        log_var = np.log(var)
        deviation = batch.actions - out[:, :dim]
        pull = deviation / var
        z2 = np.multiply(deviation, pull, out=deviation)
        total = (z2 + log_var).sum(axis=1)
        total *= -0.5
        total -= dim * LOG_SQRT_2PI
        slope, losses = self._policy_slope(total, batch, log)
        column = slope[:, None]
        d_out = np.empty((n, 2 * dim))
        np.multiply(column, pull, out=d_out[:, :dim])
        z2 -= 1
        z2 *= column
        if self.config.ent_coef:
            z2 -= self.config.ent_coef / n
        raw_var /= var  # slope of the log std at the raw one
        z2 *= raw_var
        np.multiply(z2, unlimited <= RAW_LOG_STD_MAX, out=d_out[:, dim:])
        if log:
            losses["entropy"] = float(0.5 * log_var.sum() / n + dim * (LOG_SQRT_2PI + 0.5))
        return d_out, losses

    def _components(
        self, out: np.ndarray, batch: Batch, std_floor: float, log: bool
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the slope of the loss at the outputs of several Gaussians and their gate, and the losses."""
        gate, count = batch.gate, self.policy.components
        assert gate is not None, "only called with one"
        own = self.policy.own_outputs(gate.components)
        rows = np.arange(len(out))[:, None]
        of_gaussian = dataclasses.replace(batch, logprobs=batch.logprobs - gate.logprobs)
        d_own, losses = self._gaussian(out[rows, own], of_gaussian, std_floor, log)
        d_out = np.zeros_like(out)
        d_out[rows, own] = d_own
        d_out[:, -count:], gate_loss = gate_slopes(out[:, -count:], gate, self.config.clip_coef)
        if log:
            losses["gate_loss"] = gate_loss
        return d_out, losses

    def _categorical(
        self, out: np.ndarray, batch: Batch, std_floor: float, log: bool
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the slope of the loss at the logits, ``[n, sum of the choices]``, and the losses."""
        log_p = np.empty_like(out)
        for part in self.policy.logits:
            log_p[:, part] = out[:, part] - out[:, part].max(axis=1, keepdims=True)
            log_p[:, part] -= np.log(np.exp(log_p[:, part]).sum(axis=1, keepdims=True))
        rows = np.arange(len(out))[:, None]
        columns = batch.actions.astype(np.int64) + [part.start for part in self.policy.logits]
        slope, losses = self._policy_slope(log_p[rows, columns].sum(axis=1), batch, log)
        p = np.exp(log_p)
        d_out = -slope[:, None] * p
        d_out[rows, columns] += slope[:, None]
        entropy = 0.0
        for part in self.policy.logits:
            entropies = -(p[:, part] * log_p[:, part]).sum(axis=1, keepdims=True)
            d_out[:, part] += (self.config.ent_coef / len(out)) * p[:, part] * (log_p[:, part] + entropies)
            entropy += float(entropies.mean())
        if log:
            losses["entropy"] = entropy
        return d_out, losses

    def _policy_slope(self, logprobs: np.ndarray, batch: Batch, log: bool) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the slope of the policy loss at the log-probabilities, ``[n]``, and the losses."""
        n, clip = len(logprobs), self.config.clip_coef
        logratio = logprobs - batch.logprobs
        losses = ratio_statistics(logratio, clip) if log else {}
        if self.config.algo == "reinforce":
            if log:
                losses["policy_loss"] = -float(batch.advantages @ logprobs) / n
            return batch.advantages / -n, losses
        ratio = np.exp(logratio, out=logratio)
        weights = batch.advantages / -n
        free = weights * ratio
        clipped = np.minimum(ratio, 1 + clip)
        np.maximum(clipped, 1 - clip, out=clipped)
        clipped *= weights
        if log:
            losses["policy_loss"] = float(np.maximum(free, clipped).sum())
        free *= free >= clipped
        return free, losses

    def _value_slope(self, values: np.ndarray, batch: Batch, losses: dict[str, float], log: bool) -> np.ndarray:
        """Returns the slope of the weighted value loss at the values, ``[n]``; adds the loss to ``losses``."""
        assert batch.returns is not None and batch.values is not None
        slope = values - batch.returns
        squared = slope * slope if log or self.config.clip_vloss else slope
        if self.config.clip_vloss:
            limit = self.config.clip_coef
            change = values - batch.values
            moved = batch.values + np.clip(change, -limit, limit) - batch.returns
            slope = np.where(moved * moved > squared, moved * (np.abs(change) <= limit), slope)
            squared = np.maximum(squared, moved * moved)
        if log:
            losses["value_loss"] = 0.5 * float(squared.mean())
        slope *= self.config.vf_coef / len(values)
        return slope
