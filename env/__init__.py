"""Problems: objectives, the learn-to-optimise MDP over them, and batches of any Gymnasium environment.

Policies, learning and drivers may not live here, and nothing here imports actors, ppo or torch. Importing the package
registers the ``tuninglaw/...`` and ``TempControl-...`` ids with Gymnasium. Where a law is deployed with NumPy alone,
there is no Gymnasium, and only the names, units and ranges of knobs and conditions are to be had.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from env.errors import UsageError
from env.kinds import Choice, Integer, Log, Range
from env.objectives import OBJECTIVES, Objective, bench, objective

if TYPE_CHECKING:
    from env.description import Description
    from env.make import Problem
    from env.temp_control import TempControlEnv, TempControlVectorEnv
    from env.tuning import TuningEnv, TuningVectorEnv

_HOMES = {
    "Description": "env.description",
    "Problem": "env.make",
    "TempControlEnv": "env.temp_control",
    "TempControlVectorEnv": "env.temp_control",
    "TuningEnv": "env.tuning",
    "TuningVectorEnv": "env.tuning",
}
"""Modules of the names that need Gymnasium, loaded when they are first used: a law is there sooner."""
__all__ = [
    "OBJECTIVES",
    "Choice",
    "Description",
    "Integer",
    "Log",
    "Objective",
    "Problem",
    "Range",
    "TempControlEnv",
    "TempControlVectorEnv",
    "TuningEnv",
    "TuningVectorEnv",
    "UsageError",
    "bench",
    "objective",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'env' has no attribute '{name}'")


if importlib.util.find_spec("gymnasium"):
    import gymnasium

    from env.temp_control import STEPS

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
