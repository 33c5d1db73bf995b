"""Updates whose values are not finite are taken back: what they were to change stays as it was before."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from actors.trajectory import Trajectory
from ppo.algorithm.state import State, prefixed

if TYPE_CHECKING:
    from ppo.algorithm.losses import Batch
    from ppo.config import ResolvedConfig

Scalars = dict[str, float]
LOSSES = ("policy_loss", "value_loss", "gate_loss", "entropy")
BATCH = ("obs", "actions", "logprobs", "values", "returns", "advantages")
"""Arrays of a batch in the order in which they are made."""
TOO_LARGE = "rewards are so large that their squares overflow; scale them down (f, with --transform symlog)"


class Stateful(Protocol):
    """What can be taken back to a state that it was in."""

    def state(self) -> State:
        """Returns a copy of the state."""

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""


class Undoable(Stateful, Protocol):
    """What an update changes: a learner, of which the attributes are those of ``ppo.algorithm.learner.Learner``."""

    config: "ResolvedConfig"
    step: int
    live: np.ndarray
    dropped: list["NotFiniteError"]

    @property
    def parts(self) -> tuple[Stateful, ...]:
        """What an update changes beside ``live``."""


L = TypeVar("L", bound=Undoable)


class NotFiniteError(FloatingPointError):
    """A value of an update is NaN or infinite.

    Args:
        step: training step.
        what: the first value that was not finite, and what else there is to say of it.

    Attributes:
        step, what: the same.
        arrays: the slots that were learned from, and the learner's state before, by name; empty where not kept.
    """

    def __init__(self, step: int, what: str):
        super().__init__(step, what)
        self.step, self.what = step, what
        self.arrays: State = {}

    def __str__(self) -> str:
        return f"training step {self.step}: not finite: {self.what}"


def check_minibatch(step: int, batch: "Batch", losses: Scalars, norm: float) -> None:
    """Checks what a minibatch gave: its losses, of which some may not have been computed, and its gradient's norm.

    Raises:
        NotFiniteError: one of them is not finite; the text names an array of the batch where that is the cause.
    """
    wrong = [name for name in LOSSES if name in losses and not math.isfinite(losses[name])]
    if not wrong and math.isfinite(norm):
        return
    arrays = ((name, getattr(batch, name)) for name in BATCH)
    # Compared instead of asked for, so that it may be a tensor on a device as well.
    cause = next((name for name, array in arrays if array is not None and not (abs(array) < math.inf).all()), None)
    what = f"the {wrong[0].replace('_', ' ')}" if wrong else "the norm of the gradient"
    raise NotFiniteError(step, f"the {cause} of the batch, and so {what}" if cause else what)


def check_array(step: int, what: str, array: np.ndarray) -> None:
    """Raises NotFiniteError if a value of an array is not finite."""
    if not np.isfinite(array).all():
        raise NotFiniteError(step, what)


def guarded(learner: Undoable, trajectory: Trajectory, update: Callable[[], Scalars], where: str = "") -> Scalars:
    """Makes an update of a learner's parts and of which components are in use; all of it, or none.

    Args:
        learner: whose they are.
        trajectory: what is learned from.
        update: makes the update.
        where: what a message says before what was not finite.

    Returns:
        What ``update`` returned; nothing where it was taken back and the learner may go on, which notes it then in
        ``dropped``.

    Raises:
        NotFiniteError: it was taken back, and the configuration says to stop.
    """
    before, live = [part.state() for part in learner.parts], learner.live
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what they lead to is looked at
            return update()
    except NotFiniteError as error:
        for part, state in zip(learner.parts, before, strict=True):
            part.restore(state)
        learner.live = live
        error.step, error.what = learner.step, where + error.what
        if not learner.dropped:  # one a training step is enough to look at
            error.arrays = prefixed("trajectory", _arrays(trajectory)) | prefixed("state", learner.state())
        if learner.config.on_nan == "stop":
            raise
        learner.dropped.append(error)
        return {}


def whole_or_not_at_all(learn: Callable[[L, Trajectory], Scalars]) -> Callable[[L, Trajectory], Scalars]:
    """Makes a method that learns from a round leave the state as it was before where it raises NotFiniteError."""

    @functools.wraps(learn)
    def learned(learner: L, trajectory: Trajectory) -> Scalars:
        if learner.config.on_nan != "stop":
            return learn(learner, trajectory)
        before = learner.state()
        try:
            return learn(learner, trajectory)
        except NotFiniteError:
            learner.restore(before)
            raise

    return learned


def _arrays(trajectory: Trajectory) -> State:
    """Returns the arrays of a trajectory by name, as views."""
    names = [field.name for field in dataclasses.fields(trajectory) if field.name != "buffer"]
    return {name: getattr(trajectory, name) for name in names}
