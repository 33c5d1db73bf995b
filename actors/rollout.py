"""Slots of a training step, rolled out: the only place in a run that steps an environment.

``trajectory(i) = rollout(snapshot, seed, step, i)`` whoever runs it, whenever, and whatever slots run beside it, those
of other runs included.
"""

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from gymnasium.vector import VectorEnv

from actors.action_map import ActionMap
from actors.apart import roll_apart
from actors.draws import Draws, joined
from actors.job import PLANNED, SAMPLED, TRAINING, Job, Kind, Share, Task
from actors.plan import Plan
from actors.policy import Policy
from actors.snapshots import AnySnapshot, parts_of
from actors.trajectory import Trajectory
from env.objectives import Objective
from env.objectives.returned import Failures
from env.randomness import OWN_RANDOMNESS, set_randomness
from env.starts import Row
from env.tuning import TuningVectorEnv

ALL = slice(None)


class Collector:
    """Runs tasks: owns the environments, the sampler and the current policy. Each driver has one.

    Args:
        job: what stays the same over the run.
        driver: index of the driver, which is recorded in the trajectories.
        objective: the objective f of a tuning problem; None to make the problem's own.

    Attributes:
        policies: the current policies, one for each run; none before the first snapshot.
        draws: what is random.
        failures: lets evaluations of the problem's own objective fail, where the job keeps them; else None.

    Raises:
        UsageError: the environment cannot be made, or the sampler does not suit it.
    """

    def __init__(self, job: Job, driver: int = 0, objective: Objective | None = None):
        self.job = job
        self.driver = driver
        self.policies: list[Policy] = []
        self._action_dim = job.description.action_dim
        self._action_map = ActionMap(job.description.action_space)
        self._layouts = {kind: job.layout(kind) for kind in Kind}
        self.draws = Draws(job)
        self.failures = Failures() if job.keep_failures and objective is None else None
        self._objective = objective or job.problem.objective()
        self._waits = self._objective is not None and self._objective.waits
        self._at_once = job.at_once_of(driver)
        self._limit = job.limit and replace(job.limit)  # its policies are not shared with other threads
        self._batches: dict[int, VectorEnv] = {}
        self._singles: list[Row] = []
        self._task: Task | None = None

    def update(self, snapshot: AnySnapshot) -> None:
        """Takes over the new policies of the runs."""
        self.policies = [Policy(part) for part in parts_of(snapshot)]

    @property
    def policy(self) -> Policy:
        """The current policy of the only run, or of the first one."""
        assert self.policies, "a snapshot comes before the first task"
        return self.policies[0]

    @property
    def slot(self) -> int | None:
        """The slot of the last task whose turn it was, which raised an exception if the task did; None before any.

        Of slots whose environments or evaluations are run together it is the first.
        """
        if self._task is None:
            return None
        return self._task.start + getattr(self._batches.get(self._task.stop - self._task.start), "row", 0)

    def run(self, task: Task) -> Trajectory:
        """Rolls out the slots of ``task`` with the current policy and returns what happened."""
        env, obs, trajectory, starts = self._begin(task)
        if self._waits:
            for _ in self._roll_apart(env, task, obs, trajectory, starts):
                pass
        else:
            self._roll(env, task, obs, trajectory)
        _finish(env, trajectory)
        return trajectory

    def parts(self, task: Task) -> Generator[Trajectory, None, None]:
        """Rolls out the slots of ``task``, and yields them as they come to their end: all together, unless f waits.

        After ``give_up`` it ends, though slots are missing. To close it ends what is under way.
        """
        if not self._waits:
            try:
                whole = self.run(task)
            except StopIteration as error:  # which would end this generator without a word of where it came from
                raise RuntimeError(f"StopIteration: {error}") from error
            yield whole
            return
        env, obs, trajectory, starts = self._begin(task)
        for rows in self._roll_apart(env, task, obs, trajectory, starts):
            _finish(env, trajectory, rows)
            yield trajectory.rows(self._layouts[task.kind], np.isin(np.arange(len(trajectory)), rows))

    def give_up(self) -> None:
        """Lets slots whose evaluations wait end without them; another thread may call it."""
        for env in list(self._batches.values()) if self._waits else ():
            cast(TuningVectorEnv, env).give_up()

    def _begin(self, task: Task) -> tuple[VectorEnv, np.ndarray, Trajectory, bool]:
        """Resets the environment.

        Returns:
            The environment, its observations, the trajectory to be recorded, and whether f of the start states is still
            to be evaluated.
        """
        self._task = task
        env, options = self._batch(task.stop - task.start), self._options(task)
        starts = self._waits and options.get("evaluate_starts", True)
        if self._waits:
            options["evaluate_starts"] = False
        # Seeds take time to make, and given starts leave nothing random in an objective that draws nothing.
        by_seed = "starts" not in options or self._objective is None or self._objective.draws
        seeds: Any = self.draws.seeds(task, np.zeros(task.stop - task.start, int)) if by_seed else None
        # The reset comes before all that can wait: while it waits for an evaluation, the next driver has the core.
        obs, infos = env.reset(seed=seeds, options=options or None)
        trajectory = Trajectory.empty(self._layouts[task.kind], task.stop - task.start)
        trajectory.slots[:] = np.arange(task.start, task.stop)
        trajectory.versions[:] = self.policy.snapshot.version
        trajectory.drivers[:] = self.driver
        _record_objective(trajectory, 0, env, infos)
        return env, obs, trajectory, starts

    def _acting(self, task: Task, trajectory: Trajectory) -> Callable[..., np.ndarray]:
        """Returns what takes a time step, observations and the rows that they are of, and returns their actions."""
        shares = self.job.shares(task)
        noise = self.draws.noise(task, self.policy.spec.labelled) if task.kind in SAMPLED else None
        planned = joined(self._plan(share).actions[share.own] for share in shares) if task.kind in PLANNED else None
        start = self._limit if task.kind == Kind.CHECK_CONSTANT else None

        def act(t: int, obs: np.ndarray, rows: np.ndarray | slice = ALL) -> np.ndarray:
            trajectory.obs[rows, t] = obs
            for share, some, of_run in _parts(rows, shares):
                policy = self.policies[share.number]
                if planned is not None:
                    knobs = planned[of_run]
                elif noise is None:
                    knobs = policy.mode(obs[some]) if start is None else start.start_knobs(obs[some, start.knobs :])
                else:
                    knobs, trajectory.logprobs[of_run, t] = policy.act(obs[some], noise[of_run, t], t // 2)
                trajectory.actions[of_run, t, : knobs.shape[1]] = knobs
            return self._action_map(trajectory.actions[rows, t, : self._action_dim])

        return act

    def _roll_apart(
        self, env: VectorEnv, task: Task, obs: np.ndarray, trajectory: Trajectory, starts: bool
    ) -> Iterator[np.ndarray]:
        """Steps the rows of the environment each by itself; yields those that have come to their end."""
        tuning = cast(TuningVectorEnv, env)  # no other environment has an objective
        try:
            with OWN_RANDOMNESS:
                # All rows draw from it, so that it is keyed for the task alone: no two drivers are to draw alike.
                set_randomness(self.draws.seeds(task.alone(), np.zeros(1, int))[0])
                yield from roll_apart(tuning, obs, trajectory, self._acting(task, trajectory), starts, self._at_once)
        finally:
            tuning.abandon()

    def _roll(self, env: VectorEnv, task: Task, obs: np.ndarray, trajectory: Trajectory) -> None:
        """Steps all rows of the environment together from ``obs`` on, and records what happens."""
        act, time_steps = self._acting(task, trajectory), trajectory.rewards.shape[1]
        episode = np.zeros(len(trajectory), int)
        for t in range(time_steps):
            obs, rewards, terminations, truncations, infos = env.step(act(t, obs))
            trajectory.rewards[:, t], trajectory.final_obs[:, t] = rewards, obs
            trajectory.terminations[:, t], trajectory.truncations[:, t] = terminations, truncations
            _record_objective(trajectory, t + 1, env, infos)
            ended = trajectory.terminations[:, t] | trajectory.truncations[:, t]
            episode += ended
            if task.kind not in TRAINING and episode.all():
                break  # the first episode of each slot is all that counts
            if ended.any() and t + 1 < time_steps:
                # A list, which vector environments take and their type omits.
                seeds: Any = self.draws.seeds(task, episode)
                obs, _ = env.reset(seed=seeds, options={"reset_mask": ended})

    def _plan(self, share: Share) -> Plan:
        """Returns the plan of a run for the current round."""
        plan = self.policies[share.number].snapshot.plan
        assert plan is not None, "a planned round has a plan"
        return plan

    def _batch(self, rows: int) -> VectorEnv:
        """Returns the environment for so many rows; those of all numbers of rows share their single environments."""
        if rows not in self._batches:
            bounds = None if self._limit is None else self._limit.bounds
            self._batches[rows] = self.job.problem.make_batch(
                rows, self._objective, self._singles, self.failures, bounds
            )
        return self._batches[rows]

    def _options(self, task: Task) -> dict:
        """Returns the options of the first reset, which have no starts where the environment draws its own."""
        shares = self.job.shares(task)
        if task.kind in PLANNED:
            starts = joined(self._plan(share).starts[share.own] for share in shares)
            return {"starts": starts, "evaluate_starts": False}
        if task.kind not in SAMPLED:
            if self.job.starts(task.kind) is None:
                return {}
            fixed = joined(cast(np.ndarray, share.job.starts(task.kind))[share.own] for share in shares)
            return {"starts": fixed, "evaluate_starts": False}
        drawn = self.draws.starts(task, self.policies)
        if drawn is None:
            return {} if self._objective is None else {"evaluate_starts": self.job.evaluate_starts}
        return {"starts": drawn, "evaluate_starts": self.job.evaluate_starts}

    def close(self) -> None:
        """Closes the environments, each once, also where another one fails to close."""
        with contextlib.ExitStack() as stack:
            for batch in self._batches.values():
                stack.callback(batch.close)


def _parts(rows: np.ndarray | slice, shares: list[Share]) -> Iterator[tuple[Share, Any, Any]]:
    """Yields the runs that some rows of a task are of, which of the rows these are, and which of the task's."""
    if len(shares) == 1:
        yield shares[0], ALL, rows
    elif isinstance(rows, slice):
        for share in shares:
            yield share, share.rows, share.rows
    else:
        places = np.searchsorted([share.rows.stop for share in shares], rows, side="right")
        for place in np.unique(places).tolist():
            some = places == place
            yield shares[place], some, rows[some]


def _finish(env: Any, trajectory: Trajectory, rows: np.ndarray | slice = ALL) -> None:
    """Records what is known of rows once they have come to their end."""
    trajectory.truncations[rows, -1] |= ~trajectory.terminations[rows, -1]  # cut by the slot's end: bootstrapped
    if hasattr(env, "evaluations"):
        trajectory.evaluations[rows] = env.evaluations[rows]


def _record_objective(trajectory: Trajectory, column: int, env: Any, infos: dict) -> None:
    if trajectory.objectives.shape[1]:
        trajectory.objectives[:, column] = infos["objective"]
        trajectory.constraints[:, column], trajectory.seconds[:, column] = env.constraints, env.seconds
