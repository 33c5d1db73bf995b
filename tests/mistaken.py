"""Objectives and environments with the mistakes of a new user, which tests name as ``tests.mistaken:Name``."""

import gymnasium
import numpy as np
from gymnasium import spaces

from env import Objective


class Valley(Objective):
    """Works; those below it make a mistake each."""

    knobs = 1
    conditions = 1

    def __call__(self, x, c):
        return (x[:, 0] - c[:, 0]) ** 2


class DescribedKnobs(Valley):
    knobs = {"gain": 1}


class LacksKnobs(Objective):
    conditions = 1

    def __init__(self, quick=True):
        if quick:
            return
        self.knobs = 1

    def __call__(self, x, c):
        return 0.0


class TakesNoConditions(Valley):
    def __call__(self, x):
        return 0.0


class TakesMore(Valley):
    def __call__(self, x, c, *, power):
        return 0.0


class SolvesNothing(Valley):
    def solve(self):
        return None


class CannotBeMade(Valley):
    def __init__(self):
        raise KeyError("licence")


class NeedsPort(Valley):
    def __init__(self, port):
        self.port = port


class Plain:
    """No objective."""


class ReturnsNone(Valley):
    def __call__(self, x, c):
        (x[:, 0] - c[:, 0]) ** 2


class ReturnsText(Valley):
    def __call__(self, x, c):
        return "0.5"


class ReturnsTuple(Valley):
    def __call__(self, x, c):
        return 0.5, {}


class ReturnsMatrix(Valley):
    def __call__(self, x, c):
        return (x - c) ** 2


class ReturnsOneForAll(Valley):
    vectorised = True

    def __call__(self, x, c):
        return 0.5


class ReturnsNoneLater(Valley):
    """Returns None from the 21st evaluation on."""

    def __init__(self):
        self.asked = 0

    def __call__(self, x, c):
        self.asked += 1
        return super().__call__(x, c) if self.asked <= 20 else None


class FiveSteps(gymnasium.Env):
    """Works, and truncates its episodes after five time steps; those below it make a mistake each."""

    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(3, np.float32), 1.0, False, self.t >= 5, {}


def stepping(*returned):
    """Returns a ``step`` that returns always the same; of one value that alone."""
    return lambda self, action: returned if len(returned) != 1 else returned[0]


def resetting(*returned):
    """Returns a ``reset`` likewise."""
    return lambda self, *, seed=None, options=None: returned if len(returned) != 1 else returned[0]


OBS = np.zeros(3, np.float32)


class OldReset(FiveSteps):
    def reset(self):
        return OBS


class ResetsToObservation(FiveSteps):
    reset = resetting(OBS)


class ResetsToThree(FiveSteps):
    reset = resetting(OBS, {}, 1)


class ResetsToNone(FiveSteps):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)


class ResetsWithoutInfo(FiveSteps):
    reset = resetting(OBS, None)


class TakesNoOptions(FiveSteps):
    def reset(self, seed=None):
        return OBS, {}


class StepsOldWay(FiveSteps):
    step = stepping(OBS, 1.0, False, {})


class StepsToSix(FiveSteps):
    step = stepping(OBS, 1.0, False, False, {}, 1)


class TakesNoAction(FiveSteps):
    def step(self):
        return OBS, 1.0, False, False, {}


class LacksStep(gymnasium.Env):
    observation_space, action_space, reset = FiveSteps.observation_space, FiveSteps.action_space, FiveSteps.reset


class LacksReset(gymnasium.Env):
    observation_space, action_space, step = FiveSteps.observation_space, FiveSteps.action_space, FiveSteps.step


class ObservesFour(FiveSteps):
    reset = resetting(np.zeros(4), {})


class ObservesColumn(FiveSteps):
    step = stepping(np.zeros((3, 1)), 1.0, False, False, {})


class ObservesText(FiveSteps):
    reset = resetting("left", {})


class RewardsNone(FiveSteps):
    step = stepping(OBS, None, False, False, {})


class RewardsArray(FiveSteps):
    step = stepping(OBS, np.zeros(1), False, False, {})


class TerminatesByText(FiveSteps):
    step = stepping(OBS, 1.0, "no", False, {})


class TruncatesByNumber(FiveSteps):
    step = stepping(OBS, 1.0, False, 0, {})


class LacksObservationSpace(gymnasium.Env):
    action_space, reset, step = FiveSteps.action_space, FiveSteps.reset, FiveSteps.step


class LacksActionSpace(gymnasium.Env):
    observation_space, reset, step = FiveSteps.observation_space, FiveSteps.reset, FiveSteps.step


class ObservationSpaceClass(FiveSteps):
    observation_space = spaces.Box


class ActionSpaceNumber(FiveSteps):
    action_space = 2


class ObservesNothing(FiveSteps):
    observation_space = spaces.Box(-1, 1, (0,))


class ObservesImage(FiveSteps):
    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)


class ObservesGraph(FiveSteps):
    observation_space = spaces.Graph(spaces.Box(-1, 1, (2,)), None)


class NumbersItsParts(FiveSteps):
    observation_space = spaces.Dict({1: spaces.Discrete(2)})


class ForgetsPart(FiveSteps):
    observation_space = spaces.Dict(place=spaces.Discrete(3), speed=spaces.Box(-1, 1, (2,)))
    reset = resetting({"place": 1}, {})


class PlaceOutside(ForgetsPart):
    reset = resetting({"place": 3, "speed": np.zeros(2)}, {})


class EnvironmentCannotBeMade(FiveSteps):
    def __init__(self):
        raise OSError("no such port")


class CropsObservation(gymnasium.ObservationWrapper):
    """A user's wrapper around Gymnasium's own environment: it observes less than it says."""

    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"))

    def observation(self, observation):
        return observation[:2]


class RewardsNoneLater(FiveSteps):
    """Its third reward in an episode is None."""

    def step(self, action):
        obs, reward, *rest = super().step(action)
        return obs, None if self.t == 3 else reward, *rest


class RaisesInStep(FiveSteps):
    def step(self, action):
        raise ZeroDivisionError("the motor stalled")


class EndsByChance(FiveSteps):
    """Truncates after three to six time steps."""

    def step(self, action):
        self.t += 1
        return OBS, 1.0, False, self.t > 2 and (self.t == 6 or self.np_random.random() < 0.5), {}


class NeverEnds(FiveSteps):
    step = stepping(OBS, 1.0, False, False, {})


class Unbounded(FiveSteps):
    action_space = spaces.Box(np.array([-np.inf, -1, 0]), np.array([np.inf, 1, np.inf]), dtype=np.float64)
