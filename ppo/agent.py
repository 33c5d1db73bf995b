"""The agent: parameters, optimiser, and one update from a batch. PPO, or REINFORCE with a value baseline."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from actors.keys import Stream, generator
from actors.snapshot import NetworkSpec
from ppo.config import Config
from ppo.network import forward, initial_parameters, logprobs_and_entropy

ADAM_EPSILON = 1e-5


@dataclass(frozen=True)
class Batch:
    """A training step's data, slots and time steps flattened to ``n`` rows.

    Attributes:
        obs: as the policy saw them, normalised, ``[n, obs_dim]``.
        actions: ``[n, action_dim]``.
        logprobs: under the policy that acted, ``[n]``.
        advantages: ``[n]``.
        returns: targets of the value, ``[n]``.
        values: estimates before the update, ``[n]``.
    """

    obs: torch.Tensor
    actions: torch.Tensor
    logprobs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    values: torch.Tensor

    def rows(self, index: torch.Tensor) -> "Batch":
        """The minibatch of these rows."""
        return Batch(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def clipped_surrogate(logratio: torch.Tensor, advantages: torch.Tensor, clip_coef: float) -> torch.Tensor:
    """PPO's policy loss (Schulman et al. 2017, arXiv 1707.06347, eq. 7), negated to be minimised; a scalar."""
    ratio = logratio.exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return torch.maximum(-advantages * ratio, -advantages * clipped).mean()


def reinforce_loss(logprobs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """REINFORCE with a baseline (Williams 1992): the advantages are returns minus values; a scalar."""
    return -(advantages * logprobs).mean()


def value_loss(
    values: torch.Tensor, old_values: torch.Tensor, returns: torch.Tensor, clip_coef: float | None
) -> torch.Tensor:
    """Half the mean squared error; with a ``clip_coef``, the worse of it and that of values moved no further."""
    error = (values - returns) ** 2
    if clip_coef is not None:
        moved = old_values + (values - old_values).clamp(-clip_coef, clip_coef)
        error = torch.maximum(error, (moved - returns) ** 2)
    return 0.5 * error.mean()


def normalised_advantages(advantages: torch.Tensor) -> torch.Tensor:
    """Advantages with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)


class Agent:
    """Policy and value network in one flat vector, and Adam.

    Args:
        policy: the policy's network.
        config: resolved.
    """

    def __init__(self, policy: NetworkSpec, config: Config):
        self.policy = policy
        self.value = NetworkSpec(policy.obs_dim, policy.hidden_sizes, policy.activation, "value", 1)
        self.config = config
        seed = int(generator(config.seed, 0, Stream.INIT).integers(2**62))
        rng = torch.Generator().manual_seed(seed)
        parts = [initial_parameters(self.policy, rng, config.init_std), initial_parameters(self.value, rng)]
        self.parameters = torch.cat(parts).requires_grad_()
        assert config.learning_rate is not None
        self.optimizer = torch.optim.Adam([self.parameters], config.learning_rate, eps=ADAM_EPSILON, fused=True)

    @property
    def theta(self) -> np.ndarray:
        """The policy's parameters, ``[policy.size]``; a view."""
        return self.parameters.detach().numpy()[: self.policy.size]

    def values(self, obs: torch.Tensor) -> np.ndarray:
        """V of normalised observations, ``[n]``."""
        with torch.no_grad():
            return forward(self.value, self.parameters[self.policy.size :], obs)[:, 0].numpy()

    def update(self, batch: Batch, step: int, learning_rate: float, std_floor: float) -> dict[str, float]:
        """Takes the gradient steps of one training step; changes the parameters in place.

        Args:
            batch: the data.
            step: training step, the key of the shuffles.
            learning_rate: Adam's step size in this training step.
            std_floor: of the policy that acted.

        Returns:
            ``losses/...`` averaged over the minibatches of the last epoch, and ``losses/initial_logratio``, the
            largest difference between the log-probabilities of driver and learner before the first gradient step.
        """
        self.optimizer.param_groups[0]["lr"] = learning_rate
        initial_logratio: float | None = None
        stats: list[dict[str, float]] = []
        for epoch in range(self.config.update_epochs or 1):
            stats = []
            for minibatch in self._minibatches(batch, step, epoch):
                loss, stat = self._loss(minibatch, std_floor)
                if initial_logratio is None:
                    initial_logratio = stat["max_logratio"]
                self.optimizer.zero_grad()
                loss.backward()
                if self.config.max_grad_norm:
                    torch.nn.utils.clip_grad_norm_([self.parameters], self.config.max_grad_norm)
                self.optimizer.step()
                stats.append(stat)
            approx_kl = float(np.mean([stat["approx_kl"] for stat in stats]))
            if self.config.target_kl is not None and approx_kl > self.config.target_kl:
                break
        if not torch.isfinite(self.parameters).all():
            raise FloatingPointError(f"training step {step}: the parameters are no longer finite")
        losses = {f"losses/{name}": float(np.mean([stat[name] for stat in stats])) for name in stats[0]}
        del losses["losses/max_logratio"]
        return losses | {"losses/initial_logratio": float(initial_logratio or 0.0)}

    def _minibatches(self, batch: Batch, step: int, epoch: int) -> Iterator[Batch]:
        count = self.config.num_minibatches or 1
        if count == 1:
            yield batch
            return
        order = generator(self.config.seed, step, Stream.MINIBATCHES, epoch).permutation(len(batch.obs))
        for index in np.array_split(order, count):
            yield batch.rows(torch.from_numpy(index))

    def _loss(self, mb: Batch, std_floor: float) -> tuple[torch.Tensor, dict[str, float]]:
        config, split = self.config, self.policy.size
        logprobs, entropies = logprobs_and_entropy(self.policy, self.parameters[:split], std_floor, mb.obs, mb.actions)
        values = forward(self.value, self.parameters[split:], mb.obs)[:, 0]
        advantages = normalised_advantages(mb.advantages) if config.norm_adv else mb.advantages
        logratio = logprobs - mb.logprobs
        if config.algo == "ppo":
            pg_loss = clipped_surrogate(logratio, advantages, config.clip_coef)
        else:
            pg_loss = reinforce_loss(logprobs, advantages)
        v_loss = value_loss(values, mb.values, mb.returns, config.clip_coef if config.clip_vloss else None)
        entropy = entropies.mean()
        loss = pg_loss + config.vf_coef * v_loss - config.ent_coef * entropy
        with torch.no_grad():
            ratio = logratio.exp()
            stat = {
                "policy_loss": pg_loss.item(),
                "value_loss": v_loss.item(),
                "entropy": entropy.item(),
                "approx_kl": (ratio - 1 - logratio).mean().item(),  # Schulman's k3: never negative, low variance
                "clipfrac": ((ratio - 1).abs() > config.clip_coef).double().mean().item(),
                "max_logratio": logratio.abs().max().item(),
            }
        return loss, stat
