"""The trajectory of slots, in arrays [E, T, ...], and the merge of the trajectories that drivers send.

A trajectory is held in one buffer, so that it is sent in one write and read without copying or unpickling.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np


class Field(NamedTuple):
    """Type, shape and number of values of a field, for one slot."""

    dtype: np.dtype
    shape: tuple[int, ...]
    size: int


class MergeError(ValueError):
    """Trajectories do not make up a training step; the message names the slot."""


@dataclass(frozen=True)
class Layout:
    """Shapes of a trajectory, which both ends of a pipe know.

    Attributes:
        time_steps: number of time steps of a slot, T.
        obs_dim: size of an observation.
        action_dim: number of values in an action.
        objectives: whether raw objective values are included.
        constraints: number of constraints whose values are included.
    """

    time_steps: int
    obs_dim: int
    action_dim: int
    objectives: bool
    constraints: int = 0

    @functools.cached_property
    def fields(self) -> dict[str, Field]:
        """Fields in the buffer's order; those with 8-byte values come first, so that all are aligned."""
        t = self.time_steps
        shapes: list[tuple[str, type, tuple[int, ...]]] = [
            ("slots", np.int64, ()),
            ("versions", np.int64, ()),
            ("drivers", np.int64, ()),
            ("evaluations", np.int64, ()),
            ("obs", np.float64, (t, self.obs_dim)),
            ("actions", np.float64, (t, self.action_dim)),
            ("logprobs", np.float64, (t,)),
            ("rewards", np.float64, (t,)),
            ("objectives", np.float64, ((t + 1) * self.objectives,)),
            ("constraints", np.float64, ((t + 1) * self.objectives, self.constraints)),
            ("seconds", np.float64, ((t + 1) * self.objectives,)),
            ("final_obs", np.float64, (t, self.obs_dim)),
            ("terminations", np.bool_, (t,)),
            ("truncations", np.bool_, (t,)),
        ]
        return {name: Field(np.dtype(kind), shape, math.prod(shape)) for name, kind, shape in shapes}

    @functools.cached_property
    def slot_bytes(self) -> int:
        """Number of bytes of one slot."""
        return sum(field.dtype.itemsize * field.size for field in self.fields.values())


