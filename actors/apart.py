"""Rows of a task that go on each by itself, since f waits: no row waits for the evaluation of another one."""

from collections.abc import Callable, Iterator

import numpy as np

from actors.trajectory import Trajectory
from env.tuning import TuningVectorEnv

GROUP = 16
"""So many rows are begun together at most, so that the first of them wait while others are made ready. Each call costs
some 0.2 ms, of however few rows."""
Act = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""Takes a time step, the observations of rows ``[k, obs_dim]`` and their numbers ``[k]``; returns their actions."""


def roll_apart(
    env: TuningVectorEnv, obs: np.ndarray, trajectory: Trajectory, act: Act, starts: bool, at_once: int | None
) -> Iterator[np.ndarray]:
    """Steps all rows of an environment, and records what happens.

    The rows whose evaluations have ended by the time that the last ones were taken care of go on together: one, where
    there is time, and many, which cost less each, where there is none.

    Args:
        env: the environment, which has been reset without evaluating the starts.
        obs: the states that its rows are in, ``[n, dims]``.
        trajectory: where it is recorded, of the rows from the first to the last.
        act: chooses actions.
        starts: whether f of the start states is evaluated before.
        at_once: how many rows may be under way at once (None: all).

    Yields:
        The rows that have come to their end, ``[k]`` each time, every row once. It ends before that where ``give_up``
        of the environment was called.
    """
    count, time_steps = trajectory.rewards.shape
    assert time_steps <= env.time_steps, "an episode of a tuning problem is as long as its slot, or longer"
    at = np.full(count, -1 if starts else 0)  # the time step that each row is in, -1 for its start
    obs, ready, begun, under_way = obs.copy(), np.empty(0, int), 0, 0
    while True:
        more = min(count - begun, (at_once or count) - under_way)
        ready = np.concatenate([ready, np.arange(begun, begun + more)])
        begun, under_way = begun + more, under_way + more
        for t in sorted(set(at[ready].tolist())):
            rows = ready[at[ready] == t]
            actions = None if t < 0 else act(t, obs[rows], rows)
            for first in range(0, len(rows), GROUP):
                group = slice(first, first + GROUP)
                env.begin(rows[group], None if actions is None else actions[group])
        if not under_way:
            return
        rows, obs_of_rows, rewards, truncations = env.ended()
        if not len(rows):
            return
        obs[rows], t_of_rows = obs_of_rows, at[rows]
        _record(trajectory, env, rows, t_of_rows, obs_of_rows, rewards, truncations)
        at[rows] += 1
        over = rows[at[rows] == time_steps]
        ready, under_way = rows[at[rows] < time_steps], under_way - len(over)
        if len(over):
            yield over


def _record(
    trajectory: Trajectory,
    env: TuningVectorEnv,
    rows: np.ndarray,
    t: np.ndarray,
    obs: np.ndarray,
    rewards: np.ndarray,
    truncations: np.ndarray,
) -> None:
    """Records evaluations that have ended, of rows ``[k]`` each in its time step of ``t`` ``[k]``, -1 for its start."""
    for name, values in (("objectives", env.values), ("constraints", env.constraints), ("seconds", env.seconds)):
        getattr(trajectory, name)[rows, t + 1] = values[rows]
    stepped = t >= 0
    rows, t = rows[stepped], t[stepped]
    trajectory.final_obs[rows, t] = obs[stepped]
    trajectory.rewards[rows, t], trajectory.truncations[rows, t] = rewards[stepped], truncations[stepped]
