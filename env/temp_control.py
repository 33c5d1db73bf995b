"""TempControl: a slow, noisy furnace that is held at a set-point, batched and single.

``TempControl-v0`` is the environment of Peniche Cordeiro et al., *Optimization of code for scalability of deep
reinforcement learning agents in slow and stochastic industrial process patterns*, as published, quirks included: the
Runge-Kutta stages after the first leave the quadratic loss out, and the set-point cannot be reached, since full power
settles at 47 C. ``TempControl-v1`` is the same process with enough power, a loss that counts in every stage, and an
actuator that lags; its set-point can be held.
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
START = (25.0, 40.0)
LIMITS = (20.0, 150.0)
CAPACITY, LINEAR_LOSS, QUADRATIC_LOSS = 10.0, 0.02, 0.001
EFFICIENCY = 0.5
NOISE = 0.1  # standard deviation of the temperature's noise in a time step, degrees C
STEPS = 500
PRECISION = 1.0  # degrees C within which the bonus is paid
MOVE_PENALTY, OSCILLATION_PENALTY = 0.05, 0.01
PAST = 5  # errors, and actions, that are remembered
ONE, SEVERAL = ((200, 300),), ((100, 150), (200, 250), (300, 350))  # when an impulse may come


@dataclass(frozen=True)
class Plant:
    """What is controlled.

    Attributes:
        heating, cooling: power at full action, either way.
        delay: time steps before an action takes effect.
        corrected: whether the quadratic loss has the sign of the difference and counts in every Runge-Kutta stage.
        efficiency_gain: growth of the efficiency with temperature in high precision, per degree.
        oscillation: whether oscillation is punished without ``history`` too.
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
"""Levels of complexity: what is switched on where no keyword says otherwise."""
WITHOUT_LOAD = {"load_rounds": 0}
PLANTS = {"published": Plant(), "controllable": Plant(12.0, 4.0, 5, True, 0.0, True)}


