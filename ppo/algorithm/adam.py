"""Adam on one flat vector."""

import numpy as np
import torch
from numpy.typing import DTypeLike

from ppo.algorithm.device import Array, fetched, fill
from ppo.algorithm.state import State


class Adam:
    """Adam (Kingma & Ba 2015, arXiv 1412.6980, algorithm 1) on a vector of ``size`` parameters, in place.

    Args:
        size: number of parameters.
        dtype: type of the moments, which need no more precision than the gradient has.
        device: where the moments are; None for NumPy's arrays, with which a compiled update takes the steps.

    Attributes:
        steps: steps taken.
        exp_avg, exp_avg_sq: moments of the gradient, ``[size]``.
    """

    beta1, beta2, epsilon = 0.9, 0.999, 1e-5

    def __init__(self, size: int, dtype: DTypeLike = np.float64, device: torch.device | None = None):
        self.steps = 0
        moments = np.zeros((2, size), dtype)
        on_device: Array = moments if device is None else torch.from_numpy(moments).to(device)
        self.exp_avg, self.exp_avg_sq = on_device

    def state(self) -> State:
        """Returns the steps and the moments."""
        return {
            "steps": np.array(self.steps),
            "exp_avg": fetched(self.exp_avg),
            "exp_avg_sq": fetched(self.exp_avg_sq),
        }

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.steps = int(state["steps"])
        fill(self.exp_avg, state["exp_avg"])
        fill(self.exp_avg_sq, state["exp_avg_sq"])

    def step(self, parameters: torch.Tensor, gradient: torch.Tensor, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` against ``gradient`` ``[size]``, on the device."""
        ((factor, small),) = self.rates(learning_rate, 1)
        self.steps += 1
        self.exp_avg += (gradient - self.exp_avg) * (1 - self.beta1)
        self.exp_avg_sq += (gradient * gradient - self.exp_avg_sq) * (1 - self.beta2)
        parameters -= factor * (self.exp_avg / (self.exp_avg_sq.sqrt() + small))

    def rates(self, learning_rate: float, count: int) -> list[tuple[float, float]]:
        """Returns for each of the next steps the factor of exp_avg / (root + small), and small.

        They hold the two bias corrections, moved out of the vectors: one scales the step, the other the root.
        """
        found = []
        for step in range(self.steps + 1, self.steps + count + 1):
            root = (1 - self.beta2**step) ** 0.5
            found.append((learning_rate * root / (1 - self.beta1**step), self.epsilon * root))
        return found
