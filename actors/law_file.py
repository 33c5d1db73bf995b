"""``law.npz``: a law or a policy in one file, which NumPy alone reads, and what it is of.

It holds the bytes of a snapshot, a JSON text ``about``, a sample of what was evaluated in training, ``tried``, and,
where its knobs may not be far from those of a start law, the bytes of the snapshot of that one, ``start_0`` and so on.
Files of version 0.1 hold the snapshot alone.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from actors.npz import read_npz
from actors.snapshot import NetworkSpec, Snapshot
from actors.step_limit import StepLimit
from env.coordinates import Coordinates

PARTS = ("problem", "observations", "actions", "provenance")
START = "start_"
FORMAT = 1
"""Version of the text; a file with a later one is refused."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A sample of what was evaluated in training.

    Attributes:
        x: normalised knobs, ``[n, knobs]``.
        c: normalised conditions, ``[n, conditions]``.
        f: values, ``[n]``; NaN where f failed.
    """

    x: np.ndarray
    c: np.ndarray
    f: np.ndarray

    def to_array(self) -> np.ndarray:
        """Returns the array of the file, ``[n, knobs + conditions + 1]``."""
        return np.column_stack([self.x, self.c, self.f]).astype(np.float64)

    @classmethod
    def from_array(cls, array: np.ndarray, knobs: int, dims: int) -> "Tried":
        """Reads the array of a file.

        Args:
            array: what the file holds.
            knobs: number of knobs.
            dims: number of knobs and conditions together.

        Raises:
            ValueError: it is damaged, or of another law.
        """
        if array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != dims + 1:
            raise ValueError("what was tried is no array of knobs, conditions and f")
        if not (np.abs(array[:, :dims]) <= 1).all() or np.isinf(array[:, dims]).any():
            raise ValueError("what was tried holds knobs or conditions outside of [-1, 1], or an infinite f")
        return cls(array[:, :knobs], array[:, knobs:dims], array[:, dims])


@dataclass(frozen=True)
class About:
    """What a law is of, and how it came about.

    Attributes:
        problem: the environment and its keywords, ``env`` and ``env_kwargs``.
        knobs, conditions: names, units, ranges and kinds; None outside tuning.
        observations, actions: spaces of an environment, by ``env.spaces``; None for a tuning problem.
        provenance: the run: its configuration, digest, evaluations and judgements.
        limit: how far knobs may lie from those of a start law; None for no limit.
        tried: a sample of what was evaluated, which pictures show; an array of its own in the file. None for nothing.
    """

    problem: Mapping[str, Any] = field(default_factory=dict)
    knobs: Coordinates | None = None
    conditions: Coordinates | None = None
    observations: Mapping[str, Any] | None = None
    actions: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    limit: StepLimit | None = field(default=None, compare=False)
    tried: Tried | None = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """Returns the text of the file."""
        content: dict[str, Any] = {"format": FORMAT, "problem": dict(self.problem)}
        if self.knobs is not None and self.conditions is not None:
            content |= {"knobs": self.knobs.as_json(), "conditions": self.conditions.as_json()}
        if self.observations is not None and self.actions is not None:
            content |= {"observations": dict(self.observations), "actions": dict(self.actions)}
        if self.limit is not None:
            content["step_limits"] = list(self.limit.reaches)
        return json.dumps(content | {"provenance": dict(self.provenance)}, allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> "About":
        """Reads the text of a file.

        Raises:
            ValueError: it is damaged, or a later version wrote it.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("what it says of itself is not JSON") from None
        if not isinstance(content, dict) or type(content.get("format")) is not int:
            raise ValueError("what it says of itself is no description of a law")
        if content["format"] > FORMAT:
            raise ValueError(f"a later version of this program wrote it, in format {content['format']}")
        parts: dict[str, Any] = {name: content[name] for name in PARTS if name in content}
        if (
            not all(isinstance(part, dict) for part in parts.values())
            or ("observations" in parts) != ("actions" in parts)
            or ("knobs" in content) != ("conditions" in content)
        ):
            raise ValueError("what it says of itself is no description of a law")
        for name in ("knobs", "conditions"):
            if name in content:
                parts[name] = Coordinates.from_json(content[name], name)
        return cls(**parts)


