"""The learn-to-optimise MDP over an objective (Li & Malik 2016, arXiv 1606.01885), batched and single.

The state s = (x, c) holds knobs and conditions, in [-1, 1]. The action a is the new knob vector itself and no change of
it, so s' = (a, c); an integer or a choice takes the nearest value that it can have. The reward is r = f(s) - f(s').
Conditions do not change within an episode, and an episode is truncated after ``time_steps``.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from env.coordinates import snapped
from env.objectives import OBJECTIVES, Objective
from env.objectives.evaluation import timed_evaluation
from env.objectives.returned import Failures
from env.objectives.under_way import UnderWay
from env.randomness import key_of

Bounds = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Takes conditions ``[m, conditions]``, returns the least and the largest knobs there, ``[m, knobs]`` each."""


class TuningVectorEnv(VectorEnv):
    """The MDP for ``num_envs`` episodes; rows are independent, and a row's bits do not depend on ``num_envs``.

    Rows never reset by themselves (``AutoresetMode.DISABLED``). ``reset`` takes these options:

    * ``starts``: start states ``[num_envs, dims]`` (default: uniform, from the seed);
    * ``reset_mask``: rows to reset, ``[num_envs]`` of bool (default: all);
    * ``evaluate_starts``: whether f of the start states is evaluated; without, each row saves one evaluation, and its
      first reward is NaN (default: True).

    ``infos["objective"]`` and ``values`` hold f of the current state, ``[num_envs]``, and ``seconds`` how long its
    evaluation took, where rows that were evaluated together share the time; ``evaluations`` counts the rows of f
    evaluated since the last full reset, ``[num_envs]``; ``row`` is the row whose turn it is, 0 where all are evaluated
    at once. f of a state is evaluated once. What f draws at random is keyed by the row's seed and the time step,
    so ``reset`` takes seeds also where ``starts`` are given.

    Where f waits, rows may go on each by itself: ``begin`` begins a time step of some rows, and ``ended`` waits until
    one of those that are under way has ended, whichever it is.

    Args:
        objective: the objective f, or the name of a built-in one, whose ``dims`` and ``knobs`` are then ``kwargs``.
        num_envs: number of rows.
        time_steps: length of an episode.
        evaluation_cost_ms: latency added to each row of an evaluation, in milliseconds.
        failures: lets evaluations fail, which are NaN then (None: an exception in f ends the step).
        bounds: of the knobs that are evaluated, which are values that they can have (None: [-1, 1]).
    """

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}

    def __init__(
        self,
        objective: Objective | str,
        num_envs: int = 1,
        time_steps: int = 2,
        evaluation_cost_ms: float = 0.0,
        failures: Failures | None = None,
        bounds: Bounds | None = None,
        **kwargs: Any,
    ):
        self.objective = OBJECTIVES[objective](**kwargs) if isinstance(objective, str) else objective
        self.num_envs = num_envs
        self.time_steps = time_steps
        self.evaluation_cost_ms = evaluation_cost_ms
        self._failures, self._bounds = failures, bounds
        self.single_observation_space = spaces.Box(-1.0, 1.0, (self.objective.dims,), np.float64)
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.objective.knobs,), np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.start_space = self.single_observation_space
        self._steps = np.concatenate([coordinates.steps for coordinates in self.objective.coordinates])
        self.evaluations = np.zeros(num_envs, np.int64)
        self.seconds = np.zeros(num_envs)
        self.constraints = np.zeros((num_envs, self.objective.constraints))
        self.row = 0
        self._state = np.zeros((num_envs, self.objective.dims))
        self._low = self._high = np.empty((num_envs, self.objective.knobs))  # of knobs, where there are bounds
        self.values = np.full(num_envs, np.nan)
        self._seeds = [0] * num_envs
        self._elapsed = np.full(num_envs, time_steps)  # so that a step before the first reset is refused
        self._under_way: UnderWay | None = None

    def _evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Returns f of the states of ``rows``, counts and times the evaluations and waits for their latency."""
        state = self._state[rows]
        started = time.perf_counter()
        if self.evaluation_cost_ms:
            time.sleep(self.evaluation_cost_ms * len(state) / 1000)
        self.evaluations[rows] += 1
        knobs = self.objective.knobs
        x, c = np.ascontiguousarray(state[:, :knobs]), np.ascontiguousarray(state[:, knobs:])
        keys = self._keys(rows)
        waited = (time.perf_counter() - started) / max(len(state), 1)
        found = timed_evaluation(self.objective, x, c, keys, self._failures)
        self.seconds[rows], self.constraints[rows] = waited + found.seconds, found.g
        if self.objective.observed:
            self._state[rows, knobs:] = found.c
        return found.f

    def _keys(self, rows: np.ndarray) -> Iterator[int]:
        """Yields the key of the next evaluation of each of ``rows`` when its turn comes."""
        for row in np.flatnonzero(rows).tolist():
            self.row = row
            yield self._key(row, 1)
        self.row = 0

    def _key(self, row: int, number: int) -> int:
        """Returns the key of the ``number``-th evaluation of a row from now on."""
        # Counted from 1: with 0 the key would be the seed itself, from which a row's own start is drawn.
        return key_of(self._seeds[row], int(self._elapsed[row]) + number)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts episodes; the class describes ``options``.

        Raises:
            ValueError: the starts lie outside [-1, 1] or have another shape than ``[num_envs, dims]``.
        """
        options = options or {}
        rows = np.asarray(options.get("reset_mask", np.ones(self.num_envs, bool)))
        if not isinstance(seed, list):
            super().reset(seed=seed)
        starts = np.asarray(options["starts"] if "starts" in options else self._own_starts(seed), np.float64)
        if starts.shape != self._state.shape or not (np.abs(starts[rows]) <= 1).all():
            raise ValueError(f"starts must lie in [-1, 1] and have shape {self._state.shape}, got {starts.shape}")
        if rows.all():
            self.evaluations[:] = 0
        self._take_seeds(seed, rows)
        self._state[rows] = snapped(starts[rows], self._steps)
        self._elapsed[rows] = 0
        self.seconds[rows] = 0.0
        if self._bounds is not None:
            self._low, self._high = self._bounds(self._state[:, self.objective.knobs :])
        self.values[rows] = np.nan
        if options.get("evaluate_starts", True):
            self._set_knobs(self._state[rows, : self.objective.knobs], rows)
            self.values[rows] = self._evaluate(rows)
        return self._state.copy(), {"objective": self.values.copy()}

    def _own_starts(self, seed: int | list[int] | None) -> np.ndarray:
        """Draws uniform starts ``[num_envs, dims]``; with a list of seeds, each row's start comes from its own seed."""
        if isinstance(seed, list):
            return np.stack([np.random.default_rng(s).uniform(-1, 1, self.objective.dims) for s in seed])
        return self.np_random.uniform(-1, 1, self._state.shape)

    def _take_seeds(self, seed: int | list[int] | None, rows: np.ndarray) -> None:
        """Sets the seeds of ``rows``, to draw them if there is no list of them, where evaluations need them."""
        if not self.objective.draws:
            return
        drawn = seed if isinstance(seed, list) else self.np_random.integers(2**32, size=self.num_envs).tolist()
        for row in np.flatnonzero(rows):
            self._seeds[row] = drawn[row]

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Sets the knobs to ``actions`` ``[num_envs, knobs]``, clipped: f is never evaluated outside [-1, 1].

        Raises:
            gymnasium.error.ResetNeeded: the episode of a row is over.
        """
        if (self._elapsed >= self.time_steps).any():
            rows = np.flatnonzero(self._elapsed >= self.time_steps).tolist()
            raise gymnasium.error.ResetNeeded(f"rows {rows} ended and must be reset before the next step")
        before = self.values.copy()
        everywhere = np.ones(self.num_envs, bool)
        self._set_knobs(actions, everywhere)
        self._elapsed += 1
        self.values[:] = self._evaluate(everywhere)
        truncations = self._elapsed >= self.time_steps
        infos = {"objective": self.values.copy()}
        return self._state.copy(), before - self.values, np.zeros(self.num_envs, bool), truncations, infos

    def begin(self, rows: np.ndarray, actions: np.ndarray | None = None) -> None:
        """Begins a time step of some rows, each on its own; only where the objective waits.

        Args:
            rows: their numbers, ``[k]``; they have been reset, and no time step of theirs is under way or too many.
            actions: ``[k, knobs]``, clipped; None to evaluate f of their start states, which is no time step.
        """
        if self._under_way is None:
            self._under_way = UnderWay(self.objective, self._failures)
        knobs = self.objective.knobs
        self._set_knobs(self._state[rows, :knobs] if actions is None else actions, rows)
        if actions is not None:
            self._elapsed[rows] += 1
        self.evaluations[rows] += 1
        state = self._state[rows]
        x, c = np.ascontiguousarray(state[:, :knobs]), np.ascontiguousarray(state[:, knobs:])
        self._under_way.begin(rows, x, c, [self._key(row, 1) for row in rows.tolist()])
        if self.objective.takes_rng:
            goes_on = rows[self._elapsed[rows] < self.time_steps]
            self._under_way.expect([self._key(row, 2) for row in goes_on.tolist()])

    def ended(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Waits until a time step that is under way ends.

        Returns:
            The rows of all that have ended, ``[k]``, their states, rewards and truncations. There is no row where
            another thread has called ``give_up``.

        Raises:
            Exception: as ``step`` does; ``row`` is the row that raised it.
        """
        assert self._under_way is not None, "a time step has begun"
        try:
            rows, found = self._under_way.ended()
        except BaseException:
            self.row = self._under_way.row
            raise
        before = self.values[rows]
        self.values[rows], self.constraints[rows], self.seconds[rows] = found.f, found.g, found.seconds
        if self.objective.observed:
            self._state[rows, self.objective.knobs :] = found.c
        return rows, self._state[rows], before - found.f, self._elapsed[rows] >= self.time_steps

    def give_up(self) -> None:
        """Lets ``ended`` return at once; another thread may call it."""
        if (under_way := self._under_way) is not None:
            under_way.give_up()

    def abandon(self) -> None:
        """Gives up all time steps that are under way: the rows must be reset."""
        if self._under_way is not None:
            self._under_way.close()
            self._under_way = None

    def _set_knobs(self, actions: np.ndarray, rows: np.ndarray) -> None:
        """Sets the knobs of ``rows`` to the nearest ones to ``actions``, theirs, that can be evaluated."""
        knobs = self.objective.knobs
        valid = snapped(np.clip(actions, -1, 1), self._steps[:knobs])
        if self._bounds is not None:
            valid = np.clip(valid, self._low[rows], self._high[rows])
        self._state[rows, :knobs] = valid


class TuningEnv(gymnasium.Env):
    """The MDP for one episode: a single row of ``TuningVectorEnv``, which describes the arguments.

    ``options["starts"]`` of ``reset`` is one state, ``[dims]``.
    """

    def __init__(self, objective: Objective | str, **kwargs: Any):
        self._batch = TuningVectorEnv(objective, num_envs=1, **kwargs)
        self.objective = self._batch.objective
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        options = dict(options or {})
        if "starts" in options:
            options["starts"] = np.asarray(options["starts"], np.float64)[None]
        obs, infos = self._batch.reset(seed=seed, options=options)
        return obs[0], {"objective": float(infos["objective"][0])}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, rewards, terminations, truncations, infos = self._batch.step(np.asarray(action)[None])
        info = {"objective": float(infos["objective"][0])}
        return obs[0], float(rewards[0]), bool(terminations[0]), bool(truncations[0]), info
