"""What a rival asks f through: it counts the evaluations and refuses those that are beyond the budget."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from env.make import Problem
from env.objectives import Objective

RivalLaw = Callable[[np.ndarray], np.ndarray]
"""Maps conditions ``[m, conditions]`` to knobs ``[m, knobs]``, all in [-1, 1]."""


class OverBudgetError(AssertionError):
    """A rival asked for more evaluations of f than it may spend."""


class Metered(Objective):
    """An objective whose evaluations are counted and limited; it does not tell its optimum.

    A value that is not finite is given as the largest finite one so far, so that rivals need not know of failures.

    Args:
        problem: the problem, for rivals that build it themselves.
        limit: evaluations that may be spent.

    Attributes:
        spent: evaluations so far.
        limit: evaluations that may be spent; None while queries are answered, which are counted alone.
    """

    def __init__(self, problem: Problem, limit: int):
        objective = problem.objective()
        assert objective is not None, "a tuning problem"
        self.problem, self.limit, self.spent = problem, limit, 0
        self.knobs, self.conditions = objective.knobs, objective.conditions
        self._f: Objective = objective
        self._limit: int | None = limit
        self._worst = -np.inf

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
        f = np.asarray(self._f(np.clip(x, -1, 1), c), np.float64)
        good = np.isfinite(f)
        self._worst = max(self._worst, f[good].max(initial=-np.inf))
        return np.where(good, f, self._worst if np.isfinite(self._worst) else 0.0)

    @contextmanager
    def answering(self) -> Iterator["Metered"]:
        """Lifts the limit while queries are answered; what they cost is counted in ``spent`` all the same."""
        self._limit = None
        try:
            yield self
        finally:
            self._limit = self.limit
