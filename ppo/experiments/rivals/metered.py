"""What a rival asks f through: it counts the evaluations and refuses those that are beyond the budget."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from env.errors import UsageError
from env.make import Problem
from env.objectives import Objective, evaluate

RivalLaw = Callable[[np.ndarray], np.ndarray]
"""Maps conditions ``[m, conditions]`` to knobs ``[m, knobs]``, all in [-1, 1]."""


def finite(problem: Problem, x: np.ndarray, c: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Returns values of f ``[n]`` of a problem as they are.

    Raises:
        UsageError: one of them is not finite.
    """
    bad = np.flatnonzero(~np.isfinite(f))
    if len(bad):
        at = f"knobs {x[bad[0]].tolist()} and conditions {c[bad[0]].tolist()}"
        raise UsageError(f"--env {problem.env}: f is {f[bad[0]]} at {at}; only where f is finite can it be compared")
    return f


class OverBudgetError(AssertionError):
    """A rival asked for more evaluations of f than it may spend."""


class Metered(Objective):
    """An objective whose evaluations are counted and limited; it does not tell its optimum.

    Args:
        problem: the problem, for rivals that build it themselves.
        limit: evaluations that may be spent.

    Attributes:
        spent: evaluations so far.
        limit: evaluations that may be spent.
    """

    vectorised = True  # as its callers see it: it takes any number of rows, whatever the objective takes

    def __init__(self, problem: Problem, limit: int):
        objective = problem.objective()
        assert objective is not None, "a tuning problem"
        self.problem, self.limit, self.spent = problem, limit, 0
        self.knobs, self.conditions = objective.knobs, objective.conditions
        self._f: Objective = objective
        self._limit: int | None = limit

    @property
    def left(self) -> int:
        """Evaluations that may still be spent."""
        return self.limit - self.spent

    def charge(self, evaluations: int) -> None:
        """Counts evaluations, before they are made.

        Raises:
            OverBudgetError: there are fewer left.
        """
        if self._limit is not None and self.spent + evaluations > self._limit:
            raise OverBudgetError(f"{self.spent} of {self.limit} evaluations are spent, and {evaluations} were asked")
        self.spent += evaluations

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        self.charge(len(x))
        x = np.clip(x, -1, 1)
        return finite(self.problem, x, c, evaluate(self._f, x, c, range(self.spent - len(x), self.spent)))

    @contextmanager
    def answering(self) -> Iterator["Metered"]:
        """Lifts the limit while queries are answered; what they cost is counted in ``spent`` all the same."""
        self._limit = None
        try:
            yield self
        finally:
            self._limit = self.limit
