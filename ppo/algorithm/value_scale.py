"""The scale in which the value network estimates: of zero mean and unit variance, whatever the returns are."""

import numpy as np

from ppo.algorithm.state import State

LATEST = 0.1
"""Weight of a training step in the statistics, once there are as many as make it a mean."""
LEAST_STD = 1e-4


class ValueScale:
    """Mean and standard deviation of the targets of recent training steps (van Hasselt et al. 2016, arXiv 1602.07714).

    Where they move, the last layer is changed so that no value does ("preserving outputs precisely", section 2.2). Only
    the first training step keeps the layer: no value means anything before it, and those near the mean of the targets
    are a better start than those near 0.

    Attributes:
        steps: training steps seen.
        mean, std: V is ``mean`` plus ``std`` times what the network says.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.mean, self.std = 0.0, 1.0

    def values(self, outputs: np.ndarray) -> np.ndarray:
        """Returns values for outputs of the network, ``[...]`` each."""
        return self.mean + self.std * outputs

    def outputs(self, values: np.ndarray) -> np.ndarray:
        """Returns what the network is to say for values, ``[...]`` each."""
        return (values - self.mean) / self.std

    def update(self, targets: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
        """Takes in the targets of a training step, ``[...]``, and changes the last layer in place."""
        self.steps += 1
        share, before = max(1 / self.steps, LATEST), np.float64(self.std)  # whose square is infinite where it overflows
        moved = targets.mean() - self.mean
        variance = (1 - share) * before**2 + share * targets.var() + share * (1 - share) * moved**2
        mean, std = float(self.mean + share * moved), max(float(variance) ** 0.5, LEAST_STD)
        if self.steps > 1:
            weight *= self.std / std
            bias[:] = (self.std * bias + self.mean - mean) / std
        self.mean, self.std = mean, std

    def state(self) -> State:
        """Returns the statistics."""
        return {"scale": np.array([self.steps, self.mean, self.std])}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        steps, self.mean, self.std = map(float, state["scale"])
        self.steps = int(steps)
