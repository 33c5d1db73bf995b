"""The evaluations that the model is fitted to, in the order of their keys."""

import numpy as np

from actors.trajectory import Trajectory
from ppo.algorithm.state import State
from ppo.data.rows import SKIPPED, constraints_of


class Evidence:
    """Evaluations of f, as many as the model can take; what comes after is left out.

    Those that failed, whose value is NaN, are kept apart.

    Args:
        dims: knobs and conditions together.
        capacity: number of evaluations that it can take.
        constraints: number of constraints.

    Attributes:
        failures: knobs and conditions of evaluations that failed, ``[m, dims]``.
    """

    def __init__(self, dims: int, capacity: int, constraints: int = 0):
        self._rows = np.zeros((capacity, dims + constraints + 1))
        self._count, self._dims = 0, dims
        self.failures = np.empty((0, dims))

    def __len__(self) -> int:
        return self._count

    @property
    def states(self) -> np.ndarray:
        """Knobs and conditions, ``[n, dims]``."""
        return self._rows[: self._count, : self._dims]

    @property
    def constraints(self) -> np.ndarray:
        """Values of the constraints there, ``[n, constraints]``."""
        return self._rows[: self._count, self._dims : -1]

    @property
    def values(self) -> np.ndarray:
        """f there, ``[n]``."""
        return self._rows[: self._count, -1]

    def add(self, states: np.ndarray, values: np.ndarray, constraints: np.ndarray | None = None) -> None:
        """Takes evaluations: states ``[n, dims]``, values ``[n]`` and those of constraints ``[n, constraints]``."""
        beside = np.empty((len(states), 0)) if constraints is None else constraints
        failed = np.isnan(values)
        self.failures = np.concatenate([self.failures, states[failed]])
        rows = np.concatenate([states, beside, values[:, None]], axis=1)[~failed]
        rows = rows[: len(self._rows) - self._count]
        self._rows[self._count : self._count + len(rows)] = rows
        self._count += len(rows)

    def state(self) -> State:
        """Returns the evaluations."""
        return {"rows": self._rows.copy(), "count": np.array(self._count), "failures": self.failures.copy()}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self._rows[:], self._count = state["rows"], int(state["count"])
        self.failures = state["failures"].reshape(-1, self._dims).copy()


def evaluated(trajectory: Trajectory, late: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns what was evaluated in a round, by slots and time steps, without points that were skipped.

    Args:
        trajectory: of the round.
        late: rows of points of earlier rounds that were told late, ``[m]``, which come after it.

    Returns:
        The states that actions led to, ``[n, dims]``, f there, ``[n]``, and the constraints, ``[n, constraints]``.
    """
    states, constraints = trajectory.final_obs, trajectory.constraints[:, 1:]
    values = trajectory.objectives[:, 1:].reshape(-1)
    parts = [states.reshape(-1, states.shape[2]), values, constraints.reshape(len(values), constraints.shape[2])]
    if late is not None and len(late):
        more = [np.concatenate([late["x"], late["c"]], axis=1), late["f"], constraints_of(late)]
        parts = [np.concatenate(pair) for pair in zip(parts, more, strict=True)]
    known = parts[1] != SKIPPED
    return parts[0][known], parts[1][known], parts[2][known]


def some_of(taken: np.ndarray, most: int) -> np.ndarray:
    """Returns so many of the evaluations at the most, from all of them alike."""
    return taken[np.unique(np.linspace(0, len(taken) - 1, most).astype(int))]
