"""Adam on one flat vector."""

import numpy as np


class Adam:
    """Adam (Kingma & Ba 2015, arXiv 1412.6980, algorithm 1) on a vector of ``size`` parameters, in place.

    Attributes:
        steps: steps taken.
        exp_avg, exp_avg_sq: moments of the gradient, ``[size]``.
    """

    def __init__(self, size: int, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-5):
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.steps = 0
        self.exp_avg = np.zeros(size)
        self.exp_avg_sq = np.zeros(size)
        self._scratch = np.empty((2, size))

    def step(self, parameters: np.ndarray, gradient: np.ndarray, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` against ``gradient`` ``[size]``."""
        self.steps += 1
        first, second = self._scratch
        self.exp_avg *= self.beta1
        self.exp_avg += np.multiply(gradient, 1 - self.beta1, out=first)
        self.exp_avg_sq *= self.beta2
        np.multiply(gradient, gradient, out=first)
        first *= 1 - self.beta2
        self.exp_avg_sq += first
        # The two bias corrections, moved out of the vectors: one scales the step, the other the root.
        root = (1 - self.beta2**self.steps) ** 0.5
        np.sqrt(self.exp_avg_sq, out=first)
        first += self.epsilon * root
        np.divide(self.exp_avg, first, out=second)
        second *= learning_rate * root / (1 - self.beta1**self.steps)
        parameters -= second
