"""Slots of a training step, rolled out: the only place in a run that steps an environment.

``facts(i) = rollout(snapshot, seed, step, i)`` whoever runs it, whenever, and whatever slots run beside it.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from actors.policy import Policy
from actors.samplers import Sampler, make_sampler
from actors.seeding import Stream, env_seed, generator, slot_numbers
from actors.snapshot import Snapshot
from actors.trajectory import Layout, Trajectory
from env.errors import UsageError
from env.make import Problem


class Kind(IntEnum):
    """What a slot is run for."""

    COLLECT = 1
    EVALUATE = 2


@dataclass(frozen=True)
class Task:
    """Slots ``start`` .. ``stop`` - 1 of training step ``step``."""

    kind: Kind
    step: int
    start: int
    stop: int


@dataclass(frozen=True)
class Job:
    """What stays the same over a run: sent once to each driver.

    Attributes:
        problem: the environment.
        sampler: as ``--sampler`` gives it; ``env`` for the environment's own starts.
        candidates: for uncertainty sampling, candidates a start.
        seed: of the run.
        episodes: slots of a training step, E.
        time_steps: length of a slot, T.
        eval_starts: states at which a law is evaluated, ``[m, dims]``; None outside tuning.
        evaluate_starts: whether f of the starts is among the facts; it costs an evaluation a slot.
        eval_episodes: evaluation episodes where there are no such states.
        eval_time_steps: their length at the most.
        mirrored: whether every second time step of a slot takes the noise of the one before, negated.
        profile: directory that driver processes write their profiles to; None for no profiles.
    """

    problem: Problem
    sampler: str
    candidates: int
    seed: int
    episodes: int
    time_steps: int
    eval_starts: np.ndarray | None = None
    evaluate_starts: bool = True
    eval_episodes: int = 0
    eval_time_steps: int = 1
    mirrored: bool = False
    profile: str | None = None

    def slots(self, kind: Kind) -> int:
        """Number of slots of a round of this kind."""
        if kind == Kind.COLLECT:
            return self.episodes
        return self.eval_episodes if self.eval_starts is None else len(self.eval_starts)

    def length(self, kind: Kind) -> int:
        """Time steps of a slot of this kind."""
        return self.time_steps if kind == Kind.COLLECT else self.eval_time_steps


class Collector:
    """Runs tasks: owns the environments, the sampler and the current policy. One a driver.

    Attributes:
        obs_dim: size of an observation.
        action_dim: numbers in an action.
        choices: among how many each of them chooses; empty where actions are continuous.
        sampler: of start states; None where the environment's own are used.
        policy: the current one; None before the first snapshot.
    """

    def __init__(self, job: Job, driver: int = 0):
        self.job = job
        self.driver = driver
        self._batches: dict[int, VectorEnv] = {}
        self._objective = job.problem.objective()
        batch = self._batch(1)
        self.obs_dim = int(np.prod(_shape(batch.single_observation_space)))
        actions = batch.single_action_space
        self.choices = _choices(actions)
        self.action_dim = len(self.choices) or int(np.prod(_shape(actions)))
        self._action_map = ActionMap(actions)
        tuning = self._objective is not None
        self._layouts = {kind: Layout(job.length(kind), self.obs_dim, self.action_dim, tuning) for kind in Kind}
        self.sampler = _make_sampler(job, batch)
        self.policy: Policy | None = None

    def update(self, snapshot: Snapshot) -> None:
        """Takes over a new policy."""
        self.policy = Policy(snapshot)

    def layout(self, kind: Kind) -> Layout:
        """Shapes of the facts of this kind."""
        return self._layouts[kind]

    def run(self, task: Task) -> Trajectory:
        """Rolls out the slots of ``task`` with the current policy and returns their facts."""
        assert self.policy is not None, "a snapshot comes before the first task"
        env = self._batch(task.stop - task.start)
        # The reset comes before all that can wait: while it waits for an evaluation, the next driver has the core.
        obs, infos = self._reset(env, task)
        facts = Trajectory.empty(self.layout(task.kind), task.stop - task.start)
        facts.slots[:] = np.arange(task.start, task.stop)
        facts.versions[:] = self.policy.snapshot.version
        facts.drivers[:] = self.driver
        _record_objective(facts, 0, infos)
        self._roll(env, task, obs, facts)
        facts.truncations[:, -1] |= ~facts.terminations[:, -1]  # cut by the slot's end: bootstrapped
        if hasattr(env, "evaluations"):
            facts.evaluations[:] = env.evaluations
        return facts

    def _reset(self, env: VectorEnv, task: Task) -> tuple[np.ndarray, dict]:
        """The first reset of all rows."""
        starts = self._starts(task)
        # Given starts leave nothing random in a tuning problem, and seeds take time to make.
        by_seed = starts is None or self._objective is None
        seeds: Any = self._seeds(task, np.zeros(task.stop - task.start, int)) if by_seed else None
        return env.reset(seed=seeds, options=starts)

    def _roll(self, env: VectorEnv, task: Task, obs: np.ndarray, facts: Trajectory) -> None:
        """Steps the environment from ``obs`` on, and writes down what happens."""
        assert self.policy is not None
        noise = self._noise(task) if task.kind == Kind.COLLECT else None
        episode = np.zeros(len(facts), int)
        for t in range(facts.rewards.shape[1]):
            facts.obs[:, t] = obs
            if noise is None:
                facts.actions[:, t] = self.policy.mode(obs)
            else:
                facts.actions[:, t], facts.logprobs[:, t] = self.policy.act(obs, noise[:, t])
            obs, facts.rewards[:, t], facts.terminations[:, t], facts.truncations[:, t], infos = env.step(
                self._action_map(facts.actions[:, t])
            )
            facts.final_obs[:, t] = obs
            _record_objective(facts, t + 1, infos)
            ended = facts.terminations[:, t] | facts.truncations[:, t]
            episode += ended
            if task.kind == Kind.EVALUATE and episode.all():
                break  # the first episode of each slot is all that counts
            if ended.any() and t + 1 < facts.rewards.shape[1]:
                seeds: Any = self._seeds(task, episode)  # a list, which vector environments take and their type omits
                obs, _ = env.reset(seed=seeds, options={"reset_mask": ended})

    def _batch(self, rows: int) -> VectorEnv:
        """The environment for so many rows, built once for each number that comes up."""
        if rows not in self._batches:
            self._batches[rows] = self.job.problem.make_batch(rows, self._objective)
        return self._batches[rows]

    def _noise(self, task: Task) -> np.ndarray:
        method = "random" if self.choices else "standard_normal"
        key = (self.job.seed, task.step, Stream.ACTIONS)
        shape = (self.job.time_steps, self.action_dim)
        noise = slot_numbers(method, key, self.job.episodes, slice(task.start, task.stop), shape)
        if self.job.mirrored and not self.choices:
            noise[:, 1::2] = -noise[:, : self.job.time_steps - 1 : 2]
        return noise

    def _seeds(self, task: Task, episode: np.ndarray) -> list[int]:
        # Evaluation repeats the same episodes every time, so that two versions differ by the policy alone.
        step, stream = (task.step, Stream.ENV) if task.kind == Kind.COLLECT else (0, Stream.EVAL_ENV)
        slots = range(task.start, task.stop)
        return [env_seed(self.job.seed, step, stream, i, int(j)) for i, j in zip(slots, episode, strict=True)]

    def _starts(self, task: Task) -> dict | None:
        """The options of the first reset; None for the environment's own starts."""
        rows = slice(task.start, task.stop)
        if task.kind == Kind.EVALUATE:
            starts = self.job.eval_starts
            return None if starts is None else {"starts": starts[rows], "evaluate_starts": False}
        if self.sampler is None:
            return None
        rng = generator(self.job.seed, task.step, Stream.STARTS)
        starts = self.sampler.sample(self.job.episodes, rng, self.policy, rows)  # type: ignore[arg-type]
        if starts.shape != (task.stop - task.start, self.sampler.dims):
            raise ValueError(
                f"{type(self.sampler).__name__}.sample returned {starts.shape} for rows {task.start} to "
                f"{task.stop - 1} of {self.job.episodes} starts in {self.sampler.dims} dimensions"
            )
        return {"starts": starts, "evaluate_starts": self.job.evaluate_starts}

    def close(self) -> None:
        """Closes the environments."""
        for batch in self._batches.values():
            batch.close()


