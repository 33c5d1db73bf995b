"""A deployed tuning law, which maps conditions to knobs and needs NumPy alone."""

import os
from typing import Any, BinaryIO

import numpy as np

from actors.npz import read_npz
from actors.policy import Policy
from actors.snapshot import Snapshot


class Law:
    """Maps conditions to the knobs that minimise the objective it was trained on: ``law(c) -> x``.

    The knobs are the policy's mean action, clipped to [-1, 1], at the state (0, c), in which each knob is at the centre
    of its range. It was trained on conditions in [-1, 1]; beyond them it extrapolates, without a word.

    Args:
        snapshot: snapshot of a policy that was trained on a tuning problem.

    Raises:
        ValueError: the policy is not that of a tuning problem.
    """

    def __init__(self, snapshot: Snapshot):
        if snapshot.spec.head != "gaussian" or snapshot.spec.obs_dim <= snapshot.spec.action_dim:
            raise ValueError("not the policy of a tuning problem: its state must hold knobs and conditions")
        self.knobs = snapshot.spec.action_dim
        self.conditions = snapshot.spec.obs_dim - self.knobs
        self._policy = Policy(snapshot)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Law":
        """Reads ``law.npz`` of a run directory; nothing in it is executed."""
        return cls(load_snapshot(path))

    def __call__(self, conditions: Any) -> np.ndarray:
        """Returns knobs ``[m, knobs]`` in [-1, 1] for conditions ``[m, conditions]``, or one row for one row.

        Raises:
            ValueError: the conditions have another shape.
        """
        c = np.asarray(conditions, np.float64)
        rows = np.atleast_2d(c)
        if rows.shape[1:] != (self.conditions,):
            raise ValueError(f"conditions of shape {c.shape} where the law takes [m, {self.conditions}]")
        knobs = np.clip(self._policy.mode(centre_states(rows, self.knobs)), -1, 1)
        return knobs[0] if c.ndim == 1 else knobs

    def uncertainty(self, conditions: Any) -> np.ndarray:
        """Returns how uncertain f is at the law's knobs: its standard deviation by the critic, ``[m]`` or one number.

        Raises:
            ValueError: the law has no critic, or the conditions have another shape.
        """
        critic = self._policy.snapshot.critic
        if critic is None:
            raise ValueError("the law has no critic: only one that was trained with a model and several components has")
        rows = np.atleast_2d(np.asarray(conditions, np.float64))
        states = np.concatenate([np.atleast_2d(self(rows)), rows], axis=1)
        mean, std = critic.mean(states), critic.std(states)
        found = critic.unwarped(mean + std) - critic.unwarped(mean)
        return found[0] if np.ndim(conditions) == 1 else found


def centre_states(conditions: np.ndarray, knobs: int) -> np.ndarray:
    """Returns the states ``[m, knobs + conditions]`` at which a law is evaluated, with the knobs at 0."""
    return np.concatenate([np.zeros((len(conditions), knobs)), conditions], axis=1)


def load_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Reads the snapshot in a ``law.npz``; nothing in it is executed.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or no law.
    """
    what = f"{os.fspath(path)} is damaged, or no law"
    arrays = read_npz(path, what)
    message = arrays.get("snapshot")
    if len(arrays) != 1 or message is None or message.dtype != np.uint8 or message.ndim != 1:
        raise ValueError(f"{what} (it does not hold the bytes of a snapshot)")
    try:
        return Snapshot.from_bytes(message.tobytes())
    except ValueError as error:
        raise ValueError(f"{what} ({error})") from None


def save_law(file: str | os.PathLike[str] | BinaryIO, snapshot: Snapshot) -> None:
    """Writes a snapshot as ``law.npz``."""
    np.savez(file, snapshot=np.frombuffer(snapshot.to_bytes(), np.uint8))
