"""From the name of a problem to a batched environment by the conventions of ``gymnasium.vector.VectorEnv``."""

import ast
import contextlib
import dataclasses
import functools
import importlib
import inspect
import json
import re
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv

from env.errors import UsageError, nearest
from env.objectives import OBJECTIVES, Objective
from env.starts import STATES, ClassicStart, RowsVectorEnv
from env.tuning import TuningVectorEnv

TUNING_TIME_STEPS = 2


@dataclass(frozen=True)
class Problem:
    """What a learner or a driver needs to build the environment: plain values, so that it travels to a process.

    Attributes:
        env: a built-in objective, a Gymnasium id, ``package.module:Id-v0`` of one that a module registers, or
            ``package.module:Class`` of an ``Objective`` or a ``gymnasium.Env``.
        dims: number of coordinates of a built-in objective (None: 2).
        knobs: how many of them are tuned (None: 1).
        time_steps: length of a slot (None: 2 for an objective, the time limit of any other environment).
        evaluation_cost_ms: latency added to each row of an objective's evaluation.
        env_kwargs: keywords for the environment or objective, ``name=value`` each; values as JSON, or else text.
    """

    env: str
    dims: int | None = None
    knobs: int | None = None
    time_steps: int | None = None
    evaluation_cost_ms: float = 0.0
    env_kwargs: tuple[str, ...] = ()

    @property
    def keywords(self) -> dict[str, Any]:
        """What the environment is made with."""
        pairs = [_keyword(word) for word in self.env_kwargs]
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"--env-kwargs {' '.join(self.env_kwargs)}: {name} is given more than once")
        return dict(pairs)

    @property
    def family(self) -> Literal["tuning", "control"]:
        target = resolve(self.env)
        return "tuning" if isinstance(target, type) and issubclass(target, Objective) else "control"

    def objective(self) -> Objective | None:
        """A new objective, of a tuning problem; else None."""
        target: Any = resolve(self.env)
        if target in OBJECTIVES.values():
            given = {"dims": self.dims, "knobs": self.knobs}
            return self._made(target, {name: value for name, value in given.items() if value is not None})
        for flag, value in (("--dims", self.dims), ("--knobs", self.knobs)):
            if value is not None:
                raise UsageError(f"{flag} {value}: only the built-in objectives take it, --env {self.env} sets its own")
        return self._made(target) if self.family == "tuning" else None

    def __getstate__(self) -> dict[str, Any]:
        """With what another process needs to register the id, since it does not run the program that did."""
        target = resolve(self.env)
        spec = None
        if isinstance(target, str) and ":" not in self.env:
            made_by = gymnasium.spec(target).entry_point
            if not isinstance(made_by, str) or made_by.startswith("__main__:"):
                raise UsageError(
                    f"--env {self.env}: driver processes cannot make it, since its entry point is {made_by}; register "
                    f"it as 'package.module:Class', or use --drivers 0 or --backend thread"
                )
            try:
                spec = gymnasium.spec(target).to_json()
            except ValueError as error:  # of a vector entry point or a wrapper that is no text
                raise UsageError(f"--env {self.env}: driver processes cannot make it: {error}") from None
        return dataclasses.asdict(self) | {"spec": spec}

    def __setstate__(self, state: dict[str, Any]) -> None:
        spec = state.pop("spec")
        self.__dict__.update(state)
        if spec is not None:
            gymnasium.registry.setdefault(self.env, EnvSpec.from_json(spec))

    def slot_length(self) -> int:
        """Time steps of a slot: ``time_steps``, or the default of the environment."""
        if self.time_steps is not None:
            return self.time_steps
        if self.family == "tuning":
            return TUNING_TIME_STEPS
        return self.episode_limit() or _no_limit(self.env)

    def episode_limit(self) -> int | None:
        """The environment's own time limit, if it has one."""
        with contextlib.closing(self.make_single()) as env:
            return env.spec.max_episode_steps if env.spec else None

    def reward_threshold(self) -> float | None:
        """The return at which Gymnasium holds the environment to be solved, if it names one."""
        with contextlib.closing(self.make_single()) as env:
            return env.spec.reward_threshold if env.spec else None

    def action_space(self) -> spaces.Space:
        """Of one environment."""
        with contextlib.closing(self.make_single()) as env:
            return env.action_space

    def make_batch(self, num_envs: int, objective: Objective | None) -> VectorEnv:
        """Builds a batch of rows that never resets by itself (``AutoresetMode.DISABLED``).

        Args:
            num_envs: number of rows.
            objective: what ``objective`` returned; several batches may share it.
        """
        if objective is not None:
            return TuningVectorEnv(objective, num_envs, self.slot_length(), self.evaluation_cost_ms)
        if (native := self._native(num_envs)) is not None:
            return native
        batch = RowsVectorEnv([self.make_single] * num_envs)
        if not isinstance(batch.single_action_space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete):
            raise UsageError(
                f"--env {self.env}: actions {batch.single_action_space} are not supported, only Box, Discrete and "
                f"MultiDiscrete are"
            )
        return batch

    def _native(self, num_envs: int) -> VectorEnv | None:
        """The environment's own batched form, where that is one for a rollout.

        It declares in its metadata that ``reset`` takes a seed for each row, all that a row's randomness depends on
        (``keyed_rows``), and that rows never reset by themselves; it takes the time limit that is registered, as
        ``gymnasium.make_vec`` gives it; and it observes a flat Box.
        """
        target, keywords = resolve(self.env), self.keywords
        spec = gymnasium.spec(target) if isinstance(target, str) else None
        if spec is None or spec.vector_entry_point is None:
            return None
        if set(keywords) & set(inspect.signature(gymnasium.make).parameters):
            return None  # a keyword such as max_episode_steps is for the wrappers around a single one
        entry = spec.vector_entry_point
        try:
            made = load_env_creator(entry) if isinstance(entry, str) else entry
        except ImportError:
            return None
        metadata = getattr(made, "metadata", {})
        if not metadata.get("keyed_rows") or metadata.get("autoreset_mode") != AutoresetMode.DISABLED:
            return None
        limit = {} if spec.max_episode_steps is None else {"max_episode_steps": spec.max_episode_steps}
        if limit and "max_episode_steps" not in inspect.signature(made).parameters:
            return None  # it would not know when an episode is over
        registered = {name: value for name, value in (spec.kwargs | limit).items() if name not in keywords}
        batch = self._made(cast(Any, made), registered | {"num_envs": num_envs})
        if _flat(batch.single_observation_space):
            return batch
        batch.close()
        return None

    def make_single(self) -> gymnasium.Env:
        """One environment, its observations flat."""
        target: Any = resolve(self.env)
        try:
            with warnings.catch_warnings():
                # A lower version may be another problem, not an older one: TempControl-v0.
                warnings.filterwarnings("ignore", ".*is out of date", DeprecationWarning)
                env = self._made(functools.partial(gymnasium.make, target) if isinstance(target, str) else target)
        except (gymnasium.error.Error, ImportError) as error:
            raise UsageError(f"--env {self.env}: cannot be made: {' '.join(str(error).split())}") from None
        if type(env.unwrapped) in STATES:
            env = ClassicStart(env)
        space = env.observation_space
        if _flat(space):
            return env
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise UsageError(f"--env {self.env}: observations {space} are not supported, only Box and Discrete are")
        return gymnasium.wrappers.FlattenObservation(env)

    def _made(self, maker: Callable[..., Any], given: dict[str, Any] | None = None) -> Any:
        """What ``maker`` makes with these keywords and the user's."""
        try:
            return maker(**(given or {}), **self.keywords)
        except (TypeError, ValueError) as error:
            message = str(error)
            if unexpected := re.search(r"unexpected keyword argument '(\w+)'", message):
                message = f"--env {self.env} takes no keyword '{unexpected[1]}'"
            elif not self.keywords and not re.search(r"missing \d+ required", message):
                raise
            raise UsageError(f"--env-kwargs {' '.join(self.env_kwargs) or 'is needed'}: {message}") from error