@dataclass(frozen=True)
class Trajectory:
    """Observations, actions and outcomes of ``n`` slots, not normalised or transformed.

    Attributes:
        slots: slot of each row, ``[n]``.
        versions: version of the policy that acted, ``[n]``.
        drivers: driver that collected each slot, ``[n]``; no result depends on it.
        evaluations: evaluations of f spent on the slot, ``[n]``.
        obs: raw observations, ``[n, T, obs_dim]``.
        actions: actions as sampled, before clipping, ``[n, T, action_dim]``.
        logprobs: log-probabilities of the actions, ``[n, T]``.
        rewards: rewards, ``[n, T]``.
        objectives: f of the start and of each state after it, ``[n, T + 1]``; ``[n, 0]`` where there is no f.
        constraints: values of the constraints there, ``[n, T + 1, constraints]``.
        seconds: how long each of them took to evaluate, of the shape of ``objectives``; no result depends on it.
        final_obs: observation after each time step, before any reset, ``[n, T, obs_dim]``.
        terminations, truncations: ends of episodes, ``[n, T]`` of bool; a slot's last time step is truncated unless it
            is terminated.
        buffer: bytes that hold all the arrays; none where they are a part of another trajectory.
    """

    slots: np.ndarray
    versions: np.ndarray
    drivers: np.ndarray
    evaluations: np.ndarray
    obs: np.ndarray
    actions: np.ndarray
    logprobs: np.ndarray
    rewards: np.ndarray
    objectives: np.ndarray
    constraints: np.ndarray
    seconds: np.ndarray
    final_obs: np.ndarray
    terminations: np.ndarray
    truncations: np.ndarray
    buffer: bytes | bytearray | memoryview

    def __len__(self) -> int:
        return len(self.slots)

    @classmethod
    def over(cls, layout: Layout, n: int, buffer: bytes | bytearray | memoryview) -> "Trajectory":
        """Returns a trajectory of ``n`` slots whose arrays are views of ``buffer``.

        Raises:
            MergeError: the buffer has another length.
        """
        if len(buffer) != n * layout.slot_bytes:
            raise MergeError(f"{len(buffer)} bytes for {n} slots of {layout.slot_bytes} bytes each")
        arrays: dict[str, np.ndarray] = {}
        offset = 0
        for name, field in layout.fields.items():
            flat = np.frombuffer(buffer, field.dtype, n * field.size, offset)
            arrays[name] = flat.reshape(n, *field.shape)
            offset += flat.nbytes
        return cls(**arrays, buffer=buffer)

    def rows(self, layout: Layout, which: np.ndarray) -> "Trajectory":
        """Returns a copy of some of the slots, those of the rows ``which``, ``[n]`` of bool."""
        copy = Trajectory.empty(layout, int(which.sum()))
        for name in layout.fields:
            getattr(copy, name)[:] = getattr(self, name)[which]
        return copy

    def part(self, rows: slice, slots: np.ndarray) -> "Trajectory":
        """Returns contiguous rows under other numbers of their slots, ``[n]``; all other arrays are views."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        views = {name: array[rows] for name, array in arrays.items()}
        return Trajectory(**views | {"slots": slots}, buffer=b"")

    @classmethod
    def empty(cls, layout: Layout, n: int) -> "Trajectory":
        """Returns a writable trajectory of ``n`` slots, filled with zeros."""
        return cls.over(layout, n, bytearray(n * layout.slot_bytes))


class Merger:
    """Merges trajectories as they arrive, in the order of their slots, into one that is allocated once.

    Args:
        layout: shapes that the trajectories must have.
        slots: number of slots in a training step.
    """

    def __init__(self, layout: Layout, slots: int):
        self.layout = layout
        self._merged = Trajectory.empty(layout, slots)
        self._present = np.zeros(slots, bool)
        self.begin(0)

    def begin(self, version: int) -> None:
        """Starts the training step of policy version ``version``; its trajectory overwrites that of the step before."""
        self._version, self._missing = version, len(self._present)
        self._present[:] = False

    @property
    def complete(self) -> bool:
        """Whether every slot has been added."""
        return self._missing == 0

    @property
    def missing(self) -> np.ndarray:
        """Slots that have not been added."""
        return np.flatnonzero(~self._present)

    def lacks(self, slots: np.ndarray) -> np.ndarray:
        """Returns for each of these slots whether it has not been added, ``[n]`` of bool."""
        return ~self._present[slots]

    def check(self, trajectory: Trajectory) -> None:
        """Checks that a trajectory is of this training step, whether its slots have been added or not.

        Raises:
            MergeError: a slot is out of range, of another version or of another shape.
        """
        slots = trajectory.slots
        _check_shapes(trajectory, self.layout)
        if not ((slots >= 0) & (slots < len(self._present))).all():
            outside = slots[(slots < 0) | (slots >= len(self._present))][0]
            raise MergeError(f"slot {outside}: out of range, the step has slots 0 to {len(self._present) - 1}")
        if (trajectory.versions != self._version).any():
            row = int(np.argmax(trajectory.versions != self._version))
            other = trajectory.versions[row]
            raise MergeError(f"slot {slots[row]}: collected by policy version {other}, not by version {self._version}")

    def put(self, trajectory: Trajectory) -> None:
        """Adds the slots of a trajectory that ``check`` has found sound, in any order.

        Raises:
            MergeError: a slot was added twice.
        """
        slots = trajectory.slots
        ascending = (slots[1:] > slots[:-1]).all()  # as those of a driver do; no slot is there twice then
        if self._present[slots].any() or not (ascending or len(np.unique(slots)) == len(trajectory)):
            again = next(slot for i, slot in enumerate(slots) if self._present[slot] or slot in slots[:i])
            raise MergeError(f"slot {again}: its trajectory came twice")
        self._present[slots] = True
        self._missing -= len(slots)
        for name in self.layout.fields:
            getattr(self._merged, name)[slots] = getattr(trajectory, name)

    def add(self, trajectory: Trajectory) -> None:
        """Checks the slots of a trajectory and adds them, in any order.

        Raises:
            MergeError: a slot was added twice, or is out of range, of another version or of another shape.
        """
        self.check(trajectory)
        self.put(trajectory)

    def result(self) -> Trajectory:
        """Returns the merged trajectory, which is valid until ``begin`` is called.

        Raises:
            MergeError: a slot is missing.
        """
        if self._missing:
            raise MergeError(f"slot {int(np.argmin(self._present))}: its trajectory is missing")
        return self._merged


def merge(trajectories: Iterable[Trajectory], layout: Layout, slots: int, version: int) -> Trajectory:
    """Merges trajectories, in any order, into a new one in the order of slots.

    Args:
        trajectories: trajectories that together hold slots 0 .. ``slots`` - 1, each once.
        layout: shapes that the trajectories must have.
        slots: number of slots in the training step.
        version: version of the policy that must have acted.

    Raises:
        MergeError: a slot is missing, present twice, out of range, of another version or of another shape.
    """
    merger = Merger(layout, slots)
    merger.begin(version)
    for trajectory in trajectories:
        merger.add(trajectory)
    return merger.result()


def _check_shapes(trajectory: Trajectory, layout: Layout) -> None:
    """Checks the types and shapes of all arrays of a trajectory."""
    for name, field in layout.fields.items():
        array, expected = getattr(trajectory, name), (len(trajectory.slots), *field.shape)
        if array.shape != expected or array.dtype != field.dtype:
            raise MergeError(
                f"slot {trajectory.slots[0] if len(trajectory.slots) else '?'}: {name} is {array.dtype} {array.shape}, "
                f"expected {field.dtype} {expected}"
            )
