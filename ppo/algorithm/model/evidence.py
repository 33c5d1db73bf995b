"""The evaluations that the model is fitted to, in the order of their keys."""

import numpy as np

from actors.trajectory import Trajectory
from ppo.algorithm.state import State


class Evidence:
    """Evaluations of f, as many as the model can take; what comes after is left out.

    Those that failed, whose value is NaN, are kept apart.

    Args:
        dims: knobs and conditions together.
        capacity: number of evaluations that it can take.

    Attributes:
        failures: knobs and conditions of evaluations that failed, ``[m, dims]``.
    """

    def __init__(self, dims: int, capacity: int):
        self._rows = np.zeros((capacity, dims + 1))
        self._count = 0
        self.failures = np.empty((0, dims))

    def __len__(self) -> int:
        return self._count

    @property
    def states(self) -> np.ndarray:
        """Knobs and conditions, ``[n, dims]``."""
        return self._rows[: self._count, :-1]

    @property
    def values(self) -> np.ndarray:
        """f there, ``[n]``."""
        return self._rows[: self._count, -1]

    def add(self, states: np.ndarray, values: np.ndarray) -> None:
        """Takes evaluations: states ``[n, dims]`` and values ``[n]``."""
        failed = np.isnan(values)
        self.failures = np.concatenate([self.failures, states[failed]])
        states, values = states[~failed], values[~failed]
        rows = np.concatenate([states, values[:, None]], axis=1)[: len(self._rows) - self._count]
        self._rows[self._count : self._count + len(rows)] = rows
        self._count += len(rows)

    def state(self) -> State:
        """Returns the evaluations."""
        return {"rows": self._rows.copy(), "count": np.array(self._count), "failures": self.failures.copy()}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self._rows[:], self._count = state["rows"], int(state["count"])
        self.failures = state["failures"].reshape(-1, self._rows.shape[1] - 1).copy()


def evaluated(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Returns the states that actions led to, ``[E * T, dims]``, and f there, in the order of slots and time steps."""
    states = trajectory.final_obs
    return states.reshape(-1, states.shape[2]).copy(), trajectory.objectives[:, 1:].reshape(-1).copy()


def some_of(taken: np.ndarray, most: int) -> np.ndarray:
    """Returns so many of the evaluations at the most, from all of them alike."""
    return taken[np.unique(np.linspace(0, len(taken) - 1, most).astype(int))]
