"""Problems: objectives, the learn-to-optimise MDP over them, and how to batch any Gymnasium environment.

Knows nothing of learning and loads no torch. Importing it registers the ``tuninglaw/...`` ids with Gymnasium.
"""

import gymnasium

from env.errors import UsageError
from env.make import Problem
from env.objectives import OBJECTIVES, Objective
from env.tuning import TuningEnv, TuningVectorEnv

__all__ = ["OBJECTIVES", "Objective", "Problem", "TuningEnv", "TuningVectorEnv", "UsageError"]

for _name, _objective in OBJECTIVES.items():
    gymnasium.register(
        id=f"tuninglaw/{_objective.__name__}-v0",
        entry_point="env.tuning:TuningEnv",
        vector_entry_point="env.tuning:TuningVectorEnv",
        kwargs={"objective": _name},
    )
