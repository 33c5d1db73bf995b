"""The losses, and their gradient by torch's autograd: the readable version of ``manual_gradients``."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from actors.snapshot import NetworkSpec
from ppo.algorithm.components import GateBatch
from ppo.algorithm.device import Array, fetched, sent
from ppo.algorithm.network import forward, gate_logprobs, logprobs_and_entropy
from ppo.config import ResolvedConfig


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


class AutogradGradients:
    """Values of a batch, and the gradient of the loss, by torch on a device, in float64.

    The device has parameters of its own, on the processor too: an update begins with the agent's and ends with giving
    them back.

    Args:
        policy, value: the networks; ``parameters`` holds the policy's and then the value's, if there is one.
        parameters: the agent's, ``[policy.size + value.size]``, float64.
        config: what to train.

    Attributes:
        device: where it computes.
        parameters: what an update changes, on the device.
    """

    def __init__(
        self, policy: NetworkSpec, value: NetworkSpec | None, parameters: torch.Tensor, config: ResolvedConfig
    ):
        self.policy, self.value, self.config = policy, value, config
        self.device = torch.device(config.device)
        self._given, self.parameters = parameters, parameters.to(self.device, copy=True)

    def begin(self, batch: Batch) -> Batch:
        """Takes over the agent's parameters, and returns the batch on the device."""
        self.parameters.copy_(self._given)
        return batch.sent(self.device)

    def sent(self, array: np.ndarray) -> torch.Tensor:
        """Returns an array on the device."""
        return sent(array, self.device)

    def end(self) -> None:
        """Gives the parameters back to the agent."""
        self._given.copy_(self.parameters)

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``."""
        assert self.value is not None
        self.parameters.copy_(self._given)
        return forward(self.value, self.parameters[self.policy.size :], self.sent(obs))[:, 0].cpu().numpy()

    def gradient(self, batch: Batch, std_floor: float, log: bool) -> tuple[torch.Tensor, dict[str, float]]:
        """Returns the gradient of the loss over a minibatch, ``[size]``, and if ``log`` what is logged of it.

        Nothing waits for the device unless something is logged.
        """
        config, split, old_logprobs = self.config, self.policy.size, batch.logprobs
        parameters = self.parameters.detach().requires_grad_()  # the same memory
        flat, components = parameters[:split], None if batch.gate is None else batch.gate.components
        logprobs, entropies = logprobs_and_entropy(self.policy, flat, std_floor, batch.obs, batch.actions, components)
        if batch.gate is not None:
            old_logprobs = old_logprobs - batch.gate.logprobs
        logratio = logprobs - old_logprobs
        if config.algo == "ppo":
            pg_loss = clipped_surrogate(logratio, batch.advantages, config.clip_coef)
        else:
            pg_loss = reinforce_loss(logprobs, batch.advantages)
        losses = {"policy_loss": pg_loss, "entropy": entropies.mean()}
        loss = pg_loss - config.ent_coef * losses["entropy"]
        if batch.gate is not None:
            gate_loss = _gate_loss(
                gate_logprobs(self.policy, flat, batch.obs, batch.gate), batch.gate, config.clip_coef
            )
            loss, losses = loss + gate_loss, losses | {"gate_loss": gate_loss}
        if self.value is not None and batch.returns is not None and batch.values is not None:
            values = forward(self.value, parameters[split:], batch.obs)[:, 0]
            v_loss = value_loss(values, batch.values, batch.returns, config.clip_coef if config.clip_vloss else None)
            loss, losses = loss + config.vf_coef * v_loss, losses | {"value_loss": v_loss}
        (gradient,) = torch.autograd.grad(loss, parameters)
        if not log:
            return gradient, {}
        logged = {name: one.item() for name, one in losses.items()}
        return gradient, logged | ratio_statistics(fetched(logratio.detach()), config.clip_coef)


def _gate_loss(logprobs: torch.Tensor, gate: GateBatch, clip_coef: float) -> torch.Tensor:
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
