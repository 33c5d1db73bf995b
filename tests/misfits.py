"""Objectives and a sampler that cannot work, which tests name as a user would, ``tests.misfits:Class``."""

import numpy as np

from actors.samplers import Sampler
from env import Objective


class Misfit(Objective):
    """The knob squared."""

    knobs = 1
    conditions = 1

    def __call__(self, x, c):
        return x[:, 0] ** 2


class SaysNothing(Objective):
    def __call__(self, x, c):
        return x[:, 0] ** 2


class NoKnobs(Misfit):
    knobs = 0


class TrueKnobs(Misfit):
    knobs = True


class FloatKnobs(Misfit):
    knobs = 1.0


class TextKnobs(Misfit):
    knobs = "1"


class NoConditions(Misfit):
    conditions = 0


class NegativeConditions(Misfit):
    conditions = -1


class HalfConditions(Misfit):
    conditions = 1.5


class TooManyConditions(Misfit):
    conditions = 20_000


class RootMeanSquare(Misfit):
    metric = "rmse"


class NoMetric(Misfit):
    metric = None


class WholeNumbers(Misfit):
    """Sizes of a NumPy type, which do work."""

    knobs = np.int64(1)
    conditions = np.int32(1)


class AbstractSampler(Sampler):
    """It does not say how it samples."""
