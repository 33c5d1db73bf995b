"""Objectives, environments and samplers that tests name as a user would, ``tests.problems:Class``."""

import math
import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces

from actors.samplers import Sampler
from env import Choice, Integer, Log, Objective, Range, bench, objective
from env.objectives.branin import Branin
from env.objectives.hartmann import Hartmann


class Quadratic(Objective):
    """f = |x - best(c)|^2: the minimiser depends on c and the minimum is 0."""

    knobs = 2
    conditions = 1
    vectorised = True

    def best(self, c):
        return np.concatenate([0.5 * c, 0.3 - 0.4 * c * c], axis=1)

    def __call__(self, x, c):
        return np.sum((x - self.best(c)) ** 2, axis=1)

    def solve(self, c):
        return self.best(c), np.zeros(len(c))


class UnknownOptimum(Quadratic):
    """The same function; its minimum is not known to the objective."""

    def solve(self, c):
        return None


class TwoValleys(Objective):
    """The least of two valleys, of which the one at x = -0.6 is the best where c < 0, and the one at 0.6 elsewhere."""

    knobs = 1
    conditions = 1
    vectorised = True

    def __call__(self, x, c):
        left = (x + 0.6) ** 2 + 0.5 * np.maximum(c, 0)
        right = (x - 0.6) ** 2 + 0.5 * np.maximum(-c, 0)
        return np.minimum(left, right)[:, 0]

    def solve(self, c):
        return np.where(c < 0, -0.6, 0.6), np.zeros(len(c))


class Shifted(Quadratic):
    """The same function and 1; without this stand-in for noise it is the function itself."""

    vectorised = True
    noise_free = Quadratic()

    def __call__(self, x, c):
        return super().__call__(x, c) + 1


class Counted(Quadratic):
    """The same function, its minimum not known: each evaluation takes a while and adds a byte to a file."""

    def __init__(self, path, seconds=0.0):
        self.path, self.seconds = path, seconds

    def __call__(self, x, c):
        time.sleep(self.seconds * len(x))
        with open(self.path, "ab", buffering=0) as file:
            file.write(b"." * len(x))
        return super().__call__(x, c)

    def solve(self, c):
        return None


class BreaksLater(Counted):
    """The same, which raises ValueError after so many evaluations."""

    def __init__(self, path, most, seconds=0.0):
        super().__init__(path, seconds)
        self.most = most

    def __call__(self, x, c):
        if os.path.exists(self.path) and os.path.getsize(self.path) >= self.most:
            raise ValueError("the probe lost contact")
        return super().__call__(x, c)


class RaisesForSomeConditions(Quadratic):
    """Raises ValueError where a condition is above 0.5."""

    def __call__(self, x, c):
        if (c > 0.5).any():
            raise ValueError("the probe lost contact")
        return super().__call__(x, c)


class RaisesRowByRow(RaisesForSomeConditions):
    """The same, asked for one row at a time."""

    vectorised = False


class RaisesAtOnceElseWaits(Quadratic):
    """Raises ValueError where the condition is below 0, and answers after 0.2 s elsewhere."""

    def __call__(self, x, c):
        if (c < 0).any():
            raise ValueError("the probe lost contact")
        time.sleep(0.2)
        return super().__call__(x, c)


class RaisesConnectionError(Quadratic):
    """Raises ConnectionResetError, which a broken pipe to a driver raises too."""

    def __call__(self, x, c):
        raise ConnectionResetError("the instrument hung up")


class AbstractObjective(Objective):
    """Defines no abstract method, so that it cannot be instantiated."""


class ReturnsNaN(Quadratic):
    """Returns NaN where the condition is above 0.5."""

    def __call__(self, x, c):
        return np.where(c[:, 0] > 0.5, np.nan, super().__call__(x, c))


