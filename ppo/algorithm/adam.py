"""Adam on one flat vector."""

import numpy as np
from numpy.typing import DTypeLike

from ppo.algorithm.state import State


class Adam:
    """Adam (Kingma & Ba 2015, arXiv 1412.6980, algorithm 1) on a vector of ``size`` parameters, in place.

    Args:
        size: number of parameters.
        dtype: type of the moments, which need no more precision than the gradient has.

    Attributes:
        steps: steps taken.
        exp_avg, exp_avg_sq: moments of the gradient, ``[size]``.
    """

    beta1, beta2, epsilon = 0.9, 0.999, 1e-5

    def __init__(self, size: int, dtype: DTypeLike = np.float64):
        self.steps = 0
        self.exp_avg = np.zeros(size, dtype)
        self.exp_avg_sq = np.zeros(size, dtype)
        self._scratch = np.empty(size, dtype)

    def state(self) -> State:
        """Returns the steps and the moments."""
        return {"steps": np.array(self.steps), "exp_avg": self.exp_avg.copy(), "exp_avg_sq": self.exp_avg_sq.copy()}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.steps = int(state["steps"])
        self.exp_avg[:], self.exp_avg_sq[:] = state["exp_avg"], state["exp_avg_sq"]

    def step(self, parameters: np.ndarray, gradient: np.ndarray, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` against ``gradient`` ``[size]``."""
        self.steps += 1
        scratch = self._scratch
        np.subtract(gradient, self.exp_avg, out=scratch)
        scratch *= 1 - self.beta1
        self.exp_avg += scratch
        np.multiply(gradient, gradient, out=scratch)
        scratch -= self.exp_avg_sq
        scratch *= 1 - self.beta2
        self.exp_avg_sq += scratch
        # The two bias corrections, moved out of the vectors: one scales the step, the other the root.
        root = (1 - self.beta2**self.steps) ** 0.5
        np.sqrt(self.exp_avg_sq, out=scratch)
        scratch += self.epsilon * root
        np.divide(self.exp_avg, scratch, out=scratch)
        scratch *= learning_rate * root / (1 - self.beta1**self.steps)
        parameters -= scratch
