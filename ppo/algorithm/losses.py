"""The losses, and the data that they are of."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ppo.algorithm.components import GateBatch
from ppo.algorithm.device import Array, sent


@dataclass(frozen=True)
class Batch:
    """A training step's data, slots and time steps flattened to ``n`` rows; NumPy's arrays, or tensors on a device.

    Attributes:
        obs: as the policy saw them, normalised, ``[n, obs_dim]``.
        actions: ``[n, action_dim]``.
        logprobs: under the policy that acted, ``[n]``.
        advantages: ``[n]``.
        returns: targets of the value, ``[n]``; None where there is no value network.
        values: estimates before the update, ``[n]``, or None.
        gate: what several components have beside this; None for one. ``logprobs`` includes the gate's.
    """

    obs: Array
    actions: Array
    logprobs: Array
    advantages: Array
    returns: Array | None = None
    values: Array | None = None
    gate: GateBatch | None = None

    def rows(self, index: Array) -> "Batch":
        """Returns the minibatch of these rows."""
        return dataclasses.replace(self._each(lambda array: array[index]), gate=self.gate and self.gate.rows(index))

    def sent(self, device: torch.device) -> "Batch":
        """Returns the batch as tensors on a device."""
        return dataclasses.replace(
            self._each(lambda array: sent(array, device)), gate=self.gate and self.gate.sent(device)
        )

    def _each(self, function: Callable[[Array], Array]) -> "Batch":
        """Returns the batch with a function of each of its own arrays."""
        arrays = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "gate"}
        return dataclasses.replace(self, **{name: function(a) for name, a in arrays.items() if a is not None})


def clipped_surrogate(logratio: torch.Tensor, advantages: torch.Tensor, clip_coef: float) -> torch.Tensor:
    """Returns PPO's policy loss (Schulman et al. 2017, arXiv 1707.06347, eq. 7), negated to be minimised; a scalar."""
    ratio = logratio.exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return torch.maximum(-advantages * ratio, -advantages * clipped).mean()


def reinforce_loss(logprobs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """Returns the loss of REINFORCE with a baseline (Williams 1992), a scalar."""
    return -(advantages * logprobs).mean()


def value_loss(
    values: torch.Tensor, old_values: torch.Tensor, returns: torch.Tensor, clip_coef: float | None
) -> torch.Tensor:
    """Returns half the mean squared error; with ``clip_coef``, the worse of it and that of values moved no further."""
    error = (values - returns) ** 2
    if clip_coef is not None:
        moved = old_values + (values - old_values).clamp(-clip_coef, clip_coef)
        error = torch.maximum(error, (moved - returns) ** 2)
    return 0.5 * error.mean()


def normalised_advantages(advantages: Array) -> Array:
    """Returns advantages with mean 0 and standard deviation 1."""
    std = advantages.std() if isinstance(advantages, np.ndarray) else advantages.std(correction=0)
    return (advantages - advantages.mean()) / (std + 1e-8)


def gate_surrogate(logprobs: torch.Tensor, gate: GateBatch, clip_coef: float) -> torch.Tensor:
    """Returns the gate's loss, a scalar, from its log-probabilities of the components that acted, ``[n]``."""
    return clipped_surrogate(logprobs - gate.logprobs, gate.advantages * gate.weights, clip_coef)


def ratio_statistics(logratio: np.ndarray, clip_coef: float) -> dict[str, float]:
    """Measures how far a policy has moved from the one that acted, from ``[n]`` log importance ratios."""
    ratio = np.exp(logratio)
    return {
        "approx_kl": float((ratio - 1 - logratio).mean()),  # Schulman's k3: never negative, low variance
        "clipfrac": float((np.abs(ratio - 1) > clip_coef).mean()),
        "max_logratio": float(np.abs(logratio).max()),
    }


def explained_variance(values: np.ndarray, returns: np.ndarray) -> float:
    """Returns 1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than the mean, below 0 worse."""
    variance = np.var(returns)
    return float(1 - np.var(returns - values) / variance) if variance > 0 else 0.0
