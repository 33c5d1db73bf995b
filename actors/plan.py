"""The plan of a round: the start and the action of each slot, which the learner chose and drivers execute."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Plan:
    """Starts and actions of the slots of a planned round, each of one time step.

    Attributes:
        starts: start states, ``[E, obs_dim]``.
        actions: what is done there, ``[E, action_dim]``.
    """

    ARRAYS: ClassVar = ("starts", "actions")
    starts: np.ndarray
    actions: np.ndarray

    def check(self, obs_dim: int, action_dim: int) -> None:
        """Checks a plan that was read.

        Raises:
            ValueError: its arrays do not belong together, or are not those of such observations and actions.
        """
        slots = self.starts.shape[:1]
        if self.starts.shape != (*slots, obs_dim) or self.actions.shape != (*slots, action_dim) or not slots:
            raise ValueError(f"a plan of starts {self.starts.shape} and actions {self.actions.shape}")
