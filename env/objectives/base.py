"""The base class of objectives."""

from abc import ABC, abstractmethod

import numpy as np


class Objective(ABC):
    """A function f(x, c) that is minimised over its knobs x whenever its conditions c change.

    Knobs and conditions are normalised: both lie in [-1, 1], and an objective maps them to raw units itself.
    To tune your own black box, subclass this, set ``knobs`` and ``conditions``, write ``__call__`` and pass
    ``--env package.module:Class``. A row must not depend on the other rows of its batch.
    """

    knobs: int = 1
    """Number of coordinates that are tuned."""
    conditions: int = 1
    """Number of coordinates that are given."""
    metric: str = "mse"
    """Error of a law over conditions: ``mse`` (squared error of f to its minimum) or ``msle`` (squared
    difference of log1p, for values that span orders of magnitude; needs f >= 0). Without ``solve`` the
    error is not known, and the mean of f is reported in its place."""

    @property
    def dims(self) -> int:
        """Number of all coordinates, knobs and conditions."""
        return self.knobs + self.conditions

    @abstractmethod
    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Evaluates f.

        Args:
            x: knobs, ``[n, knobs]`` in [-1, 1].
            c: conditions, ``[n, conditions]`` in [-1, 1].

        Returns:
            f(x, c), ``[n]``, in the objective's own unit.
        """

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the best knobs ``[m, knobs]`` and their f ``[m]`` for conditions ``[m, conditions]``.

        Returns None, the default, where the optimum is not known. An objective that is cheap to evaluate can return
        ``solve_numerically(self, c)``. An objective with a ``solve`` is assumed to be cheap: the picture of its law
        evaluates it some 15,000 times, which are not counted.
        """
        return None
