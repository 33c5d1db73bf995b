"""The agent: parameters, optimiser, and one update from a batch. PPO, or REINFORCE with a value baseline."""

import numpy as np
import torch

from actors.seeding import Stream, generator
from actors.snapshot import NetworkSpec
from ppo.algorithm.adam import Adam
from ppo.algorithm.autograd_update import AutogradUpdate
from ppo.algorithm.components import first_means, frozen, label_components
from ppo.algorithm.gradient_steps import LOGGED, GradientSteps, Update
from ppo.algorithm.losses import Batch
from ppo.algorithm.network import initial_parameters, logprobs_and_entropy
from ppo.algorithm.not_finite import check_array
from ppo.algorithm.state import State, part_of, prefixed
from ppo.algorithm.update_damping import UpdateDamping
from ppo.config import ResolvedConfig


class Agent:
    """Policy and value network in one flat vector, and Adam. Leave-one-out advantages need no value network.

    Args:
        policy: the policy's network.
        config: what to train.

    Attributes:
        value: the value network, or None.
        parameters: the policy's, then the value's; float64, ``[policy.size + value.size]``.
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
        parts = [initial_parameters(self.policy, rng, config.init_std, knobs, means, config.std == "free")]
        if config.advantages != "slot":
            self.value = NetworkSpec(policy.obs_dim, policy.hidden_sizes, policy.activation, "value", 1)
            parts.append(initial_parameters(self.value, rng))
        parameters = torch.cat(parts)
        self.parameters = parameters.numpy()  # the same memory
        if policy.labelled:
            label_components(policy, self.theta)
        self._update = self._update_of(parameters)
        self.damping = UpdateDamping(len(self.parameters), config.update_damping)

    def _update_of(self, parameters: torch.Tensor) -> Update:
        """Returns what takes the gradient steps, as the configuration says."""
        given = self.policy, self.value, parameters, frozen(self.policy, self.config.std == "free"), self.config
        if self.config.gradients == "autograd":
            return AutogradUpdate(*given)
        from ppo.algorithm.compiled_update import CompiledUpdate  # it brings Numba, which takes a while to load

        return CompiledUpdate(*given)

    def prepare(self) -> None:
        """Does what the first update would wait for otherwise."""
        self._update.prepare()

    @property
    def adam(self) -> Adam:
        """The optimiser."""
        return self._update.adam

    @property
    def theta(self) -> np.ndarray:
        """The policy's parameters, ``[policy.size]``; a view."""
        return self.parameters[: self.policy.size]

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``."""
        return self._update.values(obs)

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
        config = self.config
        epochs, before = epochs or config.update_epochs, self.parameters.copy()
        order, ends = self._order(len(batch.obs), step, epochs)
        steps = GradientSteps(step, learning_rate, std_floor, epochs, order, ends)
        stats, initial_logratio = self._update.take(batch, steps)
        if config.update_damping:
            self.damping.damp(self.parameters, before, learning_rate)
        check_array(step, "the parameters; a smaller --learning-rate or --max-grad-norm may help", self.parameters)
        losses = {f"losses/{name}": _mean([stat[name] for stat in stats]) for name in LOGGED if name in stats[0]}
        return losses | {"losses/initial_logratio": initial_logratio}

    def _order(self, n: int, step: int, epochs: int) -> tuple[np.ndarray | None, np.ndarray]:
        """Returns the order of n rows in each epoch, reshuffled by its key, and where the minibatches end."""
        count = min(self.config.num_minibatches, n)
        ends = np.cumsum([n // count + (k < n % count) for k in range(count)])
        if count == 1:
            return None, ends
        keys = [generator(self.config.seed, step, Stream.MINIBATCHES, epoch) for epoch in range(epochs)]
        return np.stack([key.permutation(n) for key in keys]), ends


def _mean(values: list[float]) -> float:
    """Returns the mean; with one minibatch it is that one's, which need not go through an array."""
    return values[0] if len(values) == 1 else float(np.mean(values))