def read_law(path: str | os.PathLike[str]) -> tuple[Snapshot, About]:
    """Reads the snapshot in a ``law.npz`` and what it is of; nothing in it is executed.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or no law.
    """
    what = f"{os.fspath(path)} is damaged, or no law"
    arrays = read_npz(path, what)
    parts = [arrays.get(name, np.zeros(0, np.uint8)) for name in ("snapshot", "about")]
    starts = {name for name in arrays if name.startswith(START)}
    if not {"snapshot"} <= set(arrays) <= {"snapshot", "about", "tried"} | starts or any(
        part.dtype != np.uint8 or part.ndim != 1 for part in parts
    ):
        raise ValueError(f"{what} (it does not hold the bytes of a snapshot)")
    try:
        snapshot = Snapshot.from_bytes(parts[0].tobytes())
        about = About.from_bytes(parts[1].tobytes()) if "about" in arrays else About()
        _check_sizes(snapshot, about)
        about = replace(about, limit=_read_limit(parts[1].tobytes(), arrays, snapshot))
        if "tried" in arrays:
            about = replace(about, tried=_read_tried(arrays["tried"], snapshot, about))
    except ValueError as error:
        raise ValueError(f"{what} ({error})") from None
    return snapshot, about


def load_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Reads the snapshot in a ``law.npz``; see ``read_law``."""
    return read_law(path)[0]


def save_law(file: str | os.PathLike[str] | BinaryIO, snapshot: Snapshot, about: About | None = None) -> None:
    """Writes a snapshot, and what it is of, as ``law.npz``."""
    parts = {"snapshot": snapshot.to_bytes()} | ({} if about is None else {"about": about.to_bytes()})
    arrays: dict[str, Any] = {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}
    if about is not None and about.tried is not None:
        arrays["tried"] = about.tried.to_array()
    for number, start in enumerate(about.limit.starts if about is not None and about.limit is not None else ()):
        arrays[f"{START}{number}"] = np.frombuffer(start.to_bytes() if start is not None else b"", np.uint8)
    np.savez(file, **arrays)


def _read_tried(array: np.ndarray, snapshot: Snapshot, about: About) -> Tried:
    """Returns what was tried, of the array in a file.

    Raises:
        ValueError: it is damaged, or the policy is that of no tuning problem.
    """
    if about.actions is not None or snapshot.spec.head != "gaussian":
        raise ValueError("it holds what was tried, and is the policy of no tuning problem")
    return Tried.from_array(array, snapshot.spec.action_dim, snapshot.spec.obs_dim)


def _read_limit(text: bytes, arrays: Mapping[str, np.ndarray], law: Snapshot) -> StepLimit | None:
    """Returns how far a law's knobs may lie from those of a start law; None where the file has no limit.

    Raises:
        ValueError: it is damaged, or of other knobs and conditions.
    """
    starts = [array for name, array in arrays.items() if name.startswith(START)]
    reaches = json.loads(text).get("step_limits", []) if text else []
    names = {f"{START}{number}" for number in range(len(starts))}
    if not isinstance(reaches, list) or len(reaches) != len(starts) or not names <= set(arrays):
        raise ValueError("its start laws are not those of its step limits")
    if not starts:
        return None
    if not all(type(reach) in (int, float) and 0 < reach <= 1 for reach in reaches):
        raise ValueError("a step limit that is no share of a range")
    parts = [arrays[f"{START}{number}"] for number in range(len(starts))]
    if any(part.dtype != np.uint8 or part.ndim != 1 for part in parts) or not all(part.size for part in parts[1:]):
        raise ValueError("a start law without the bytes of a snapshot")
    snapshots = [Snapshot.from_bytes(part.tobytes()) if part.size else None for part in parts]
    if not all(start is None or same_knobs(start.spec, law.spec) for start in snapshots):
        raise ValueError("a start law of other knobs or conditions")
    return StepLimit(tuple(snapshots), tuple(reaches), law.spec.steps, law.spec.action_dim)


def same_knobs(spec: NetworkSpec, other: NetworkSpec) -> bool:
    """Returns whether two policies are of knobs and conditions of the same number and kinds."""
    names = ("obs_dim", "head", "action_dim", "steps", "labelled")
    return all(getattr(spec, name) == getattr(other, name) for name in names)


def _check_sizes(snapshot: Snapshot, about: About) -> None:
    """Checks that a description is of a policy.

    Raises:
        ValueError: it is of another one.
    """
    if about.knobs is None or about.conditions is None:
        return
    ours, theirs = (snapshot.spec.action_dim, snapshot.spec.obs_dim), (len(about.knobs), len(about.conditions))
    if ours != (theirs[0], sum(theirs)):
        raise ValueError(f"it describes {theirs[0]} knobs and {theirs[1]} conditions, and its policy has others")
