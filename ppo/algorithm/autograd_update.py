"""The gradient steps by torch's autograd, in float64: slower on small networks than the compiled ones, and readable."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ppo.algorithm.adam import Adam
from ppo.algorithm.device import fetched, sent
from ppo.algorithm.gradient_steps import GradientSteps, Taken, Update
from ppo.algorithm.losses import (
    Batch,
    clipped_surrogate,
    gate_surrogate,
    ratio_statistics,
    reinforce_loss,
    value_loss,
)
from ppo.algorithm.network import forward, gate_logprobs, logprobs_and_entropy
from ppo.algorithm.not_finite import check_minibatch


class AutogradUpdate(Update):
    """Gradient steps by torch on a device.

    The device has parameters of its own, on the processor too: an update begins with the agent's and ends with giving
    them back.

    Attributes:
        device: where it computes.
        parameters: what an update changes, on the device.
    """

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.device = torch.device(self.config.device)
        self.parameters = self._given.to(self.device, copy=True)
        self.adam = Adam(len(self.parameters), np.float64, self.device)
        self._untrained = None if self._frozen is None else sent(self._frozen, self.device)

    def prepare(self) -> None:
        """There is nothing to do."""

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``, float64."""
        assert self.value is not None
        self.parameters.copy_(self._given)
        return forward(self.value, self.parameters[self.policy.size :], sent(obs, self.device))[:, 0].cpu().numpy()

    def take(self, batch: Batch, steps: GradientSteps) -> Taken:
        """Takes the gradient steps; raises as ``Update`` says."""
        config, initial_logratio = self.config, None
        losses: list[dict[str, float]] = []
        self.parameters.copy_(self._given)
        batch = batch.sent(self.device)
        if steps.order is None:  # the same minibatch in every epoch
            batch = self._prepared(batch)
        for epoch in range(steps.epochs):
            log = epoch in (0, steps.epochs - 1) or config.target_kl is not None
            losses = []
            for minibatch in self._minibatches(batch, steps, epoch):
                gradient, stat = self.gradient(minibatch, steps.std_floor, log)
                if self._untrained is not None:
                    gradient[: len(self._untrained)][self._untrained] = 0.0
                norm = float(gradient @ gradient) ** 0.5
                check_minibatch(steps.key, minibatch, stat, norm)
                if initial_logratio is None:
                    initial_logratio = stat["max_logratio"]
                self.adam.step(self.parameters, self._limited(gradient, norm), steps.learning_rate)
                losses.append(stat)
            if config.target_kl is not None and np.mean([stat["approx_kl"] for stat in losses]) > config.target_kl:
                break
        self._given.copy_(self.parameters)
        return Taken(losses, initial_logratio or 0.0)

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
            gate_loss = gate_surrogate(
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

    def _minibatches(self, batch: Batch, steps: GradientSteps, epoch: int) -> Iterator[Batch]:
        """Yields the minibatches of an epoch."""
        if steps.order is None:
            yield batch
            return
        for index in steps.minibatches(epoch):
            yield self._prepared(batch.rows(sent(index, self.device)))

    def _limited(self, gradient: torch.Tensor, norm: float) -> torch.Tensor:
        """Scales the gradient down, in place, where its norm is above the limit."""
        limit = self.config.max_grad_norm
        if limit and norm > limit:
            gradient *= limit / norm
        return gradient
