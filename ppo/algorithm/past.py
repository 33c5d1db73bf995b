"""The policies of the last training steps, under which those to come are collected while the learner learns."""

from collections import deque

import numpy as np

from actors.snapshot import NetworkSpec, Snapshot
from ppo.algorithm.state import State


class Past:
    """Policies of the last ``lag`` training steps, the oldest first. Without a lag none is kept.

    Args:
        lag: how many.
    """

    def __init__(self, lag: int):
        self._lag = lag
        self._kept: deque[Snapshot] = deque(maxlen=lag)

    def add(self, snapshot: Snapshot) -> None:
        """Keeps the policy of the training step that is done now."""
        self._kept.append(snapshot)

    def of(self, version: int) -> Snapshot:
        """Returns the policy of a version that is kept."""
        return next(one for one in self._kept if one.version == version)

    def state(self) -> State:
        """Returns the policies as messages, ``[bytes]`` each, by their versions."""
        return {str(one.version): np.frombuffer(one.to_bytes(), np.uint8) for one in self._kept}

    def restore(self, state: State, step: int, spec: NetworkSpec) -> None:
        """Takes over what ``state`` returned in training step ``step``, where the policy's network is ``spec``.

        Raises:
            ValueError: these are not the policies of the training steps before it.
        """
        kept = sorted((Snapshot.from_bytes(array.tobytes()) for array in state.values()), key=lambda one: one.version)
        versions = [one.version for one in kept]
        if versions != list(range(max(0, step - self._lag), step)) or any(one.spec != spec for one in kept):
            raise ValueError(f"policies of versions {versions} before training step {step}")
        self._kept = deque(kept, maxlen=self._lag)
