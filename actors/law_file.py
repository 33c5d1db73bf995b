"""``law.npz``: a law or a policy in one file, which NumPy alone reads, and what it is of.

It holds the bytes of a snapshot, a JSON text ``about``, and a sample of what was evaluated in training, ``tried``.
Files of version 0.1 hold the snapshot alone.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from actors.npz import read_npz
from actors.snapshot import Snapshot
from env.coordinates import Coordinates

PARTS = ("problem", "observations", "actions", "provenance")
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
        tried: a sample of what was evaluated, which pictures show; an array of its own in the file. None for nothing.
    """

    problem: Mapping[str, Any] = field(default_factory=dict)
    knobs: Coordinates | None = None
    conditions: Coordinates | None = None
    observations: Mapping[str, Any] | None = None
    actions: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tried: Tried | None = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """Returns the text of the file."""
        content: dict[str, Any] = {"format": FORMAT, "problem": dict(self.problem)}
        if self.knobs is not None and self.conditions is not None:
            content |= {"knobs": self.knobs.as_json(), "conditions": self.conditions.as_json()}
        if self.observations is not None and self.actions is not None:
            content |= {"observations": dict(self.observations), "actions": dict(self.actions)}
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
    if not {"snapshot"} <= set(arrays) <= {"snapshot", "about", "tried"} or any(
        part.dtype != np.uint8 or part.ndim != 1 for part in parts
    ):
        raise ValueError(f"{what} (it does not hold the bytes of a snapshot)")
    try:
        snapshot = Snapshot.from_bytes(parts[0].tobytes())
        about = About.from_bytes(parts[1].tobytes()) if "about" in arrays else About()
        _check_sizes(snapshot, about)
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
    np.savez(file, **arrays)


def _read_tried(array: np.ndarray, snapshot: Snapshot, about: About) -> Tried:
    """Returns what was tried, of the array in a file.

    Raises:
        ValueError: it is damaged, or the policy is that of no tuning problem.
    """
    if about.actions is not None or snapshot.spec.head != "gaussian":
        raise ValueError("it holds what was tried, and is the policy of no tuning problem")
    return Tried.from_array(array, snapshot.spec.action_dim, snapshot.spec.obs_dim)


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
