"""The losses, and their gradient by torch's autograd: the readable version of ``manual_gradients``."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from actors.snapshot import NetworkSpec
from ppo.algorithm.components import GateBatch
from ppo.algorithm.network import forward, gate_logprobs, logprobs_and_entropy
from ppo.config import ResolvedConfig


@dataclass(frozen=True)
class Batch:
    """A training step's data, slots and time steps flattened to ``n`` rows.

    Attributes:
        obs: as the policy saw them, normalised, ``[n, obs_dim]``.
        actions: ``[n, action_dim]``.
        logprobs: under the policy that acted, ``[n]``.
        advantages: ``[n]``.
        returns: targets of the value, ``[n]``; None where there is no value network.
        values: estimates before the update, ``[n]``, or None.
        gate: what several components have beside this; None for one. ``logprobs`` includes the gate's.
    """

    obs: np.ndarray
    actions: np.ndarray
    logprobs: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray | None = None
    values: np.ndarray | None = None
    gate: GateBatch | None = None

    def rows(self, index: np.ndarray) -> "Batch":
        """Returns the minibatch of these rows."""
        arrays = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "gate"}
        chosen = {name: a[index] for name, a in arrays.items() if a is not None}
        return dataclasses.replace(self, **chosen, gate=self.gate and self.gate.rows(index))


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


def normalised_advantages(advantages: np.ndarray) -> np.ndarray:
    """Returns advantages with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


class AutogradGradients:
    """Values of a batch, and the gradient of the loss, by torch.

    Args:
        policy, value: the networks; ``parameters`` holds the policy's and then the value's, if there is one.
        parameters: ``[policy.size + value.size]``, float64.
        config: what to train.
    """

    def __init__(
        self, policy: NetworkSpec, value: NetworkSpec | None, parameters: torch.Tensor, config: ResolvedConfig
    ):
        self.policy, self.value, self.config = policy, value, config
        self._parameters = parameters.detach().requires_grad_()  # the same memory

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``."""
        assert self.value is not None
        with torch.no_grad():
            return forward(self.value, self._parameters[self.policy.size :], torch.from_numpy(obs))[:, 0].numpy()

    def gradient(self, batch: Batch, std_floor: float, log: bool) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the gradient of the loss over a minibatch, ``[size]``, and if ``log`` what is logged of it."""
        config, split = self.config, self.policy.size
        arrays = (batch.obs, batch.actions, batch.logprobs, batch.advantages)
        obs, actions, old_logprobs, advantages = map(torch.from_numpy, arrays)
        components = None if batch.gate is None else torch.from_numpy(batch.gate.components)
        flat = self._parameters[:split]
        logprobs, entropies = logprobs_and_entropy(self.policy, flat, std_floor, obs, actions, components)
        if batch.gate is not None:
            old_logprobs = old_logprobs - torch.from_numpy(batch.gate.logprobs)
        logratio = logprobs - old_logprobs
        if config.algo == "ppo":
            pg_loss = clipped_surrogate(logratio, advantages, config.clip_coef)
        else:
            pg_loss = reinforce_loss(logprobs, advantages)
        entropy = entropies.mean()
        loss, losses = pg_loss - config.ent_coef * entropy, {}
        if batch.gate is not None:
            gate_loss = _gate_loss(gate_logprobs(self.policy, flat, obs, batch.gate), batch.gate, config.clip_coef)
            loss, losses = loss + gate_loss, {"gate_loss": gate_loss.item()}
        if self.value is not None and batch.returns is not None and batch.values is not None:
            values = forward(self.value, self._parameters[split:], obs)[:, 0]
            old_values, returns = torch.from_numpy(batch.values), torch.from_numpy(batch.returns)
            v_loss = value_loss(values, old_values, returns, config.clip_coef if config.clip_vloss else None)
            loss, losses = loss + config.vf_coef * v_loss, losses | {"value_loss": v_loss.item()}
        (gradient,) = torch.autograd.grad(loss, self._parameters)
        if not log:
            return gradient.numpy(), {}
        losses |= {"policy_loss": pg_loss.item(), "entropy": entropy.item()}
        return gradient.numpy(), losses | ratio_statistics(logratio.detach().numpy(), config.clip_coef)


def _gate_loss(logprobs: torch.Tensor, gate: GateBatch, clip_coef: float) -> torch.Tensor:
    """Returns the gate's loss, a scalar, from its log-probabilities of the components that acted, ``[n]``."""
    logratio = logprobs - torch.from_numpy(gate.logprobs)
    return clipped_surrogate(logratio, torch.from_numpy(gate.advantages * gate.weights), clip_coef)


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
