"""Problems: objectives, the learn-to-optimise MDP over them, and batches of any Gymnasium environment.

Policies, learning and drivers may not live here, and nothing here imports actors, ppo or torch. Importing the package
registers the ``tuninglaw/...`` and ``TempControl-...`` ids with Gymnasium.
"""

import gymnasium

from env.description import Description
from env.errors import UsageError
from env.make import Problem
from env.objectives import OBJECTIVES, Objective
from env.temp_control import STEPS, TempControlEnv, TempControlVectorEnv
from env.tuning import TuningEnv, TuningVectorEnv

__all__ = [
    "OBJECTIVES",
    "Description",
    "Objective",
    "Problem",
    "TempControlEnv",
    "TempControlVectorEnv",
    "TuningEnv",
    "TuningVectorEnv",
    "UsageError",
]

for _name, _objective in OBJECTIVES.items():
    gymnasium.register(
        id=f"tuninglaw/{_objective.__name__}-v0",
        entry_point="env.tuning:TuningEnv",
        vector_entry_point="env.tuning:TuningVectorEnv",
        kwargs={"objective": _name},
    )

for _version, _plant in enumerate(("published", "controllable")):
    gymnasium.register(
        id=f"TempControl-v{_version}",
        entry_point="env.temp_control:TempControlEnv",
        vector_entry_point="env.temp_control:TempControlVectorEnv",
        max_episode_steps=STEPS,
        kwargs={"plant": _plant},
    )