class TempControlVectorEnv(VectorEnv):
    """``num_envs`` furnaces at once; rows never mix, and a row's bits do not depend on ``num_envs``.

    Action: heating or cooling, ``[-1, 1]``. Observation: error e = set-point - temperature and its change since the
    last time step, then what ``history`` and ``actions`` add. Reward: -|e| - 0.05 (change of the action)^2, + 1 where
    |e| < 1, and with a history, or with the controllable plant always, - 0.01 times the standard deviation of the last
    5 errors. Truncated after ``max_episode_steps``.

    Each row draws start, noise and impulses from a generator of its own, made from its own seed, all at its reset. A
    list holds the rows' seeds for that reset; a single number is where they count up from, and decides all later resets
    that are given none.
    Never resets by itself (``AutoresetMode.DISABLED``); ``options["reset_mask"]`` says which rows to reset, and
    ``options["starts"]`` at which temperatures.

    Args:
        num_envs: number of rows.
        plant: ``published`` or ``controllable``.
        level: ``low``, ``medium`` or ``high`` complexity: what the next three are where they are None.
        high_precision: Runge-Kutta steps, quadratic loss and, as published, an efficiency that grows with temperature;
            else Euler steps with the linear loss alone.
        history: adds the past 5 pairs of error and change to the observation.
        multiple_disturbances: three impulses an episode in place of one.
        actions: adds the last 5 actions to the observation: with a delay, error and change alone do not tell what is
            still to come.
        disturbance: size of an impulse, degrees C; 0 for none.
        load_size, load_rounds: in each time step of each row, so many rounds of products and singular value
            decompositions of a matrix of this size keep the processor busy, as published; 0 for none.
        max_episode_steps: time steps until truncation, at most 500.

    Raises:
        ValueError: a keyword has a value that it cannot have.
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
        _one_of("plant", plant, PLANTS)
        _one_of("level", level, LEVELS)
        for name, value in (("load_size", load_size), ("load_rounds", load_rounds)):
            _whole(name, value, 0, 10_000)
        _whole("max_episode_steps", max_episode_steps, 1, STEPS)
        if not np.isfinite(float(disturbance)):
            raise ValueError(f"disturbance {disturbance}: must be finite")
        given = {"high_precision": high_precision, "history": history, "multiple_disturbances": multiple_disturbances}
        switches = LEVELS[level] | {name: value for name, value in given.items() if value is not None}
        for name, value in (switches | {"actions": actions}).items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} {value!r}: must be true or false")
        self.plant = PLANTS[plant]
        self.high_precision, self.history, self.actions = switches["high_precision"], switches["history"], actions
        self.windows = SEVERAL if switches["multiple_disturbances"] else ONE
        self.disturbance = float(disturbance)
        size = 2 + 2 * PAST * self.history + PAST * actions
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.single_action_space = spaces.Box(-1.0, 1.0, (1,), np.float64)
        self.start_space = spaces.Box(*LIMITS, (1,), np.float64)  # wider than its own starts: a sampler may explore
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        loaded = load_size and load_rounds
        self._load = np.random.default_rng(0).standard_normal((load_size, load_size)) if loaded else None
        self._load_rounds = load_rounds
        self._steps = max_episode_steps
        self._temperature = np.zeros(num_envs)
        self._elapsed = np.full(num_envs, self._steps)  # so that a step before the first reset is refused
        # Time comes first, the latest at 0, so that a moment of all rows lies in one piece of memory.
        self._errors = np.zeros((PAST + 1, num_envs))
        self._changes = np.zeros((PAST + 1, num_envs))
        self._sent = np.zeros((max(PAST, self.plant.delay) + 1, num_envs))
        self._shocks = np.zeros((num_envs, STEPS))  # noise and impulses of the whole episode
        self._rows = np.arange(num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts episodes; ``seed`` is one for each row, or one from which the rows' are counted up."""
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
        """Holds the actions ``[num_envs, 1]``, clipped, for a second."""
        if (self._elapsed >= self._steps).any():
            rows = np.flatnonzero(self._elapsed >= self._steps).tolist()
            raise gymnasium.error.ResetNeeded(f"rows {rows} ended and must be reset before the next step")
        self._work()
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
        parts = [self._errors[:1], self._changes[:1]]
        if self.history:
            parts += [self._errors[1:], self._changes[1:]]
        if self.actions:
            parts.append(self._sent[:PAST])
        return np.ascontiguousarray(np.concatenate(parts).T)

    def _advance(self, u: np.ndarray) -> np.ndarray:
        """Temperature after a second of action ``u``, without noise."""
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
        """Degrees per second at temperature ``t``."""
        d = t - AMBIENT
        loss = LINEAR_LOSS * d
        if quadratic:
            loss = loss + QUADRATIC_LOSS * d * (np.abs(d) if self.plant.corrected else d)
        return (power - loss) / CAPACITY

    def _work(self) -> None:
        """The load: it changes nothing."""
        if self._load is None:
            return
        for _ in range(self.num_envs):
            matrix = self._load
            for _ in range(self._load_rounds):
                matrix = np.linalg.svd(matrix @ matrix.T)[0]


def _one_of(name: str, value: Any, options: dict[str, Any]) -> None:
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} {value!r} is none of {', '.join(options)}")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"{name} {value!r}: must be a whole number from {least} to {most}")


def _push(past: np.ndarray, latest: np.ndarray) -> None:
    """The latest at 0, the oldest dropped."""
    past[1:] = past[:-1]
    past[0] = latest


def _clip(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """As ``np.clip``, in a third of the time for few values."""
    return np.minimum(np.maximum(values, low), high)


def _std(values: np.ndarray) -> np.ndarray:
    """Standard deviation over the first axis; ``np.std`` takes three times as long for few values."""
    deviations = values - values.sum(axis=0) / len(values)
    return np.sqrt((deviations * deviations).sum(axis=0) / len(values))


class TempControlEnv(gymnasium.Env):
    """One furnace: one row of ``TempControlVectorEnv``, which says what its arguments mean."""

    metadata = {"without_load": WITHOUT_LOAD}

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
