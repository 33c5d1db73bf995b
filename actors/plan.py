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