def _flat(space: spaces.Space) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) == 1


def _keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--env-kwargs {text}: must be name=value")
    for parse in (json.loads, ast.literal_eval):  # true or True, null or None
        with contextlib.suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return name, parse(value)
    return name, value


def _no_limit(env: str) -> int:
    raise UsageError(f"--time-steps is needed: --env {env} has no time limit of its own")


def import_object(flag: str, path: str) -> Any:
    """Imports ``package.module:Name``; ``flag`` is the one to blame when that fails."""
    name = path.partition(":")[2]
    if not name.isidentifier():
        raise UsageError(f"{flag} {path}: must be package.module:Class")
    module = _import_module(flag, path)
    if not hasattr(module, name):
        raise UsageError(f"{flag} {path}: module '{module.__name__}' has no '{name}'{nearest(name, vars(module))}")
    return getattr(module, name)


def _import_module(flag: str, path: str) -> types.ModuleType:
    """Imports what stands before the colon."""
    module_name = path.partition(":")[0]
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{flag} {path}: must be package.module:Class")
    if module_name == "__main__":
        raise UsageError(f"{flag} {path}: put it in a module of its own; drivers do not run the main program again")
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the user's module exists, and what it imports does not
        raise UsageError(f"{flag} {path}: no module named '{module_name}' can be imported from here") from None


@functools.lru_cache
def resolve(env: str) -> type | str:
    """What ``--env`` names: a class (an ``Objective`` or a ``gymnasium.Env``), or a registered Gymnasium id."""
    if env in OBJECTIVES:
        return OBJECTIVES[env]
    for objective in OBJECTIVES.values():
        if env == f"tuninglaw/{objective.__name__}-v0":
            return objective
    _, colon, name = env.rpartition(":")
    if colon and re.search(r"-v\d+$", name):
        _import_module("--env", env)
    elif colon:
        target = import_object("--env", env)
        if not (isinstance(target, type) and issubclass(target, Objective | gymnasium.Env)):
            raise UsageError(f"--env {env}: must be a subclass of env.Objective or of gymnasium.Env")
        if inspect.isabstract(target):
            raise UsageError(f"--env {env}: lacks {', '.join(sorted(vars(target)['__abstractmethods__']))}")
        return target
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error:
        known = [*OBJECTIVES, *gymnasium.registry]
        raise UsageError(
            f"--env {env}: unknown{nearest(name, known)}; known are {', '.join(OBJECTIVES)}, any registered "
            f"Gymnasium id, package.module:Id-v0 of one that a module registers, and package.module:Class"
        ) from None
    return name
