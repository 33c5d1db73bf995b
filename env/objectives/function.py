"""A plain function of named knobs and conditions, in units, as an objective."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from env.coordinates import Coordinates, check_named, with_observed
from env.errors import ContractError, UsageError
from env.importing import DESCRIPTIONS, shown_name
from env.kinds import Coordinate
from env.objectives.base import Objective
from env.objectives.evaluation import timed_evaluation
from env.words import described as in_words

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "objective"
"""Attribute of a described function that holds its class of objectives."""


class FunctionObjective(Objective):
    """A function that takes knobs and conditions by name, in their units.

    Its subclasses are made by ``objective``, one for each function.

    Args:
        **kwargs: keywords of the constructor, where a class was described and no function.
    """

    described: Callable[..., Any]
    best: Callable[..., Any] | None = None
    knob_coordinates: Coordinates
    condition_coordinates: Coordinates

    def __init__(self, **kwargs: Any):
        described: Any = vars(type(self))["described"]  # a function among a class's attributes would be bound
        self._call: Any = described(**kwargs) if inspect.isclass(described) else described
        self._set = [name for name, one in self.condition_coordinates.items() if not one.observed]
        self._named = [*self.knob_coordinates.items(), *self.condition_coordinates.items()]
        if kwargs and self._call is described:
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument '{next(iter(kwargs))}'")

    def __call__(self, x: np.ndarray, c: np.ndarray, **given: np.random.Generator) -> Any:
        """See ``Objective``; values are Python's own where one row is asked for at a time."""
        if self.vectorised:
            conditions = self.condition_coordinates.in_units(c)
            return self._with_observed(
                self._call(**self.knob_coordinates.in_units(x), **{name: conditions[name] for name in self._set}), c
            )
        row = [*x[0].tolist(), *c[0].tolist()]
        values = {name: one.in_units(z) for (name, one), z in zip(self._named, row, strict=True) if not one.observed}
        returned = self._call(**values, **given)
        return self._awaited(returned, c) if self.asynchronous else self._with_observed(returned, c)

    async def _awaited(self, returned: Awaitable[Any], c: np.ndarray) -> Any:
        return self._with_observed(await returned, c)

    def _with_observed(self, returned: Any, c: np.ndarray) -> Any:
        """Returns what the function did, with all conditions in place of the observed ones by name."""
        if not self.observed or inspect.iscoroutine(returned):  # which is refused
            return returned
        names = [name for name in self.condition_coordinates if name not in self._set]
        if isinstance(returned, float) and np.isnan(returned):  # it failed before it knew
            return (returned, [returned] * self.constraints, c) if self.constraints else (returned, c)
        *parts, found = returned if isinstance(returned, tuple) and len(returned) > 1 else (returned, None)
        if not isinstance(found, Mapping) or set(found) != set(names):
            wanted = f"dict({', '.join(f'{name}=...' for name in names)})"
            raise ContractError(
                f"{self.described.__name__} returned {in_words(returned)}; the conditions that are observed must come "
                f"last in it, such as return f, {wanted}"
            )
        try:
            return (*parts, with_observed(self.condition_coordinates, c, found))
        except UsageError as error:
            raise ContractError(f"{self.described.__name__} returned {error}") from error

    @property
    def solved(self) -> bool:
        """See ``Objective``."""
        return vars(type(self))["best"] is not None

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """See ``Objective``."""
        best = vars(type(self))["best"]
        if best is None:
            return None
        found, names = best(**self.condition_coordinates.in_units(c)), list(self.knob_coordinates)
        wanted = f"it must return the best knobs by name, dict({', '.join(f'{name}=...' for name in names)})"
        told = f"--env {shown_name(type(self))}: best"
        if not isinstance(found, Mapping) or not set(names) <= set(found):
            has = f" with {', '.join(map(str, found))}" if isinstance(found, Mapping) else ""
            raise ContractError(f"{told} returned {in_words(found)}{has}; {wanted}")
        try:
            x = np.broadcast_to(self.knob_coordinates.normalised(found), (len(c), self.knobs)).copy()
        except UsageError as error:
            raise ContractError(f"{told} returned a value that is none of its knob, {error}; {wanted}") from error
        except ValueError as error:
            raise ContractError(f"{told} returned knobs of other shapes than ({len(c)},) or (); {wanted}") from error
        return x, timed_evaluation(self, x, c, range(len(c))).f


NONE: Mapping[str, Coordinate] = {}
"""Knobs or conditions that were not given, which is a mistake that is told."""


