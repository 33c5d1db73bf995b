"""Makes batched environments, which follow ``gymnasium.vector.VectorEnv``, from the name of a problem."""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv

from env import objects
from env.contract import check_methods, users_layers
from env.description import Description
from env.errors import UsageError
from env.making import FLATTENED, call, is_flat_box, make_single
from env.names import find_environment
from env.objectives import OBJECTIVES, Objective
from env.objectives.bench import Bench
from env.objectives.checks import check_dims, check_objective
from env.objectives.returned import Failures
from env.starts import Row, RowsVectorEnv
from env.trial import Trial, try_episodes, try_once
from env.tuning import Bounds, TuningVectorEnv

TUNING_TIME_STEPS = 2


@dataclass(frozen=True)
class Problem:
    """Everything that a learner or a driver needs to build the environment.

    It holds plain values, so that it can be sent to another process.

    Attributes:
        env: name of the environment: a built-in objective, a Gymnasium id, ``package.module:Id-v0`` of one that a
            module registers, ``package.module:Name`` or ``./file.py:Name`` of a described function, an ``Objective``
            or a ``gymnasium.Env``, or the name of what a program gave.
        dims: number of coordinates of a built-in objective (None: its own default).
        knobs: number of these coordinates that are tuned (None: its own default).
        time_steps: length of a slot (None: 2 for an objective, the time limit of any other environment, which is tried
            where none is registered).
        evaluation_cost_ms: latency added to each row of an objective's evaluation, in milliseconds.
        env_kwargs: keywords of the environment or objective.
    """

    env: str
    dims: int | None = None
    knobs: int | None = None
    time_steps: int | None = None
    evaluation_cost_ms: float = 0.0
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        # The generated hash would need keyword values that are hashable.
        return hash((self.env, self.dims, self.knobs, self.time_steps, tuple(sorted(self.env_kwargs))))

    @property
    def family(self) -> Literal["tuning", "control"]:
        """Family of the problem: ``tuning`` for an objective, ``control`` for any other environment."""
        target = find_environment(self.env)
        return "tuning" if isinstance(target, type) and issubclass(target, Objective) else "control"

    def objective(self) -> Objective | None:
        """Returns a new objective for a tuning problem, and None for any other environment.

        Raises:
            UsageError: ``dims`` or ``knobs`` is set for an objective that is not built in, or a value is not accepted,
                or the objective is such as cannot work.
        """
        target: Any = find_environment(self.env)
        if target in OBJECTIVES.values():
            sizes = {"dims": self.dims, "knobs": self.knobs}
            given = {name: value for name, value in sizes.items() if value is not None}
            check_dims((given | dict(self.env_kwargs)).get("dims"))
            return check_objective(f"--env {self.env}", self._call(target, given))
        for flag, value in (("--dims", self.dims), ("--knobs", self.knobs)):
            if value is not None:
                raise UsageError(f"{flag} {value}: only the built-in objectives take it, --env {self.env} sets its own")
        return check_objective(f"--env {self.env}", self._call(target)) if self.family == "tuning" else None

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to pickle, with the registered specification of a Gymnasium id.

        Another process needs it to register the id, since it does not run the program that registered it here. So it is
        with a function or a class that a program gave and another process cannot import.

        Raises:
            UsageError: the environment cannot be made in another process.
        """
        target = find_environment(self.env)
        spec = None
        if isinstance(target, str) and ":" not in self.env:
            entry_point = gymnasium.spec(target).entry_point
            if not isinstance(entry_point, str) or entry_point.startswith("__main__:"):
                raise UsageError(
                    f"--env {self.env}: driver processes cannot make it, since its entry point is {entry_point}; "
                    f"register it as 'package.module:Class', or use --drivers 0 or --backend thread"
                )
            try:
                spec = gymnasium.spec(target).to_json()
            except ValueError as error:  # a vector entry point or a wrapper is not given as text
                raise UsageError(f"--env {self.env}: driver processes cannot make it: {error}") from None
        return dataclasses.asdict(self) | {"spec": spec, "given": objects.pickled(self.env)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        spec, given = state.pop("spec"), state.pop("given")
        self.__dict__.update(state)
        if given is not None:
            objects.take(self.env, given)
        if spec is not None:
            gymnasium.registry.setdefault(self.env, EnvSpec.from_json(spec))

    def slot_length(self) -> int:
        """Returns the time steps of a slot: ``time_steps``, or the default of the environment.

        Where it has no registered time limit, episodes are tried; what the environment raises then comes through.

        Raises:
            UsageError: ``time_steps`` is None and the environment has no time limit.
        """
        if self.time_steps is not None:
            return self.time_steps
        if self.family == "tuning":
            return TUNING_TIME_STEPS
        if (limit := self.describe().episode_limit) is not None:
            return limit
        trial = _try(*self._key())
        if trial.limit is None:
            raise UsageError(f"--time-steps is needed: --env {self.env} has no time limit of its own: {trial.words()}")
        return trial.limit

    def describe(self) -> Description:
        """Describes one row of the environment, which is built once for that; the description is cached.

        Raises:
            UsageError: the environment cannot be made, or its actions or observations are not supported.
        """
        return _describe(*self._key())

    def _key(self) -> tuple["Problem", str, str]:
        """Returns what tells environments apart whose descriptions are cached."""
        # The slot length and the latency do not change the description. Keywords count as they are written, since
        # True equals 1, and a registered id by its entry, since a program may register another one under it.
        target = find_environment(self.env)
        registered = repr(gymnasium.spec(target)) if isinstance(target, str) else str(id(target))
        keywords = repr(sorted(self.env_kwargs.items()))
        return dataclasses.replace(self, time_steps=None, evaluation_cost_ms=0.0), keywords, registered

    def without_load(self) -> "Problem":
        """Returns the same problem without the computing load that the environment declares."""
        return dataclasses.replace(self, env_kwargs={**self.env_kwargs, **self.describe().without_load})

    def make_batch(
        self,
        num_envs: int,
        objective: Objective | None,
        singles: list[Row] | None = None,
        failures: Failures | None = None,
        bounds: Bounds | None = None,
    ) -> VectorEnv:
        """Builds a batch of rows that never resets by itself (``AutoresetMode.DISABLED``).

        Args:
            num_envs: number of rows.
            objective: return value of ``objective()``; several batches may share it.
            singles: single environments for batches that are not all in use at once: this one takes the first of them,
                and those that it makes are added (None: all are made for this batch). Where the environment has a
                batched form of its own, they are left alone.
            failures: lets evaluations of the objective fail (None: an exception in it ends the step).
            bounds: of the knobs at which the objective is evaluated (None: [-1, 1]).
        """
        if objective is not None:
            return TuningVectorEnv(objective, num_envs, self.slot_length(), self.evaluation_cost_ms, failures, bounds)
        if (native := self._native(num_envs)) is not None:
            return native
        rows = [] if singles is None else singles
        while len(rows) < num_envs:
            rows.append(Row(self.make_single()))
        return RowsVectorEnv(rows[:num_envs])

    def _native(self, num_envs: int) -> VectorEnv | None:
        """Returns the environment's own batched form, or None where a rollout cannot use it.

        Its metadata must declare that ``reset`` takes a seed for each row, on which alone that row's randomness depends
        (``keyed_rows``), and that rows never reset by themselves. It must take the registered time limit, as
        ``gymnasium.make_vec`` passes it, and its observations must be a flat Box.
        """
        target, keywords = find_environment(self.env), self.env_kwargs
        spec = gymnasium.spec(target) if isinstance(target, str) else None
        if spec is None or spec.vector_entry_point is None:
            return None
        if set(keywords) & set(inspect.signature(gymnasium.make).parameters):
            return None  # a keyword such as max_episode_steps is meant for the wrappers of a single environment
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
            return None  # it could not tell when an episode is over
        registered = {name: value for name, value in (spec.kwargs | limit).items() if name not in keywords}
        batch = self._call(cast(Any, made), registered | {"num_envs": num_envs})
        if is_flat_box(batch.single_observation_space):
            return batch
        batch.close()
        return None

    def make_single(self) -> gymnasium.Env:
        """Makes a single environment with flat observations; what a user's own one returns is checked.

        Raises:
            UsageError: the environment cannot be made, or its observations cannot be made flat.
        """
        return make_single(self.env, self.env_kwargs)

    def _call(self, maker: Callable[..., Any], given: dict[str, Any] | None = None) -> Any:
        """See ``call``."""
        return call(self.env, self.env_kwargs, maker, given)


def _shown(batch: VectorEnv) -> spaces.Space:
    """Returns the space of observations of a row before they are flattened here."""
    row = batch.envs[0].env if isinstance(batch, RowsVectorEnv) else None
    return row.env.observation_space if isinstance(row, FLATTENED) else batch.single_observation_space


@functools.lru_cache
def _describe(problem: Problem, keywords: str, registered: str) -> Description:
    """Describes one row of the environment; the last two arguments only tell cached descriptions apart."""
    target = find_environment(problem.env)
    objective = problem.objective()
    with contextlib.closing(problem.make_batch(1, objective)) as batch:
        observations, actions = batch.single_observation_space, batch.single_action_space
        told = f"--env {problem.env}"
        if not isinstance(actions, spaces.Box | spaces.Discrete | spaces.MultiDiscrete):
            raise UsageError(f"{told}: actions {actions} are not supported, only Box, Discrete and MultiDiscrete are")
        if isinstance(batch, RowsVectorEnv) and (layers := users_layers(batch.envs[0])):
            check_methods(told, layers)
            try_once(batch.envs[0])
        assert isinstance(observations, spaces.Box), "make_batch flattens observations"
        # A native batch has no spec of its own, and is given no keyword that would change the registered spec.
        spec = batch.spec or (gymnasium.spec(target) if isinstance(target, str) else None)
        return Description(
            observations,
            actions,
            getattr(batch, "start_space", None),
            spec.max_episode_steps if spec else None,
            spec.reward_threshold if spec else None,
            batch.metadata.get("without_load", {}),
            _shown(batch),
            objective.coordinates if objective else None,
            objective.at_once if objective else None,
            objective.constraints if objective else 0,
            isinstance(objective, Bench),
            objective is not None and objective.solved,
            objective is not None and objective.waits,
        )


@functools.lru_cache
def _try(problem: Problem, keywords: str, registered: str) -> Trial:
    """Tries episodes of an environment; the last two arguments only tell cached trials apart."""
    with contextlib.closing(Row(problem.make_single())) as row:
        return try_episodes(row)
