"""A deployed tuning law, which maps conditions to knobs and needs NumPy alone."""

import inspect
import numbers
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from actors.called import by_name
from actors.law_file import About, read_law, save_law
from actors.policy import Policy, centre_states
from actors.polish import polish
from actors.single import single_mode
from actors.snapshot import Snapshot
from env.coordinates import Coordinates, value_on_step
from env.errors import UsageError, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEYOND = 1e-9  # of the range, by which rounding may carry a condition out of it


class OutsideRangeWarning(UserWarning):
    """A law is asked for knobs under conditions on which it was not trained."""


@dataclass(frozen=True)
class Polished:
    """What a polish of a law found under one condition.

    Attributes:
        knobs: the best ones by name, in units.
        value: f there, as it was measured.
        given: f at the law's knobs.
        evaluations: evaluations of f.
    """

    knobs: dict[str, Any]
    value: float
    given: float
    evaluations: int


class Law:
    """Maps conditions to the knobs that minimise the objective it was trained on.

    By name, ``law(vin=12, iout=3)``, conditions and knobs are in their units; a knob has a value that it can have, and
    arrays give arrays. Without names, ``law(c)``, both are normalised, in [-1, 1]. The knobs are the policy's mean
    action at the state (0, c), in which each knob is at the centre of its range. Under conditions outside of the range
    it was trained on, it gives the knobs of the nearest ones inside, with an ``OutsideRangeWarning``.

    Args:
        snapshot: snapshot of a policy that was trained on a tuning problem.
        about: what it is of; None for knobs ``x_0`` .. and conditions ``c_0`` .. in [-1, 1].

    Attributes:
        knobs, conditions: how many there are.
        knob_coordinates, condition_coordinates: their names, units, ranges and kinds.
        about: what it is of, and how it came about.
        tried: a sample of what was evaluated in training, with arrays ``x``, ``c`` and ``f``; None where none is known.

    Raises:
        ValueError: the policy is not that of a tuning problem.
    """

    def __init__(self, snapshot: Snapshot, about: About | None = None):
        if about is not None and about.actions is not None:
            raise ValueError("the policy of an environment, and no law; tuninglaw.load gives it")
        if snapshot.spec.head != "gaussian" or snapshot.spec.obs_dim <= snapshot.spec.action_dim:
            raise ValueError("not the policy of a tuning problem: its state must hold knobs and conditions")
        self.knobs = snapshot.spec.action_dim
        self.conditions = snapshot.spec.obs_dim - self.knobs
        self.about = about or About()
        self.tried = self.about.tried
        self.knob_coordinates = self.about.knobs or Coordinates.plain("x", self.knobs, "knobs")
        self.condition_coordinates = self.about.conditions or Coordinates.plain("c", self.conditions, "conditions")
        self._policy = Policy(snapshot)
        self._limit, self._one = self.about.limit, single_mode(self._policy)
        self._knob_items = list(self.knob_coordinates.items())  # of which a query asks too often to make them anew
        self._condition_items = list(self.condition_coordinates.items())
        self._names = frozenset(self.condition_coordinates)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Law":
        """Reads ``law.npz`` of a run directory; nothing in it is executed.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is damaged, or no law.
        """
        return cls(*read_law(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the law as one file, which ``load`` reads with NumPy alone.

        Raises:
            OSError: it cannot be written.
        """
        with open(path, "wb") as file:  # np.savez would add a suffix to a path that has another one
            save_law(file, self._policy.snapshot, self.about)

    def __call__(self, conditions: Any = None, /, **named: Any) -> Any:
        """Returns the knobs for conditions.

        Args:
            conditions: normalised, ``[m, conditions]``, or one row.
            **named: in units, each one value or an array; in place of ``conditions``.

        Returns:
            Knobs ``[m, knobs]`` in [-1, 1], or one row for one row; by name, in units, where conditions are named.

        Raises:
            ValueError: the conditions have another shape or other names, or are not all numbers.
        """
        if conditions is not None and not named:
            return self._normalised(conditions)
        z = self._place(conditions, named)
        if isinstance(z, list) and self._limit is None:
            x = [min(max(value, -1.0), 1.0) for value in self._one(z).tolist()]  # NumPy's clip takes many times as long
            if steps := self._policy.spec.steps:
                x = [value_on_step(value, step) for value, step in zip(x, steps, strict=True)]
            return {name: one.in_units(value) for (name, one), value in zip(self._knob_items, x, strict=True)}
        z = np.asarray(z)
        knobs = self._normalised(z.reshape(-1, self.conditions), named=True).reshape(*z.shape[:-1], self.knobs)
        return self.knob_coordinates.in_units(knobs)

    def __reduce__(self) -> tuple[type["Law"], tuple[Snapshot, About]]:
        return Law, (self._policy.snapshot, self.about)  # what was made of them may hold functions, which no pickle can

    def __repr__(self) -> str:
        knobs, conditions = ", ".join(self.knob_coordinates), ", ".join(self.condition_coordinates)
        return f"<Law of {self.about.problem.get('env', 'a problem')}: {knobs} for {conditions}>"

    def plot(self, path: str | os.PathLike[str] | None = None, at: Mapping[str, Any] | None = None) -> "Figure | None":
        """Draws each knob over each condition, in units, and what was evaluated near that slice.

        It needs matplotlib, the extra ``plot``.

        Args:
            path: file of the picture, such as ``law.png``; None to return it, which a notebook shows.
            at: values of conditions, in units by name, that the others are drawn at; at the centre of its range where
                one is not named.

        Raises:
            ValueError: ``at`` names no condition of the law, or a value outside of its range.
            UsageError: matplotlib is not installed.
        """
        try:
            from actors.pictures import plot  # matplotlib comes with it, which a law does without
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            raise UsageError("Law.plot draws with matplotlib: pip install 'tuninglaw[plot]'") from None
        return plot(self, path, at)

    def _normalised(self, conditions: Any, named: bool = False) -> np.ndarray:
        """Returns knobs in [-1, 1] for conditions in [-1, 1], which were named or not; see ``__call__``."""
        if isinstance(conditions, Mapping):
            raise ValueError("conditions by name are given as law(**conditions)")
        c = np.asarray(conditions, np.float64)
        rows = self._inside(np.atleast_2d(c), c.shape, named)
        knobs = self._policy.valid(self._policy.mode(centre_states(rows, self.knobs)))
        if self._limit is not None:
            knobs = np.clip(knobs, *self._limit.bounds(rows))
        return knobs[0] if c.ndim == 1 else knobs

    def _inside(self, rows: np.ndarray, shape: tuple[int, ...], named: bool = False) -> np.ndarray:
        """Returns conditions ``[m, conditions]`` that lie in the range, or the nearest ones with a warning."""
        if rows.shape[1:] != (self.conditions,):
            raise ValueError(f"conditions of shape {shape} where the law takes [m, {self.conditions}]")
        if np.isnan(rows).any():
            raise ValueError("conditions must not be NaN")
        if np.abs(rows).max(initial=0.0) <= 1:
            return rows
        self._warn(np.flatnonzero((np.abs(rows) > 1 + BEYOND).any(axis=0)).tolist(), named)
        return np.clip(rows, -1, 1)

    def _warn(self, outside: list[int], named: bool) -> None:
        """Warns of conditions, by number, that lie outside of their range; given by name, in units, or not."""
        for name, one in (self._condition_items[j] for j in outside):
            bounds = f"{one.low:g} to {one.high:g}{f' {one.unit}' if one.unit else ''}, on which the law was trained"
            if not named and self.about.conditions is not None:
                bounds = f"-1 to 1, which stand for {bounds} (conditions in units are given by name)"
            what = f"{name} is outside of {bounds}; it gives the knobs of the nearest one"
            warnings.warn(what, OutsideRangeWarning, stacklevel=_frames_of(__file__))

    def _place(self, conditions: Any, named: Mapping[str, Any]) -> Any:
        """Returns normalised conditions, ``[..., conditions]``, for named ones: a list where each is a single value.

        Raises:
            ValueError: names are missing or unknown, or a value is none.
        """
        if conditions is not None or named.keys() != self._names:
            raise ValueError(self._wrong_names(named))
        asked = ""
        try:
            z = [one.normalised(named[asked := name]) for name, one in self._condition_items]
        except UsageError as error:
            raise ValueError(f"{asked} = {error}") from None
        if all(isinstance(value, float) for value in z):
            if max(map(abs, z)) > 1:
                self._warn([j for j, value in enumerate(z) if abs(value) > 1 + BEYOND], named=True)
                z = [min(max(value, -1.0), 1.0) for value in z]
            return z
        try:
            return np.stack(np.broadcast_arrays(*z), axis=-1)
        except ValueError:
            shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in named.items())
            raise ValueError(f"arrays of conditions must have one shape, and have {shapes}") from None

    def _wrong_names(self, named: Mapping[str, Any]) -> str:
        takes = ", ".join(self.condition_coordinates)
        unknown = [name for name in named if name not in self.condition_coordinates]
        if unknown:
            hint = nearest(unknown[0], self.condition_coordinates)
            return f"the law takes no condition {unknown[0]}{hint}; it takes {takes}"
        return f"the law takes {takes}, each once; or normalised conditions [m, {self.conditions}] without names"

    def polish(self, f: Callable[..., Any], /, budget: int = 20, **conditions: Any) -> Polished:
        """Searches near to the law's knobs by f itself, under one condition. Choices are left as the law has them.

        Args:
            f: takes knobs and conditions by name, in units, and returns a number, NaN where it fails, or f and its
                constraints; a function that ``objective`` described is one, and so is what a described class makes.
            budget: evaluations of f at the most.
            **conditions: in units.

        Returns:
            The best knobs that were found: never worse than the law's.

        Raises:
            ValueError: the conditions are not such as the law takes, the budget is no whole number of at least 1, or f
                is of other ones or has to be awaited.
        """
        if not isinstance(budget, numbers.Integral) or budget < 1:
            raise ValueError(f"budget = {budget!r}: must be a whole number of at least 1")
        problem = self.about.problem.get("env", "another problem")
        called = by_name(f, self.knob_coordinates, self.condition_coordinates, problem)
        z = self._place(None, conditions)
        if not isinstance(z, list):
            raise ValueError("a polish is of one condition; give single values")
        free, start = self._policy.spec.unlabelled, self._normalised(z)

        def in_units(x: np.ndarray) -> dict[str, Any]:
            knobs = start.copy()
            knobs[free] = x
            values = zip(self._knob_items, knobs.tolist(), strict=True)
            return {name: one.in_units(value) for (name, one), value in values}

        steps = np.array(self._policy.spec.steps or np.zeros(self.knobs))[free]
        found = polish(lambda x: called(in_units(x) | conditions), start[free], steps, budget if free else 1)
        return Polished(in_units(found.knobs), found.value, found.given, found.evaluations)

    def uncertainty(self, conditions: Any = None, /, **named: Any) -> Any:
        """Returns how uncertain f is at the law's knobs: its standard deviation by the critic, ``[m]`` or one number.

        It takes what the law itself takes.

        Raises:
            ValueError: the law has no critic, or the conditions are not such as the law takes.
        """
        critic = self._policy.snapshot.critic
        if critic is None:
            raise ValueError("the law has no critic: only one that was trained with a model and several components has")
        if isinstance(conditions, Mapping):
            raise ValueError("conditions by name are given as law.uncertainty(**conditions)")
        named_ones = None if conditions is not None and not named else self._place(conditions, named)
        c = np.asarray(conditions if named_ones is None else named_ones, np.float64)
        named_rows = named_ones is not None
        rows = self._inside(c.reshape(-1, self.conditions) if named_rows else np.atleast_2d(c), c.shape, named_rows)
        states = np.concatenate([self._normalised(rows), rows], axis=1)
        mean, std = critic.mean(states), critic.std(states)
        found = critic.unwarped(mean + std) - critic.unwarped(mean)
        return found[0] if c.ndim < 2 else found.reshape(c.shape[:-1])


def _frames_of(file: str) -> int:
    """Returns how many frames of a file lead to this call, so that a warning names the line that called into it."""
    frame, count = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename == file:
        frame, count = frame.f_back, count + 1
    return count
