"""Searches of the model for the knobs of which it expects least."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from actors.policy import Policy
from ppo.algorithm.model.frame import means_at

SPREAD = 128  # knobs over the whole range at each condition
NEARBY, REFINEMENTS = 16, 5  # knobs about the best ones, so often, before they are polished
POLISHING = 60  # iterations of L-BFGS-B
PRECISE = {"maxcor": 20, "ftol": 1e-15, "gtol": 1e-12, "maxiter": POLISHING}


@dataclass(frozen=True)
class Prospect:
    """What the model expects at some conditions.

    Attributes:
        conditions: ``[m, conditions]``.
        knobs: those with the least expected f, ``[m, knobs]``.
        expected: the warped f expected there, ``[m]``.
        proposed: the least that is expected of a component's mean, ``[m]``.
        chosen: that component, ``[m]``.
    """

    conditions: np.ndarray
    knobs: np.ndarray
    expected: np.ndarray
    proposed: np.ndarray
    chosen: np.ndarray


class Predictor(Protocol):
    """What a law is compared by: a model, or a more cautious one."""

    def mean(self, states: np.ndarray) -> np.ndarray:
        """Returns the warped f expected at states ``[m, dims]``, ``[m]``."""

    def unwarped(self, values: np.ndarray) -> np.ndarray:
        """Returns values of f from warped ones."""


class Searchable(Predictor, Protocol):
    """What is searched for the best knobs: a process, or networks."""

    def mean_and_slope(self, states: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the warped f expected at ``[m, dims]``, ``[m]``, and its slope by the knobs, ``[m, knobs]``."""

    def window(self, conditions: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns between which knobs it predicts at conditions ``[m, conditions]``, ``[m, knobs]`` each."""


def prospect(model: Searchable, policy: Policy, conditions: np.ndarray, rng: np.random.Generator) -> Prospect:
    """Searches the model for the best knobs at conditions ``[m, conditions]``: spread ones, components, neighbours."""
    m, knobs = len(conditions), policy.spec.action_dim
    means = means_at(policy, conditions)
    low, high = (bound[:, None] for bound in model.window(conditions, knobs))
    spread = low + (high - low) * qmc.Sobol(knobs, rng=rng).random(SPREAD)
    candidates = np.concatenate([means, spread], axis=1)
    values = expected_at(model, candidates, conditions)
    own = values[:, : means.shape[1]]
    best = _pick(candidates, values)
    scale = SPREAD ** (-1 / knobs) * float((high - low).mean()) / 2
    for _ in range(REFINEMENTS):
        nearby = np.clip(best[:, None] + scale * rng.standard_normal((m, NEARBY, knobs)), low, high)
        around = np.concatenate([best[:, None], nearby], axis=1)
        best = _pick(around, expected_at(model, around, conditions))
        scale /= 2
    best = polished(model, best, conditions)
    chosen = policy.live[own.argmin(axis=1)]
    return Prospect(conditions, best, expected(model, best, conditions), own.min(axis=1), chosen)


def expected_at(model: Predictor, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the warped f expected of knobs ``[m, p, knobs]`` at conditions ``[m, conditions]``, ``[m, p]``."""
    return model.mean(states_of(knobs, conditions)).reshape(knobs.shape[:2])


def states_of(knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the states of knobs ``[m, p, knobs]`` under conditions ``[m, conditions]``, ``[m * p, dims]``."""
    m, p, _ = knobs.shape
    repeated = np.broadcast_to(conditions[:, None], (m, p, conditions.shape[1]))
    return np.concatenate([knobs, repeated], axis=2).reshape(m * p, -1)


def best_constant(model: Predictor, knobs: np.ndarray, conditions: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns that of knobs ``[m, knobs]`` of which the model expects the least mean f at all conditions, and it."""
    some = knobs[:: max(1, len(knobs) // 64)]
    repeated = np.broadcast_to(some, (len(conditions), *some.shape))
    means = model.unwarped(expected_at(model, repeated, conditions)).mean(axis=0)
    return some[means.argmin()], float(means.min())


def polished(model: Searchable, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Minimises the model's mean locally, from knobs ``[m, knobs]`` at conditions ``[m, conditions]``.

    All rows are one problem to SciPy's L-BFGS-B, since they do not depend on each other.
    """
    shape = knobs.shape

    def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
        states = np.concatenate([flat.reshape(shape), conditions], axis=1)
        values, slopes = model.mean_and_slope(states, shape[1])
        return float(values.sum()), slopes.reshape(-1)

    low, high = model.window(conditions, shape[1])
    bounds = list(zip(low.reshape(-1), high.reshape(-1), strict=True))
    start = np.clip(knobs, low, high).reshape(-1)
    found = minimize(total, start, jac=True, method="L-BFGS-B", bounds=bounds, options=PRECISE)
    best = found.x.reshape(shape)
    before, after = (expected(model, x, conditions) for x in (knobs, best))
    return np.where((after <= before)[:, None], best, knobs)


def expected(model: Predictor, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the warped f that a model expects of knobs ``[m, knobs]`` at conditions ``[m, conditions]``, ``[m]``."""
    return model.mean(np.concatenate([knobs, conditions], axis=1))


def _pick(knobs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns the knobs of the least expected value in each row."""
    return knobs[np.arange(len(knobs)), values.argmin(axis=1)]
