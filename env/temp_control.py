"""TempControl: a slow, noisy furnace that is held at a set-point, batched and single.

``TempControl-v0`` is the environment of Peniche Cordeiro et al., *Optimization of code for scalability of deep
reinforcement learning agents in slow and stochastic industrial process patterns*, as published and with its defects:
the Runge-Kutta stages after the first leave the quadratic loss out, and the set-point cannot be reached, since full
power settles at 47 C. ``TempControl-v1`` is the same process with enough power, a loss that counts in every stage, and
an actuator with a delay; its set-point can be held.
"""

import numbers
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

SETPOINT, AMBIENT = 100.0, 25.0  # degrees C
START = (25.0, 40.0)  # range of the first temperature, degrees C
LIMITS = (20.0, 150.0)  # range to which the temperature is clipped, degrees C
CAPACITY, LINEAR_LOSS, QUADRATIC_LOSS = 10.0, 0.02, 0.001
EFFICIENCY = 0.5
NOISE = 0.1  # standard deviation of the temperature's noise in a time step, degrees C
STEPS = 500  # time steps of an episode
PRECISION = 1.0  # degrees C within which the bonus is paid
MOVE_PENALTY, OSCILLATION_PENALTY = 0.05, 0.01
PAST = 5  # number of past errors, and of past actions, that are kept
# Time steps, first and last + 1, between which each impulse of an episode comes.
ONE_IMPULSE, THREE_IMPULSES = ((200, 300),), ((100, 150), (200, 250), (300, 350))


@dataclass(frozen=True)
class Plant:
    """Parameters of the controlled process.

    Attributes:
        heating, cooling: power at full action in either direction.
        delay: time steps before an action takes effect.
        corrected: whether the quadratic loss has the sign of the difference and counts in every Runge-Kutta stage.
        efficiency_gain: growth of the efficiency with temperature in high precision, per degree.
        oscillation: whether oscillation is penalised even without ``history``.
    """

    heating: float = EFFICIENCY
    cooling: float = EFFICIENCY
    delay: int = 0
    corrected: bool = False
    efficiency_gain: float = QUADRATIC_LOSS
    oscillation: bool = False


LEVELS: dict[str, dict[str, bool]] = {
    "low": {"high_precision": False, "history": False, "multiple_disturbances": False},
    "medium": {"high_precision": True, "history": False, "multiple_disturbances": False},
    "high": {"high_precision": True, "history": True, "multiple_disturbances": True},
}
"""Levels of complexity: values of the switches that no keyword sets."""
WITHOUT_LOAD = {"load_rounds": 0}
PLANTS = {"published": Plant(), "controllable": Plant(12.0, 4.0, 5, True, 0.0, True)}


