"""The gradient steps of a training step: what is given to those of torch and the compiled ones, and what they show."""

import abc
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from actors.snapshot import NetworkSpec
from ppo.algorithm.adam import Adam
from ppo.algorithm.losses import Batch, normalised_advantages
from ppo.config import ResolvedConfig

LOGGED = ("policy_loss", "value_loss", "gate_loss", "entropy", "approx_kl", "clipfrac")
"""Losses of a gradient step that are logged, those that there are."""


@dataclass(frozen=True)
class GradientSteps:
    """Passes over a batch.

    Attributes:
        key: the training step, to be named where something is not finite.
        learning_rate: Adam's step size.
        std_floor: of the policy that is updated.
        epochs: number of passes.
        order: rows of each epoch in the order of its minibatches, ``[epochs, n]``; None where there is one minibatch,
            of all rows as they are.
        ends: where the minibatches of an epoch end, ``[minibatches]``.
    """

    key: int
    learning_rate: float
    std_floor: float
    epochs: int
    order: np.ndarray | None
    ends: np.ndarray

    def minibatches(self, epoch: int) -> Iterator[np.ndarray]:
        """Yields the rows of each minibatch of an epoch; there are several."""
        assert self.order is not None
        yield from np.split(self.order[epoch], self.ends[:-1])


class Taken(NamedTuple):
    """What gradient steps show.

    Attributes:
        losses: of each minibatch of the last epoch, by name.
        initial_logratio: largest difference between the log-probabilities of driver and learner before the first step.
    """

    losses: list[dict[str, float]]
    initial_logratio: float


class Update(abc.ABC):
    """A way to compute values and gradients, and to take the steps; the losses are those of ``ppo.algorithm.losses``.

    Args:
        policy, value: the networks; ``parameters`` holds the policy's and then the value's, if there is one.
        parameters: the agent's, ``[policy.size + value.size]``, float64.
        frozen: which of the policy's parameters are not trained, ``[policy.size]`` of bool; None where all are.
        config: what to train.

    Attributes:
        adam: the optimiser.
    """

    adam: Adam

    def __init__(
        self,
        policy: NetworkSpec,
        value: NetworkSpec | None,
        parameters: torch.Tensor,
        frozen: np.ndarray | None,
        config: ResolvedConfig,
    ):
        self.policy, self.value, self.config = policy, value, config
        self._given, self._frozen = parameters, frozen

    @abc.abstractmethod
    def prepare(self) -> None:
        """Does what the first training step would wait for otherwise."""

    @abc.abstractmethod
    def values(self, obs: np.ndarray) -> np.ndarray:
        """Returns V of normalised observations, ``[n]``, float64."""

    @abc.abstractmethod
    def take(self, batch: Batch, steps: GradientSteps) -> Taken:
        """Takes the gradient steps; changes the agent's parameters in place.

        Raises:
            NotFiniteError: a loss or a gradient is not finite; the state is that in the middle of it.
        """

    def _prepared(self, minibatch: Batch) -> Batch:
        """Normalises the advantages of a minibatch, if they are to be."""
        if not self.config.norm_adv:
            return minibatch
        return dataclasses.replace(minibatch, advantages=normalised_advantages(minibatch.advantages))