def objective(
    *misplaced: Any,
    knobs: Mapping[str, Coordinate] = NONE,
    conditions: Mapping[str, Coordinate] = NONE,
    constraints: int = 0,
    at_once: int | None = None,
    vectorised: bool = False,
    thread_safe: bool = False,
    best: Callable[..., Mapping[str, Any]] | None = None,
) -> Callable[[F], F]:
    """Describes a function, or a class whose instances are called like one, so that a law can be trained on it.

        @objective(
            knobs=dict(frequency=Log(1e5, 2e6, unit="Hz"), dead_time=Integer(0, 31)),
            conditions=dict(vin=Range(8, 40, unit="V")),
        )
        def loss(frequency, dead_time, vin): ...

    The function, which may be an ``async def``, stays what it is; ``--env module:loss``, ``--env ./file.py:loss`` and
    ``Config(env=loss)`` take it.

    Args:
        misplaced: nothing; it is there so that a mistake is told.
        knobs: what is tuned, by the name of the function's parameter.
        conditions: what is given, likewise.
        constraints: how many values the function returns beside f that are to be 0 or less: ``return f, g`` for one,
            ``return f, (g, h)`` for several. Where conditions are observed, the function does not take them, and
            returns them last, by name: ``return f, dict(wind=7.2)``.
        at_once: how many evaluations may be under way at once; None for any number.
        vectorised: whether it takes arrays ``[n]`` and returns ``[n]``; see ``Objective.vectorised``.
        thread_safe: whether several threads may call it at once; see ``Objective.thread_safe``.
        best: returns the best knobs by name for conditions ``[n]`` by name, where they are known.

    Raises:
        UsageError: the coordinates are none, or the function or ``best`` does not take them.
    """
    if misplaced:
        raise UsageError(f"@objective needs its arguments by name, such as {DESCRIPTIONS['objective()']}")
    named = Coordinates(knobs, "knobs"), Coordinates(conditions, "conditions")
    check_named(*named)
    _check_best(best, named[1])
    own = {"constraints": constraints, "at_once": at_once, "vectorised": vectorised, "thread_safe": thread_safe}

    def describe(described: F) -> F:
        setattr(described, ATTRIBUTE, _objective_of(described, named, own, best))
        return described

    return describe


def _check_best(best: Callable[..., Any] | None, conditions: Coordinates) -> None:
    """Checks that ``best`` takes the conditions, if there is one, and that these can be set.

    Raises:
        UsageError: it is not so.
    """
    if best is None:
        return
    if not callable(best):
        raise UsageError(f"best: is {in_words(best)}; it must be a function of the conditions, or None")
    if conditions.observed:
        raise UsageError("best: is of conditions that can be set, and some are observed; leave it out")
    if inspect.iscoroutinefunction(best):
        raise UsageError("best: is an async def; it must be a def, which is called with many conditions at once")
    _check_parameters(best, list(conditions), "the conditions", "best")


def _objective_of(
    described: Any,
    named: tuple[Coordinates, Coordinates],
    own: dict[str, Any],
    best: Callable[..., Any] | None,
) -> type[FunctionObjective]:
    """Returns the class of objectives that evaluate what is described; see ``objective``.

    Raises:
        UsageError: it is no function, or does not take the knobs and the conditions by name.
    """
    if not inspect.isclass(described) and not inspect.isfunction(described):
        what = type(described).__name__
        raise UsageError(f"@objective(...): must stand above a function or a class, and not a {what}")
    if inspect.isclass(described) and not any("__call__" in vars(kind) for kind in described.__mro__):
        raise UsageError(f"{described.__name__} lacks __call__, which takes the knobs and the conditions by name")
    knobs, conditions = named
    names = [*knobs, *(name for name, one in conditions.items() if not one.observed)]
    of = "the knobs and the conditions" + (" that are set" if conditions.observed else "")
    members = {
        "__doc__": described.__doc__,
        "__module__": described.__module__,
        "described": described,
        "best": best,
        "knob_coordinates": knobs,
        "condition_coordinates": conditions,
        "knobs": len(knobs),
        "conditions": len(conditions),
        "observed": conditions.observed,
        "takes_rng": _check_parameters(described, names, of, described.__name__),
        "asynchronous": inspect.iscoroutinefunction(described.__call__ if inspect.isclass(described) else described),
    }
    return type(described.__name__, (FunctionObjective,), members | own)


def _check_parameters(described: Any, names: list[str], of: str, called: str) -> bool:
    """Checks that what is described takes all names as keywords; returns whether it takes ``rng`` too.

    Args:
        described: a function, or a class whose instances are called like one.
        names: the names.
        of: what they are the names of.
        called: how a message calls it.

    Raises:
        UsageError: it does not.
    """
    is_class = inspect.isclass(described)
    signature = inspect.signature(described.__call__ if is_class else described)
    told = f"{called}({', '.join(list(signature.parameters)[is_class:])})"
    takes_rng = "rng" in signature.parameters and "rng" not in names
    given = dict.fromkeys(names) | ({"rng": None} if takes_rng else {})
    try:
        signature.bind(*([None] if is_class else []), **given)
    except TypeError as error:
        raise UsageError(f"{told}: {error}; its parameters must be the names of {of}, {', '.join(names)}") from None
    return takes_rng
