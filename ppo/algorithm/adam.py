"""Adam on one flat vector."""

from typing import Any

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
        device: where the moments are, parameters and gradients being float64 tensors there; None for NumPy's arrays.

    Attributes:
        steps: steps taken.
        exp_avg, exp_avg_sq: moments of the gradient, ``[size]``.
    """

    beta1, beta2, epsilon = 0.9, 0.999, 1e-5

    def __init__(self, size: int, dtype: DTypeLike = np.float64, device: torch.device | None = None):
        self.steps = 0
        vectors = np.zeros((3, size), dtype)
        on_device: Array = vectors if device is None else torch.from_numpy(vectors).to(device)
        self.exp_avg, self.exp_avg_sq, self._scratch = on_device
        self._xp: Any = np if device is None else torch

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

    def step(self, parameters: Array, gradient: Array, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` against ``gradient`` ``[size]``."""
        ((factor, small),) = self.rates(learning_rate, 1)
        self.steps += 1
        scratch, xp = self._scratch, self._xp
        xp.subtract(gradient, self.exp_avg, out=scratch)
        scratch *= 1 - self.beta1
        self.exp_avg += scratch
        xp.multiply(gradient, gradient, out=scratch)
        scratch -= self.exp_avg_sq
        scratch *= 1 - self.beta2
        self.exp_avg_sq += scratch
        xp.sqrt(self.exp_avg_sq, out=scratch)
        scratch += small
        xp.divide(self.exp_avg, scratch, out=scratch)
        scratch *= factor
        parameters -= scratch

    def rates(self, learning_rate: float, count: int) -> list[tuple[float, float]]:
        """Returns for each of the next steps the factor of exp_avg / (root + small), and small.

        They hold the two bias corrections, moved out of the vectors: one scales the step, the other the root.
        """
        found = []
        for step in range(self.steps + 1, self.steps + count + 1):
            root = (1 - self.beta2**step) ** 0.5
            found.append((learning_rate * root / (1 - self.beta1**step), self.epsilon * root))
        return found
