"""The gradient steps of one training step in one compiled function: several times faster than torch on small networks.

Float64 is kept for the policy up to the log-probabilities, whose ratio an error is large in where the std is small: in
float32 the gradient is off by 1e-7 of itself, a ratio of probabilities at a std of 1e-4 by 1e-2. Everything behind
them, and the value network, is float32.
"""

from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  loads the BLAS that Numba takes, before the number of its threads is limited
from numpy.typing import DTypeLike

from ppo.algorithm.adam import Adam
from ppo.algorithm.compiled.heads import FACTS, MAX_LOGRATIO, STATS, Loss
from ppo.algorithm.compiled.update import Limits, update, values_of
from ppo.algorithm.gradient_steps import LOGGED, GradientSteps, Taken, Update
from ppo.algorithm.losses import Batch
from ppo.algorithm.network import layer_sizes
from ppo.algorithm.not_finite import check_minibatch

NAMES = (*LOGGED, "max_logratio")
"""What the losses of a step are called, in the order of ``ppo.algorithm.compiled.heads``."""
assert len(NAMES) == STATS


class CompiledUpdate(Update):
    """Compiled gradient steps.

    Args:
        dtype: type of the value network and of the gradient.
    """

    def __init__(self, *given: Any, dtype: DTypeLike = np.float32):
        super().__init__(*given)
        policy, value, self._dtype = self.policy, self.value, dtype
        self._parameters = self._given.numpy()
        self.adam = Adam(len(self._parameters), dtype)
        of_value = None if value is None else layer_sizes(value)
        self._networks = layer_sizes(policy), of_value, policy.activation == "relu"
        self._choices = np.array(policy.choices, np.int64) if policy.head == "categorical" else None

    def prepare(self) -> None:
        """Compiles what is not kept from an earlier run on this machine, and loads the rest."""
        spec, n = self.policy, self.config.num_minibatches
        live = np.ones(spec.components, bool) if spec.components > 1 else None
        rows = np.zeros((n, spec.obs_dim)), np.zeros((n, spec.action_dim)), np.zeros((n, FACTS))
        order = None if n == 1 else np.zeros((1, n), np.int64)
        self._steps(self._parameters.copy(), live, rows, order, np.arange(1, n + 1), 0.0, np.zeros((0, 2)))
        if self.value is not None:
            self.values(rows[0])

    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``, float64."""
        _, sizes, relu = self._networks
        assert sizes is not None, "only asked of an agent with a value network"
        rounded = self._parameters[self.policy.size :].astype(self._dtype)
        return values_of(rounded, sizes, relu, np.array(obs, self._dtype, order="C")).astype(np.float64)

    def take(self, batch: Batch, steps: GradientSteps) -> Taken:
        """Takes the gradient steps; raises as ``Update`` says."""
        self._check(batch)
        adam, count = self.adam, steps.epochs * len(steps.ends)
        live = None if batch.gate is None else np.array(batch.gate.live)
        rows = np.array(batch.obs, order="C"), np.array(batch.actions, order="C"), _facts(batch)
        rates = np.array(adam.rates(steps.learning_rate, count))
        given = self._parameters, live, rows, steps.order, steps.ends, steps.std_floor, rates
        stats, taken, norm = self._steps(*given)
        adam.steps += taken
        if taken < count:  # stopped early, or at what was not finite
            check_minibatch(steps.key, self._minibatch(batch, steps, taken), self._named(stats[taken]), norm)
        last = [self._named(one) for one in stats[taken - len(steps.ends) : taken]]
        return Taken(last, float(stats[0, MAX_LOGRATIO]))

    def _check(self, batch: Batch) -> None:
        """Checks what compiled code takes for places in an array, without looking itself.

        Raises:
            ValueError: an action is no choice, or a component is none of the policy's.
        """
        if self._choices is not None and not ((batch.actions >= 0) & (batch.actions < self._choices)).all():
            raise ValueError(f"an action that is none of {self._choices.tolist()} choices")
        assert (batch.gate is None) == (self.policy.components == 1), "several components have a gate"
        acted = np.zeros(1) if batch.gate is None else batch.gate.components
        if not ((acted >= 0) & (acted < self.policy.components)).all():
            raise ValueError(f"a component that is none of {self.policy.components}")

    def _steps(self, parameters, live, rows, order, ends, std_floor, rates):
        """Calls the compiled function, always with the same types: for others it would be compiled anew."""
        config = self.config
        loss = Loss(
            float(std_floor),
            float(config.clip_coef),
            float(config.ent_coef),
            float(config.vf_coef),
            config.clip_vloss,
            config.algo == "reinforce",
        )
        target_kl = np.inf if config.target_kl is None else config.target_kl
        limits = Limits(config.norm_adv, float(config.max_grad_norm), float(target_kl))
        of_policy = self._choices, live, self._frozen
        moments = self.adam.exp_avg, self.adam.exp_avg_sq
        return update(parameters, *moments, *self._networks, *of_policy, *rows, order, ends, loss, limits, rates)

    def _named(self, stats: np.ndarray) -> dict[str, float]:
        """Returns the losses of a step by name, those that there are."""
        absent = {"value_loss": self.value is None, "gate_loss": self.policy.components == 1}
        return {name: one for name, one in zip(NAMES, stats.tolist(), strict=True) if not absent.get(name)}

    def _minibatch(self, batch: Batch, steps: GradientSteps, step: int) -> Batch:
        """Returns the minibatch of a gradient step."""
        if steps.order is not None:
            epoch, k = divmod(step, len(steps.ends))
            batch = batch.rows(list(steps.minibatches(epoch))[k])
        return self._prepared(batch)


def _facts(batch: Batch) -> np.ndarray:
    """Returns what there is of the rows beside observations and actions, ``[n, FACTS]``."""
    facts, gate = np.zeros((len(batch.obs), FACTS)), batch.gate
    columns = [batch.logprobs, batch.advantages, batch.returns, batch.values]
    if gate is not None:
        columns[0] = batch.logprobs - gate.logprobs
        columns += [gate.components, gate.logprobs, gate.advantages, gate.weights]
    for j, column in enumerate(columns):
        if column is not None:
            facts[:, j] = column
    return facts