def first_to_ask():
    """Returns True for the first call in all processes, which creates the file named by TUNINGLAW_TEST_FLAG."""
    try:
        os.close(os.open(os.environ["TUNINGLAW_TEST_FLAG"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class KillsDriverOnce(Quadratic):
    """Kills the process that evaluates it first, once."""

    def __call__(self, x, c):
        if first_to_ask():
            os.kill(os.getpid(), 9)
        return super().__call__(x, c)


class KillsEveryDriver(Quadratic):
    """Kills every process that evaluates it."""

    def __call__(self, x, c):
        os.kill(os.getpid(), 9)


class HangsOnce(Quadratic):
    """Sleeps for an hour in its first evaluation in all processes."""

    def __call__(self, x, c):
        if first_to_ask():
            time.sleep(3600)
        return super().__call__(x, c)


class CornerSampler(Sampler):
    """Draws starts from the corners of the bounds; stands for a user's own sampler."""

    def sample(self, n, rng, policy, rows):
        return self.scale(rng.integers(0, 2, (n, self.dims)).astype(float))[rows]


class UnslicedSampler(Sampler):
    """Returns all rows whichever are asked for, which breaks the contract of a sampler."""

    def sample(self, n, rng, policy, rows):
        return self.scale(rng.random((n, self.dims)))


class CountdownEnv(gymnasium.Env):
    """Terminates after 3 to 6 time steps, drawn from its seed; observes (time steps left, total). Each reward is 1."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(3, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total = self.left = int(self.np_random.integers(3, 7))
        return np.array([self.left, self.total], np.float32), {}

    def step(self, action):
        assert self.left > 0, "stepped past its end"
        assert self.action_space.contains(action)
        self.left -= 1
        return np.array([self.left, self.total], np.float32), 1.0, self.left == 0, False, {}


class RaisingCountdownEnv(CountdownEnv):
    """The same; raises ValueError in the second time step of an episode of four."""

    def step(self, action):
        if (self.total, self.left) == (4, 3):
            raise ValueError("the rocket fell over")
        return super().step(action)


class LotteryEnv(CountdownEnv):
    """The same; now and then an episode's rewards are so large that no sum of them is finite."""

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed)
        self.won = self.np_random.random() < 0.03
        return obs, info

    def step(self, action):
        obs, reward, *rest = super().step(action)
        return obs, 1.7e308 if self.won else reward, *rest


class WideEnv(gymnasium.Env):
    """Never ends; its observations make both trajectory and snapshot larger than a pipe's buffer."""

    observation_space = spaces.Box(-1, 1, (2000,), np.float64)
    action_space = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2000), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.np_random.uniform(-1, 1, 2000), float(action.sum()), False, False, {}


class MultiBinaryEnv(gymnasium.Env):
    """Has an action space that is not supported."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.MultiBinary(3)


class ScaledQuadratic(Quadratic):
    """1,024 f: a power of two changes the exponents of f and no other bit."""

    vectorised = True

    def __call__(self, x, c):
        return 1024 * super().__call__(x, c)


class OffsetQuadratic(Quadratic):
    """0.001 f + 500: small differences above a large constant."""

    vectorised = True

    def __call__(self, x, c):
        return 1e-3 * super().__call__(x, c) + 500


class OffsetBranin(Branin):
    """The same of Branin's function."""

    vectorised = True

    def __call__(self, x, c):
        return 1e-3 * super().__call__(x, c) + 500


class OffsetHartmann(Hartmann):
    """The same of Hartmann's function of four coordinates, two of them tuned."""

    vectorised = True

    def __init__(self):
        super().__init__(4, 2)

    def __call__(self, x, c):
        return 1e-3 * super().__call__(x, c) + 500


class TwoDialsEnv(gymnasium.Env):
    """Two discrete choices, both shown by the observation: a reward of 1 for each right one in each of 8 time steps."""

    observation_space = spaces.Discrete(6)
    action_space = spaces.MultiDiscrete([3, 2], start=[-1, 4])

    def _shown(self):
        self.wanted = int(self.np_random.integers(6))
        return self.wanted

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 8
        return self._shown(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.left -= 1
        right = int(action[0] == self.wanted % 3 - 1) + int(action[1] == self.wanted // 3 + 4)
        return self._shown(), float(right), False, self.left == 0, {}


class Scaled(Quadratic):
    """f times a scale, plus an offset: finite, and with a large scale its squares are not; scored by any metric."""

    def __init__(self, scale=1e160, offset=0.0, metric="mse"):
        self.scale, self.offset, self.metric = scale, offset, metric

    def __call__(self, x, c):
        return self.scale * super().__call__(x, c) + self.offset

    def solve(self, c):
        return self.best(c), np.full(len(c), self.offset)


class GoesElsewhere(Quadratic):
    """Changes the directory of the process, as some simulators do."""

    def __init__(self, path):
        os.chdir(path)


@objective(
    knobs={"a": Range(0, 10, unit="V"), "b": Integer(0, 4)}, conditions={"load": Range(1, 3, unit="A")}, constraints=1
)
def limited(a, b, load):
    """Squared distances of a from 9 and of b from 1 + load / 2, with a <= 2 load, which is the best a."""
    return (a - 9) ** 2 + (b - 1 - load / 2) ** 2, a - 2 * load


supply = bench(knobs={"a": Range(0, 10), "b": Integer(0, 4)}, conditions={"load": Range(1, 3)})
"""A bench that measures what ``measured`` returns."""


@objective(knobs={"a": Range(0, 10), "b": Integer(0, 4)}, conditions={"load": Range(1, 3)})
def measured(a, b, load):
    return (a - 2 * load) ** 2 + (b - 1 - load / 2) ** 2


@objective(knobs={"flow": Range(0, 10, "m3/h")}, conditions={"outside": Range(-20, 30, "C")})
def sometimes_nan(flow, outside):
    return float("nan") if flow > 5 else flow


KNOBS = {"gain": Range(-3, 8, "dB"), "taps": Integer(1, 9), "mode": Choice("fast", "slow")}
CONDITIONS = {"vin": Log(1, 100, unit="V"), "hot": Choice(False, True)}


@objective(
    knobs=KNOBS,
    conditions=CONDITIONS,
    best=lambda vin, hot: {
        "gain": 4 * np.log10(vin) - 3,
        "taps": np.where(hot, 9, 3),
        "mode": np.where(hot, "slow", "fast"),
    },
)
def amplifier(gain, taps, mode, vin, hot=False):
    """A plain function whose best knobs are known, where f is 1."""
    wanted = (4 * math.log10(vin) - 3, 9 if hot else 3, "slow" if hot else "fast")
    return 1 + (gain - wanted[0]) ** 2 + 0.1 * abs(taps - wanted[1]) + 0.5 * (mode != wanted[2])


@objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)}, vectorised=True)
def many_at_once(gain, vin):
    """Takes arrays, and tells them from single values."""
    assert gain.shape == vin.shape and gain.ndim == 1
    return (gain - vin) ** 2


@objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
def noisy_gain(gain, vin, rng):
    """Draws a number of its own generator."""
    return gain - vin + rng.normal()


@objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)}, at_once=2)
class Instrument:
    """Is opened with keywords; two of its evaluations may be under way at once."""

    def __init__(self, address, offset=0.0):
        self.address, self.offset = address, offset

    def __call__(self, gain, vin):
        assert self.address == "GPIB::7"
        return (gain - vin) ** 2 + self.offset


@objective(
    knobs={"stages": Integer(0, 4), "trim": Range(0, 1), "mode": Choice("low", "high")},
    conditions={"load": Range(10, 20, "A"), "warm": Integer(0, 2)},
)
def converter(stages, trim, mode, load, warm):
    """A plain function whose best knobs it does not say."""
    return (trim - load / 20) ** 2 + 0.1 * abs(stages - warm) + 0.2 * (mode == "low")


@objective(knobs={"stages": Integer(0, 4), "trim": Range(0, 1)}, conditions={"load": Range(-1, 1)})
def ridge(stages, trim, load):
    """Least at 1.6 stages if there were such: 2 are worse than 1, since the trim cannot make up for it below 0."""
    return 10 * (stages + trim - 1.7 - 0.1 * load) ** 2 + 0.5 * (stages - 1.6) ** 2


@objective(knobs={"mode": Choice("b", "c", "a"), "trim": Range(-1, 1)}, conditions={"load": Range(-1, 1)})
def modes(mode, trim, load):
    """The best mode is a where the load is low, c where it is high and b between, and each wants a trim of its own."""
    place = {"a": -0.8, "b": 0.0, "c": 0.8}[mode]
    return 0.5 * (load - place) ** 2 + (trim - {"a": 0.5, "b": -0.5, "c": 0.2 * load}[mode]) ** 2


@objective(
    knobs={"fast": Choice(True, False), "trim": Range(0, 1), "port": Choice(0, 1, 2, 3, 4, 5)},
    conditions={"load": Range(-1, 1)},
)
def switches(fast, trim, port, load):
    """Twelve combinations of choices."""
    return (trim - 0.5) ** 2 + 0.1 * port + 0.2 * fast * load


WEATHER = {"load": Range(0, 1), "wind": Range(0, 20, unit="m/s", observed=True)}


def best_sail(load, wind):
    return 0.2 + 0.03 * wind - 0.2 * load


@objective(knobs={"sail": Range(0, 1)}, conditions=WEATHER)
def weathered(sail, load, rng):
    """The best sail is known for each load and wind; the wind comes by itself, mostly below 10 m/s."""
    wind = 20 * rng.beta(2, 4)
    return (sail - best_sail(load, wind)) ** 2, {"wind": wind}


boat = bench(knobs={"sail": Range(0, 1)}, conditions=WEATHER)
"""A bench of the same."""
