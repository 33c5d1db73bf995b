"""From the name of a problem to a batched environment by the conventions of ``gymnasium.vector.VectorEnv``."""

import functools
import importlib
from dataclasses import dataclass
from typing import Any, Literal, cast

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from env.errors import UsageError, nearest
from env.objectives import OBJECTIVES, Objective
from env.tuning import TuningVectorEnv

TUNING_TIME_STEPS = 2


@dataclass(frozen=True)
class Problem:
    """What a learner or a driver needs to build the environment: plain values, so that it travels to a process.

    Attributes:
        env: a built-in objective, a Gymnasium id, or ``package.module:Class`` of an ``Objective`` or a
            ``gymnasium.Env``.
        dims: number of coordinates of a built-in objective (None: 2).
        knobs: how many of them are tuned (None: 1).
        time_steps: length of a slot (None: 2 for an objective, the time limit of any other environment).
        evaluation_cost_ms: latency added to each row of an objective's evaluation.
    """

    env: str
    dims: int | None = None
    knobs: int | None = None
    time_steps: int | None = None
    evaluation_cost_ms: float = 0.0

    @property
    def family(self) -> Literal["tuning", "control"]:
        return "control" if self.objective() is None else "tuning"

    def objective(self) -> Objective | None:
        """The objective of a tuning problem, else None."""
        target = resolve(self.env)
        is_objective = isinstance(target, type) and issubclass(target, Objective)
        if is_objective and target in OBJECTIVES.values():
            given = {"dims": self.dims, "knobs": self.knobs}
            return cast(Any, target)(**{name: value for name, value in given.items() if value is not None})
        for flag, value in (("--dims", self.dims), ("--knobs", self.knobs)):
            if value is not None:
                raise UsageError(f"{flag} {value}: only the built-in objectives take it, --env {self.env} sets its own")
        return cast(Any, target)() if is_objective else None

    def slot_length(self) -> int:
        """Time steps of a slot: ``time_steps``, or the default of the environment."""
        if self.time_steps is not None:
            return self.time_steps
        if self.family == "tuning":
            return TUNING_TIME_STEPS
        return self.episode_limit() or _no_limit(self.env)

    def episode_limit(self) -> int | None:
        """The environment's own time limit, if it has one."""
        env = self._single()
        limit = env.spec.max_episode_steps if env.spec else None
        env.close()
        return limit

    def make_batch(self, num_envs: int) -> VectorEnv:
        """Builds a batch of rows that never resets by itself (``AutoresetMode.DISABLED``)."""
        objective = self.objective()
        if objective is not None:
            return TuningVectorEnv(objective, num_envs, self.slot_length(), self.evaluation_cost_ms)
        batch = SyncVectorEnv([self._single] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
        if not isinstance(batch.single_action_space, spaces.Box | spaces.Discrete):
            raise UsageError(
                f"--env {self.env}: actions {batch.single_action_space} are not supported, only Box and Discrete are"
            )
        return batch

    def _single(self) -> gymnasium.Env:
        target = resolve(self.env)
        env = gymnasium.make(target) if isinstance(target, str) else cast(Any, target)()
        space = env.observation_space
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            return env
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise UsageError(f"--env {self.env}: observations {space} are not supported, only Box and Discrete are")
        return gymnasium.wrappers.FlattenObservation(env)


def _no_limit(env: str) -> int:
    raise UsageError(f"--time-steps is needed: --env {env} has no time limit of its own")


def import_object(flag: str, path: str) -> Any:
    """Imports ``package.module:Name``; ``flag`` is the one to blame when that fails."""
    module_name, _, name = path.partition(":")
    if module_name == "__main__":
        raise UsageError(f"{flag} {path}: put it in a module of its own; drivers do not run the main program again")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise  # the user's module exists, and what it imports does not
        raise UsageError(f"{flag} {path}: no module named '{module_name}' can be imported from here") from None
    if not hasattr(module, name):
        raise UsageError(f"{flag} {path}: module '{module_name}' has no '{name}'{nearest(name, vars(module))}")
    return getattr(module, name)


@functools.lru_cache
def resolve(env: str) -> type | str:
    """What ``--env`` names: a class (an ``Objective`` or a ``gymnasium.Env``), or a registered Gymnasium id."""
    if env in OBJECTIVES:
        return OBJECTIVES[env]
    for objective in OBJECTIVES.values():
        if env == f"tuninglaw/{objective.__name__}-v0":
            return objective
    if ":" in env:
        target = import_object("--env", env)
        if isinstance(target, type) and issubclass(target, Objective | gymnasium.Env):
            return target
        raise UsageError(f"--env {env}: must be a subclass of env.Objective or of gymnasium.Env")
    try:
        gymnasium.spec(env)
    except gymnasium.error.Error:
        known = [*OBJECTIVES, *gymnasium.registry]
        raise UsageError(
            f"--env {env}: unknown{nearest(env, known)}; known are {', '.join(OBJECTIVES)}, any registered "
            f"Gymnasium id and package.module:Class"
        ) from None
    return env