class TempControlVectorEnv(VectorEnv):
    """Simulates ``num_envs`` furnaces; rows are independent, and a row's bits do not depend on ``num_envs``.

    The action in ``[-1, 1]`` cools or heats. The observation is the error e = set-point - temperature, its change since
    the last time step, and what ``history`` and ``actions`` add. The reward is -|e| - 0.05 (change of the action)^2,
    plus 1 where |e| < 1; with ``history``, and always with the controllable plant, 0.01 times the standard deviation of
    the last 5 errors is subtracted. An episode is truncated after ``max_episode_steps``.

    Each row draws its start, noise and impulses at its reset, from a generator that its own seed makes. The ``seed`` of
    ``reset`` is a list of the rows' seeds, for this reset alone; or a single number, from which the rows' seeds count
    up and which also decides all later resets without a seed. Rows never reset by themselves
    (``AutoresetMode.DISABLED``): ``options["reset_mask"]``, ``[num_envs]`` of bool, selects the rows to reset, and
    ``options["starts"]``, ``[num_envs, 1]``, sets their temperatures.

    Args:
        num_envs: number of rows.
        plant: parameters of the process, ``published`` or ``controllable``.
        level: complexity, ``low``, ``medium`` or ``high``, which decides the next three switches where they are None.
        high_precision: whether there are Runge-Kutta steps, a quadratic loss and, as published, an efficiency that
            grows with temperature; otherwise there are Euler steps with the linear loss alone.
        history: whether the observation includes the past 5 pairs of error and change.
        multiple_disturbances: whether there are three impulses an episode; otherwise there is one.
        actions: whether the observation includes the last 5 actions: with a delay, error and change alone do not tell
            which actions are still to take effect.
        disturbance: size of an impulse in degrees C; 0 for none.
        load_size, load_rounds: size of a matrix and number of rounds in which its products and singular value
            decompositions load the processor, as published, in each time step of each row; 0 for no load.
        max_episode_steps: time steps until truncation, at most 500.

    Raises:
        ValueError: a keyword has a value that is not accepted.
    """

    metadata = {"autoreset_mode": AutoresetMode.DISABLED, "keyed_rows": True, "without_load": WITHOUT_LOAD}

    def __init__(
        self,
        num_envs: int = 1,
        plant: str = "controllable",
        level: str = "medium",
        high_precision: bool | None = None,
        history: bool | None = None,
        multiple_disturbances: bool | None = None,
        actions: bool = False,
        disturbance: float = -20.0,
        load_size: int = 100,
        load_rounds: int = 3,
        max_episode_steps: int = STEPS,
    ):
        self.num_envs = num_envs
        _check_option("plant", plant, PLANTS)
        _check_option("level", level, LEVELS)
        for name, value in (("load_size", load_size), ("load_rounds", load_rounds)):
            _check_integer(name, value, 0, 10_000)
        _check_integer("max_episode_steps", max_episode_steps, 1, STEPS)
        if not np.isfinite(float(disturbance)):
            raise ValueError(f"disturbance {disturbance}: must be finite")
        given = {"high_precision": high_precision, "history": history, "multiple_disturbances": multiple_disturbances}
        switches = LEVELS[level] | {name: value for name, value in given.items() if value is not None}
        for name, value in (switches | {"actions": actions}).items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} {value!r}: must be true or false")
        self.plant = PLANTS[plant]
        self.high_precision, self.history, self.actions = switches["high_precision"], switches["history"], actions
        self.windows = THREE_IMPULSES if switches["multiple_disturbances"] else ONE_IMPULSE
        self.disturbance = float(disturbance)
        size = 2 + 2 * PAST * self.history + PAST * actions
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.single_action_space = spaces.Box(-1.0, 1.0, (1,), np.float64)
        self.start_space = spaces.Box(*LIMITS, (1,), np.float64)  # wider than START, for samplers to explore
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        loaded = load_size and load_rounds
        self._load = np.random.default_rng(0).standard_normal((load_size, load_size)) if loaded else None
        self._load_rounds = load_rounds
        self._steps = max_episode_steps
        self._temperature = np.zeros(num_envs)
        self._elapsed = np.full(num_envs, self._steps)  # so that a step before the first reset is refused
        # The first axis is time, the latest at index 0, so that one time step of all rows is contiguous in memory.
        self._errors = np.zeros((PAST + 1, num_envs))
        self._changes = np.zeros((PAST + 1, num_envs))
        self._sent = np.zeros((max(PAST, self.plant.delay) + 1, num_envs))
        self._shocks = np.zeros((num_envs, STEPS))  # noise and impulses of the whole episode
        self._rows = np.arange(num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts episodes; the class describes ``seed`` and ``options``."""
        rows = np.flatnonzero((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        if isinstance(seed, numbers.Integral):
            super().reset(seed=int(seed))
            seeds = [int(seed) + row for row in range(self.num_envs)]
        else:
            seeds = self.np_random.integers(2**63, size=self.num_envs).tolist() if seed is None else seed
        for row in rows:
            rng = np.random.default_rng(seeds[row])
            self._temperature[row] = rng.uniform(*START)
            self._shocks[row] = NOISE * rng.standard_normal(STEPS)
            for window in self.windows:
                self._shocks[row, rng.integers(*window)] += self.disturbance
        if options and "starts" in options:
            self._temperature[rows] = options["starts"][rows, 0]
        self._elapsed[rows] = 0
        self._changes[:, rows] = self._sent[:, rows] = 0
        self._errors[:, rows] = SETPOINT - self._temperature[rows]
        return self._observe(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Applies the actions ``[num_envs, 1]``, clipped to [-1, 1], for one second.

        Raises:
            gymnasium.error.ResetNeeded: the episode of a row is over.
        """
        if (self._elapsed >= self._steps).any():
            rows = np.flatnonzero(self._elapsed >= self._steps).tolist()
            raise gymnasium.error.ResetNeeded(f"rows {rows} ended and must be reset before the next step")
        self._run_load()
        _push(self._sent, _clip(np.asarray(actions, np.float64)[:, 0], -1, 1))
        heated = self._advance(self._sent[self.plant.delay])
        self._temperature = _clip(heated + self._shocks[self._rows, self._elapsed], *LIMITS)
        error = SETPOINT - self._temperature
        _push(self._changes, error - self._errors[0])
        _push(self._errors, error)
        moved = self._sent[0] - self._sent[1]
        size = np.abs(error)
        rewards = (size < PRECISION) - size - MOVE_PENALTY * moved * moved
        if self.history or self.plant.oscillation:
            rewards -= OSCILLATION_PENALTY * _std(self._errors[:PAST])
        self._elapsed += 1
        return self._observe(), rewards, np.zeros(self.num_envs, bool), self._elapsed >= self._steps, {}

    def _observe(self) -> np.ndarray:
        """Returns the observations ``[num_envs, obs_dim]``."""
        parts = [self._errors[:1], self._changes[:1]]
        if self.history:
            parts += [self._errors[1:], self._changes[1:]]
        if self.actions:
            parts.append(self._sent[:PAST])
        return np.ascontiguousarray(np.concatenate(parts).T)

    def _advance(self, u: np.ndarray) -> np.ndarray:
        """Returns the temperatures ``[num_envs]`` after one second of actions ``u`` ``[num_envs]``, without noise."""
        t = self._temperature
        power = np.where(u > 0, self.plant.heating * u, self.plant.cooling * u)
        if not self.high_precision:
            return t + self._slope(power, t, quadratic=False)
        power = power * (1 + self.plant.efficiency_gain * t)
        k1 = self._slope(power, t, quadratic=True)
        k2 = self._slope(power, t + 0.5 * k1, self.plant.corrected)
        k3 = self._slope(power, t + 0.5 * k2, self.plant.corrected)
        k4 = self._slope(power, t + k3, self.plant.corrected)
        return t + (k1 + 2 * k2 + 2 * k3 + k4) / 6

    def _slope(self, power: np.ndarray, t: np.ndarray, quadratic: bool) -> np.ndarray:
        """Returns the rates of change of the temperatures ``t``, in degrees per second."""
        d = t - AMBIENT
        loss = LINEAR_LOSS * d
        if quadratic:
            loss = loss + QUADRATIC_LOSS * d * (np.abs(d) if self.plant.corrected else d)
        return (power - loss) / CAPACITY

    def _run_load(self) -> None:
        """Loads the processor; no result depends on it."""
        if self._load is None:
            return
        for _ in range(self.num_envs):
            matrix = self._load
            for _ in range(self._load_rounds):
                matrix = np.linalg.svd(matrix @ matrix.T)[0]


def _check_option(name: str, value: Any, options: dict[str, Any]) -> None:
    """Checks that the value of a keyword is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} {value!r} is none of {', '.join(options)}")


def _check_integer(name: str, value: Any, least: int, most: int) -> None:
    """Checks that the value of a keyword is an integer in the closed range."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"{name} {value!r}: must be a whole number from {least} to {most}")


def _push(past: np.ndarray, latest: np.ndarray) -> None:
    """Moves each entry of ``past`` one index up, drops the oldest, and writes ``latest`` at index 0."""
    past[1:] = past[:-1]
    past[0] = latest


def _clip(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Clips like ``np.clip``, in a third of the time for few values."""
    return np.minimum(np.maximum(values, low), high)


def _std(values: np.ndarray) -> np.ndarray:
    """Returns the standard deviation over the first axis; ``np.std`` takes three times as long for few values."""
    deviations = values - values.sum(axis=0) / len(values)
    return np.sqrt((deviations * deviations).sum(axis=0) / len(values))


class TempControlEnv(gymnasium.Env):
    """Simulates one furnace: a single row of ``TempControlVectorEnv``, which describes the keywords.

    ``options["start"]`` of ``reset`` is its first temperature, ``[1]``.
    """

    metadata = {"render_modes": [], "without_load": WITHOUT_LOAD}

    def __init__(self, **kwargs: Any):
        self._batch = TempControlVectorEnv(1, **kwargs)
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space
        self.start_space = self._batch.start_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**63)) if seed is None else seed
        start = (options or {}).get("start")
        obs, _ = self._batch.reset(seed=[drawn], options=None if start is None else {"starts": np.array([start])})
        return obs[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, rewards, _, truncations, _ = self._batch.step(np.asarray(action, np.float64)[None])
        return obs[0], float(rewards[0]), False, bool(truncations[0]), {}
