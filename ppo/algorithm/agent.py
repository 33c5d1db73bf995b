"""The agent: parameters, optimiser, and one update from a batch. PPO, or REINFORCE with a value baseline."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch

from actors.seeding import Stream, generator
from actors.snapshot import NetworkSpec
from ppo.algorithm.adam import Adam
from ppo.algorithm.components import first_means, frozen, label_components
from ppo.algorithm.device import Array
from ppo.algorithm.losses import AutogradGradients, Batch, normalised_advantages
from ppo.algorithm.manual_gradients import ManualGradients
from ppo.algorithm.network import initial_parameters, logprobs_and_entropy
from ppo.algorithm.not_finite import check_array, check_minibatch
from ppo.algorithm.state import State, part_of, prefixed
from ppo.algorithm.update_damping import UpdateDamping
from ppo.config import ResolvedConfig

LOGGED = ("policy_loss", "value_loss", "gate_loss", "entropy", "approx_kl", "clipfrac")


class Agent:
    """Policy and value network in one flat vector, and Adam. Leave-one-out advantages need no value network.

    Args:
        policy: the policy's network.
        config: what to train.

    Attributes:
        value: the value network, or None.
        parameters: the policy's, then the value's; float64, ``[policy.size + value.size]``.
        adam: the optimiser.
        damping: damps the updates of a training step.
    """

    def __init__(self, policy: NetworkSpec, config: ResolvedConfig):
        self.policy = policy
        self.value: NetworkSpec | None = None
        self.config = config
        draws = generator(config.seed, 0, Stream.INIT)
        rng = torch.Generator().manual_seed(int(draws.integers(2**62)))
        means = first_means(policy.components, policy.action_dim, draws) if policy.components > 1 else None
        knobs = policy.action_dim if config.first_layer == "law" else None
        parts = [initial_parameters(self.policy, rng, config.init_std, knobs, means)]
        if config.advantages != "slot":
            self.value = NetworkSpec(policy.obs_dim, policy.hidden_sizes, policy.activation, "value", 1)
            parts.append(initial_parameters(self.value, rng))
        parameters = torch.cat(parts)
        self.parameters = parameters.numpy()  # the same memory
        if policy.labelled:
            label_components(policy, self.theta)
        manual = config.gradients == "manual"
        backend: type[ManualGradients | AutogradGradients] = ManualGradients if manual else AutogradGradients
        self._networks = networks = backend(self.policy, self.value, parameters, config)
        self.adam = Adam(len(self.parameters), np.float32 if manual else np.float64, networks.device)
        self.damping = UpdateDamping(len(self.parameters), config.update_damping)
        labels = frozen(policy)
        self._frozen = None if labels is None else networks.sent(labels)

    @property
    def theta(self) -> np.ndarray:
        """The policy's parameters, ``[policy.size]``; a view."""
        return self.parameters[: self.policy.size]

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``."""
        return self._networks.values(obs)

    def logprobs(self, obs: np.ndarray, actions: np.ndarray, std_floor: float) -> np.ndarray:
        """Returns the log-probabilities of actions ``[n, action_dim]`` at normalised observations, ``[n]``."""
        theta, rows, acted = map(torch.from_numpy, (self.theta, obs, actions))
        return logprobs_and_entropy(self.policy, theta, std_floor, rows, acted)[0].numpy()

    def state(self) -> State:
        """Returns the parameters, and the states of the optimiser and of the damping."""
        parts = {**prefixed("adam", self.adam.state()), **prefixed("damping", self.damping.state())}
        return {"parameters": self.parameters.copy(), **parts}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.warm_start(state)
        self.adam.restore(part_of("adam", state))
        self.damping.restore(part_of("damping", state))

    def warm_start(self, state: State) -> None:
        """Takes over the parameters alone."""
        self.parameters[:] = state["parameters"]

    def update(
        self, batch: Batch, step: int, learning_rate: float, std_floor: float, epochs: int | None = None
    ) -> dict[str, float]:
        """Takes the gradient steps of one training step; changes the parameters in place.

        Args:
            batch: the data.
            step: training step, the key of the shuffles.
            learning_rate: Adam's step size in this training step.
            std_floor: of the policy that is updated.
            epochs: passes over the batch; None for those of the configuration.

        Returns:
            ``losses/...`` averaged over the minibatches of the last epoch, and ``losses/initial_logratio``, the
            largest difference between the log-probabilities of driver and learner before the first gradient step: with
            a lag, how far the policy has moved since.

        Raises:
            NotFiniteError: a loss, a gradient or a parameter is not finite; the state is that in the middle of it.
        """
        config, networks, initial_logratio, first = self.config, self._networks, 0.0, self.adam.steps
        before, batch = self.parameters.copy(), networks.begin(batch)
        epochs = epochs or config.update_epochs
        stats: list[dict[str, float]] = []
        if config.num_minibatches == 1:  # the same minibatch in every epoch
            batch = self._prepared(batch)
        for epoch in range(epochs):
            log = epoch in (0, epochs - 1) or config.target_kl is not None
            stats = []
            for minibatch in self._minibatches(batch, step, epoch):
                gradient, stat = networks.gradient(minibatch, std_floor, log)
                if self._frozen is not None:
                    gradient[: len(self._frozen)][self._frozen] = 0.0
                norm = float(gradient @ gradient) ** 0.5
                check_minibatch(step, minibatch, stat, norm)
                if self.adam.steps == first:
                    initial_logratio = stat["max_logratio"]
                self.adam.step(networks.parameters, self._limited(gradient, norm), learning_rate)
                stats.append(stat)
            if config.target_kl is not None and np.mean([stat["approx_kl"] for stat in stats]) > config.target_kl:
                break
        networks.end()
        if config.update_damping:
            self.damping.damp(self.parameters, before, learning_rate)
        check_array(step, "the parameters; a smaller --learning-rate or --max-grad-norm may help", self.parameters)
        losses = {
            f"losses/{name}": float(np.mean([stat[name] for stat in stats])) for name in LOGGED if name in stats[0]
        }
        return losses | {"losses/initial_logratio": initial_logratio}

    def _prepared(self, minibatch: Batch) -> Batch:
        """Normalises the advantages of a minibatch, if they are to be."""
        if not self.config.norm_adv:
            return minibatch
        return dataclasses.replace(minibatch, advantages=normalised_advantages(minibatch.advantages))

    def _limited(self, gradient: Array, norm: float) -> Array:
        """Scales the gradient down, in place, where its norm is above the limit."""
        limit = self.config.max_grad_norm
        if limit and norm > limit:
            gradient *= limit / norm
        return gradient

    def _minibatches(self, batch: Batch, step: int, epoch: int) -> Iterator[Batch]:
        """Yields the minibatches of an epoch, reshuffled by its key."""
        count = self.config.num_minibatches
        if count == 1:
            yield batch
            return
        order = generator(self.config.seed, step, Stream.MINIBATCHES, epoch).permutation(len(batch.obs))
        for index in np.array_split(order, count):
            yield self._prepared(batch.rows(self._networks.sent(index)))
