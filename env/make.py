"""From the name of a problem to a batched environment by the conventions of ``gymnasium.vector.VectorEnv``."""

import contextlib
import dataclasses
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv

from env.description import Description
from env.errors import UsageError
from env.names import find_environment
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
        env_kwargs: keywords of the environment or objective.
    """

    env: str
    dims: int | None = None
    knobs: int | None = None
    time_steps: int | None = None
    evaluation_cost_ms: float = 0.0
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        # The default hash would need hashable keyword values.
        return hash((self.env, self.dims, self.knobs, self.time_steps, tuple(sorted(self.env_kwargs))))

    @property
    def family(self) -> Literal["tuning", "control"]:
        target = find_environment(self.env)
        return "tuning" if isinstance(target, type) and issubclass(target, Objective) else "control"

    def objective(self) -> Objective | None:
        """A new objective, of a tuning problem; else None."""
        target: Any = find_environment(self.env)
        if target in OBJECTIVES.values():
            given = {"dims": self.dims, "knobs": self.knobs}
            return self._made(target, {name: value for name, value in given.items() if value is not None})
        for flag, value in (("--dims", self.dims), ("--knobs", self.knobs)):
            if value is not None:
                raise UsageError(f"{flag} {value}: only the built-in objectives take it, --env {self.env} sets its own")
        return self._made(target) if self.family == "tuning" else None

    def __getstate__(self) -> dict[str, Any]:
        """With what another process needs to register the id, since it does not run the program that did."""
        target = find_environment(self.env)
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
        """Returns the time steps of a slot: ``time_steps``, or the default of the environment.

        Raises:
            UsageError: neither is there.
        """
        if self.time_steps is not None:
            return self.time_steps
        if self.family == "tuning":
            return TUNING_TIME_STEPS
        limit = self.describe().episode_limit
        if limit is None:
            raise UsageError(f"--time-steps is needed: --env {self.env} has no time limit of its own")
        return limit

    def describe(self) -> Description:
        """Describes one row of the environment; it is built once for that, and the answer is cached.

        Raises:
            UsageError: the environment cannot be made, or its actions or observations are not supported.
        """
        # Neither of the two changes the description.
        return _describe(dataclasses.replace(self, time_steps=None, evaluation_cost_ms=0.0))

    def without_load(self) -> "Problem":
        """Returns the same problem without what only keeps the processor busy, as the environment declares it."""
        return dataclasses.replace(self, env_kwargs={**self.env_kwargs, **self.describe().without_load})

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
        return RowsVectorEnv([self.make_single] * num_envs)

    def _native(self, num_envs: int) -> VectorEnv | None:
        """The environment's own batched form, where that is one for a rollout.

        It declares in its metadata that ``reset`` takes a seed for each row, all that a row's randomness depends on
        (``keyed_rows``), and that rows never reset by themselves; it takes the time limit that is registered, as
        ``gymnasium.make_vec`` gives it; and it observes a flat Box.
        """
        target, keywords = find_environment(self.env), self.env_kwargs
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
        target: Any = find_environment(self.env)
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
            return maker(**(given or {}), **self.env_kwargs)
        except (TypeError, ValueError) as error:
            message = str(error)
            if unexpected := re.search(r"unexpected keyword argument '(\w+)'", message):
                message = f"--env {self.env} takes no keyword '{unexpected[1]}'"
            elif not self.env_kwargs and not re.search(r"missing \d+ required", message):
                raise
            given_words = " ".join(f"{name}={value}" for name, value in self.env_kwargs.items())
            raise UsageError(f"--env-kwargs {given_words or 'is needed'}: {message}") from error


def _flat(space: spaces.Space) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) == 1


@functools.lru_cache
def _describe(problem: Problem) -> Description:
    target = find_environment(problem.env)
    with contextlib.closing(problem.make_batch(1, problem.objective())) as batch:
        observations, actions = batch.single_observation_space, batch.single_action_space
        if not isinstance(actions, spaces.Box | spaces.Discrete | spaces.MultiDiscrete):
            raise UsageError(
                f"--env {problem.env}: actions {actions} are not supported, only Box, Discrete and MultiDiscrete are"
            )
        assert isinstance(observations, spaces.Box), "make_batch flattens observations"
        # A native batch has no spec of its own; it takes none of the keywords that would change the registered one.
        spec = batch.spec or (gymnasium.spec(target) if isinstance(target, str) else None)
        return Description(
            observations,
            actions,
            getattr(batch, "start_space", None),
            spec.max_episode_steps if spec else None,
            spec.reward_threshold if spec else None,
            batch.metadata.get("without_load", {}),
        )