def _shape(space: spaces.Space) -> tuple[int, ...]:
    assert space.shape is not None, "Box, Discrete and MultiDiscrete have one"
    return space.shape


def _choices(space: spaces.Space) -> tuple[int, ...]:
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    return tuple(map(int, space.nvec.reshape(-1))) if isinstance(space, spaces.MultiDiscrete) else ()


def _make_sampler(job: Job, batch: VectorEnv) -> Sampler | None:
    space = getattr(batch, "start_space", None)
    if job.sampler == "env":
        return None
    if space is None:
        raise UsageError(
            f"--sampler {job.sampler}: the starts of --env {job.problem.env} cannot be set; use --sampler env, its own"
        )
    if not isinstance(space, spaces.Box) or len(space.shape) != 1 or not space.is_bounded():
        raise UsageError(f"--env {job.problem.env}: its start_space {space} must be a bounded Box of one dimension")
    sampler = make_sampler(job.sampler, space.low, space.high, job.candidates)
    if sampler.asks_policy and space.shape != batch.single_observation_space.shape:
        raise UsageError(
            f"--sampler {job.sampler}: asks the policy about starts, and those of --env {job.problem.env} are not "
            f"observations; use random or lhs"
        )
    return sampler


class ActionMap:
    """From a policy's actions to those of an environment: choices, or numbers clipped to [-1, 1] and scaled to bounds.

    Where a space has no bounds, its actions are used as they are; where it is of whole numbers, they are rounded.
    """

    def __init__(self, space: spaces.Space):
        self.space = space
        if isinstance(space, spaces.Box):
            low, high = space.low.astype(np.float64), space.high.astype(np.float64)
            self._bounded = np.isfinite(low) & np.isfinite(high)
            self._low, self._width = np.where(self._bounded, low, 0.0), np.where(self._bounded, high - low, 0.0)
            self._whole = np.issubdtype(space.dtype, np.integer)
            self._as_is = not self._whole and bool((low == -1).all() and (high == 1).all())

    def __call__(self, actions: np.ndarray) -> np.ndarray:
        """Actions ``[n, action_dim]`` of the policy, for the environment."""
        if isinstance(self.space, spaces.Discrete):
            return actions[:, 0].astype(np.int64) + self.space.start
        if isinstance(self.space, spaces.MultiDiscrete):
            return actions.reshape(-1, *_shape(self.space)).astype(self.space.dtype) + self.space.start
        assert isinstance(self.space, spaces.Box)
        actions = actions.reshape(-1, *self.space.shape)
        unit = np.minimum(np.maximum(actions, -1), 1)
        if self._as_is:
            return unit.astype(self.space.dtype, copy=False)
        scaled = np.where(self._bounded, self._low + (unit + 1) * (self._width / 2), actions)
        scaled = np.rint(scaled) if self._whole else scaled
        # Clipped once more, in the space's own precision: rounding may have taken it past a bound.
        return np.clip(scaled.astype(self.space.dtype), self.space.low, self.space.high)


def _record_objective(facts: Trajectory, column: int, infos: dict) -> None:
    if facts.objectives.shape[1]:
        facts.objectives[:, column] = infos["objective"]
