"""The base class of objectives."""

import inspect
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from env.coordinates import Coordinates


class Objective(ABC):
    """A function f(x, c) that is minimised over its knobs x whenever its conditions c change.

    Knobs and conditions are normalised: both lie in [-1, 1], and an objective maps them to raw units itself.
    To tune your own black box, describe a plain function with ``objective``, which does that; or subclass this, set
    ``knobs`` and ``conditions``, write ``__call__`` and pass ``--env package.module:Class``.

    f is called with one row at a time, and before each call ``random`` and ``np.random`` are seeded by the run's seed,
    the training step, the slot and the number of the evaluation in it. So what they draw in f does not depend on which
    driver evaluates it, when, or how often. A ``__call__`` that has a parameter ``rng`` is given a generator with such
    a seed in it, ``np.random.Generator``. With ``--backend thread`` and more than one driver, and where evaluations run
    side by side, only that is keyed: ``random`` and ``np.random`` belong to the process, and all draw from them.

    An f that waits, for a bench, a service or a licence, needs no process of its own: many evaluations run side by side
    in one, where ``__call__`` is an ``async def``, or the class declares ``thread_safe = True``.
    """

    knobs: int
    """Number of coordinates that are tuned."""
    conditions: int
    """Number of coordinates that are given."""
    knob_coordinates: Coordinates | None = None
    """Names, units, ranges and kinds of the knobs; None for ``x_0`` .. in [-1, 1]. Of integers and choices, f is asked
    for the values alone that they can have."""
    condition_coordinates: Coordinates | None = None
    """Likewise of the conditions; None for ``c_0`` .. in [-1, 1]."""
    constraints: int = 0
    """Number of values g(x, c) that ``__call__`` returns beside f, each of which is to be 0 or less: ``return f, g``
    for one, ``return f, (g, h)`` for several. Knobs that keep them come first, whatever f is."""
    observed: tuple[int, ...] = ()
    """Numbers of the conditions that come by themselves. ``__call__`` returns all conditions as they were, ``[n,
    conditions]``, after f and the constraints; those that it is called with are only what was expected of these."""
    at_once: int | None = None
    """How many evaluations may be under way at once, such as 1 for a single instrument; None for any number."""
    metric: str = "mse"
    """Error of a law over conditions: ``mse`` (squared error of f to its minimum) or ``msle`` (squared
    difference of log1p, for values that span orders of magnitude; needs f >= 0). Without ``solve`` the
    error is not known, and the mean of f is reported in its place."""
    vectorised: bool = False
    """Whether f takes many rows in one call, which is faster. It promises that a row's value does not depend on the
    other rows, to the last bit (a matrix product may round a row otherwise in a batch of another size), and that f
    draws no random numbers of the process. A subclass with a ``__call__`` of its own promises it anew."""
    thread_safe: bool = False
    """Whether several threads may call f at once: then many evaluations run side by side in one process, which pays
    where most of their time is spent waiting. A subclass with a ``__call__`` of its own declares it anew."""
    asynchronous: bool = False
    """Whether ``__call__`` is an ``async def``, of which many run side by side too; found out by itself."""
    takes_rng: bool = False
    """Whether ``__call__`` has a parameter ``rng``; found out by itself."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls):
            cls.takes_rng = "rng" in inspect.signature(cls.__call__).parameters
            cls.asynchronous = inspect.iscoroutinefunction(cls.__call__)
            for promise in {"vectorised", "thread_safe"} - set(vars(cls)):
                setattr(cls, promise, False)

    @property
    def waits(self) -> bool:
        """Whether many evaluations may be under way at once in one process."""
        return self.asynchronous or self.thread_safe

    @property
    def draws(self) -> bool:
        """Whether what f draws at random is keyed, row by row."""
        return self.takes_rng if self.waits else not self.vectorised

    @property
    def coordinates(self) -> tuple[Coordinates, Coordinates]:
        """Names, units, ranges and kinds of the knobs and of the conditions."""
        knobs, conditions = self.knob_coordinates, self.condition_coordinates
        return (
            Coordinates.plain("x", self.knobs, "knobs") if knobs is None else knobs,
            Coordinates.plain("c", self.conditions, "conditions") if conditions is None else conditions,
        )

    def take_coordinates(self, coordinates: tuple[Coordinates, Coordinates] | None) -> None:
        """Takes the knobs and the conditions of another objective, in whose place this one is evaluated."""
        self.knob_coordinates, self.condition_coordinates = coordinates or (None, None)

    @property
    def solved(self) -> bool:
        """Whether it tells its best knobs."""
        return type(self).solve is not Objective.solve

    @property
    def dims(self) -> int:
        """Number of all coordinates, knobs and conditions."""
        return self.knobs + self.conditions

    @abstractmethod
    def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        """Evaluates f.

        Args:
            x: knobs, ``[n, knobs]`` in [-1, 1]; n is 1 unless the objective is ``vectorised``.
            c: conditions, ``[n, conditions]`` in [-1, 1].

        Returns:
            f(x, c), ``[n]``, in the objective's own unit; for a single row a number will do. With ``constraints``, f
            and their values, each like f.
        """

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the best knobs ``[m, knobs]`` and their f ``[m]`` for conditions ``[m, conditions]``.

        Returns None, the default, where the optimum is not known. An objective that is cheap to evaluate can return
        ``solve_numerically(self, c)``. An objective with a ``solve`` is assumed to be cheap: the picture of its law
        evaluates it some 15,000 times, which are not counted.
        """
        return None
