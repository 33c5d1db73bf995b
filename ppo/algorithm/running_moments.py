"""Running statistics of observations and returns."""

import numpy as np

from ppo.algorithm.state import State


class RunningMoments:
    """Mean and variance of all rows so far (Chan et al. 1979: a batch merged into the total).

    Attributes:
        count: rows seen.
        mean: ``[*shape]``.
        m2: sum of squared deviations, ``[*shape]``.
    """

    def __init__(self, shape: tuple[int, ...] = ()):
        self.count = 0.0
        self.mean = np.zeros(shape)
        self.m2 = np.zeros(shape)

    def update(self, rows: np.ndarray) -> None:
        """Adds rows ``[n, *shape]``."""
        count, mean = len(rows), rows.mean(axis=0)
        delta, total = mean - self.mean, self.count + count
        self.m2 = self.m2 + ((rows - mean) ** 2).sum(axis=0) + delta**2 * self.count * count / total
        self.mean = self.mean + delta * count / total
        self.count = total

    @property
    def var(self) -> np.ndarray:
        """Population variance; 1 before anything was seen."""
        return self.m2 / self.count if self.count else np.ones_like(self.m2)

    def state(self) -> State:
        """Returns the count and the moments."""
        return {"count": np.array(self.count), "mean": self.mean.copy(), "m2": self.m2.copy()}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.count, self.mean, self.m2 = float(state["count"]), state["mean"].copy(), state["m2"].copy()
