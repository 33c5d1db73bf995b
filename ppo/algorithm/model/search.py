"""Searches of the model for the knobs of which it expects least."""

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from actors.policy import Policy
from actors.snapshot import NetworkSpec
from actors.step_limit import StepLimit
from env.coordinates import snapped
from ppo.algorithm.components import label_values
from ppo.algorithm.model.frame import means_at

SPREAD = 128  # knobs over the whole range at each condition
NEARBY, REFINEMENTS = 16, 5  # knobs about the best ones, so often, before they are polished
POLISHING = 60  # iterations of L-BFGS-B
STEPPED = 8  # times that neighbours of the best knobs are tried where some of them can have but some values
MOST_TOGETHER = 3  # knobs of that kind that are moved up and down together
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
    """What a law is compared by: a model, or a more cautious one, of the knobs that a step limit allows."""

    @property
    def limit(self) -> StepLimit | None:
        """How far knobs may lie from those of a start law; None for no limit."""

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


def prospect(
    model: Searchable,
    policy: Policy,
    conditions: np.ndarray,
    rng: np.random.Generator,
    labels: np.ndarray | None = None,
) -> Prospect:
    """Searches the model for the best knobs at conditions ``[m, conditions]``: spread ones, components, neighbours.

    Of choices, each combination is searched by itself; where ``labels`` are given, ``[n, choices]``, only those.
    """
    spec = policy.spec
    means = within_limit(model, means_at(policy, conditions), conditions)
    low, high = (bound[:, None] for bound in model.window(conditions, spec.action_dim))
    spread = low + (high - low) * qmc.Sobol(spec.action_dim, rng=rng).random(SPREAD)
    candidates = np.concatenate([means, policy.valid(spread) if spec.steps else spread], axis=1)
    own = expected_at(model, means, conditions) if spec.labelled else None
    found = []
    for label in label_values(spec) if labels is None else labels:
        candidates[..., spec.labelled] = label
        values = expected_at(model, candidates, conditions)
        own = values[:, : means.shape[1]] if own is None else own
        found.append(_searched(model, _pick(candidates, values), conditions, spec, rng))
    each = np.stack(found, axis=1)
    best = _pick(each, expected_at(model, each, conditions)) if len(found) > 1 else found[0]
    assert own is not None, "there is a label, if an empty one"
    chosen = policy.live[own.argmin(axis=1)]
    return Prospect(conditions, best, expected(model, best, conditions), own.min(axis=1), chosen)


def _searched(
    model: Searchable, best: np.ndarray, conditions: np.ndarray, spec: NetworkSpec, rng: np.random.Generator
) -> np.ndarray:
    """Returns the best knobs ``[m, knobs]`` of the same label about the best ones so far."""
    m, knobs = len(conditions), spec.action_dim
    low, high = (bound[:, None] for bound in model.window(conditions, knobs))
    scale = SPREAD ** (-1 / knobs) * float((high - low).mean()) / 2
    for _ in range(REFINEMENTS):
        nearby = np.clip(best[:, None] + scale * rng.standard_normal((m, NEARBY, knobs)), low, high)
        nearby[..., spec.labelled] = best[:, None, spec.labelled]
        around = np.concatenate([best[:, None], nearby], axis=1)
        best = _pick(around, expected_at(model, around, conditions))
        scale /= 2
    return polished(model, best, conditions, spec)


def within_limit(model: Predictor, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the nearest knobs ``[m, p, knobs]`` that a step limit allows at conditions ``[m, conditions]``."""
    if model.limit is None:
        return knobs
    low, high = (bound[:, None] for bound in model.limit.bounds(conditions))
    return np.clip(knobs, low, high)


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


def polished(
    model: Searchable, knobs: np.ndarray, conditions: np.ndarray, spec: NetworkSpec | None = None
) -> np.ndarray:
    """Minimises the model's mean locally, from knobs ``[m, knobs]`` at conditions ``[m, conditions]``.

    Knobs that can have but some values are moved to one of them. The nearest one is not always the best, since others
    have to move with it. Choices are left as they are. Both are told by ``spec``.
    """
    if spec is None or not spec.steps:
        return _descended(model, knobs, conditions, np.zeros(knobs.shape[1], bool))
    fixed = np.isin(np.arange(spec.action_dim), spec.labelled)
    best, steps = _descended(model, knobs, conditions, fixed), np.where(fixed, 0.0, np.array(spec.steps))
    return _on_steps(model, best, conditions, steps, fixed) if steps.any() else best


def _on_steps(
    model: Searchable, knobs: np.ndarray, conditions: np.ndarray, steps: np.ndarray, fixed: np.ndarray
) -> np.ndarray:
    """Returns the best knobs on the steps that are found from knobs between them, ``[m, knobs]``."""
    best = within_limit(model, snapped(knobs, steps)[:, None], conditions)[:, 0]
    fixed = fixed | (steps > 0)
    for _ in range(STEPPED):
        tried = within_limit(model, _neighbours(best, steps), conditions)
        (m, p, count), before = tried.shape, best
        repeated = np.repeat(conditions, p, axis=0)
        found = _descended(model, tried.reshape(m * p, count), repeated, fixed)
        best = _pick(found.reshape(tried.shape), expected(model, found, repeated).reshape(m, p))
        if (best[:, fixed] == before[:, fixed]).all():
            break
    return best


def _neighbours(knobs: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Returns knobs on the steps, and those with one of them a step up or down, ``[m, p, knobs]``.

    Few of them are moved together too: on a ridge through two, neither is better off alone.
    """
    stepped = np.flatnonzero(steps)
    moves = np.zeros((1, len(steps)))
    if len(stepped) <= MOST_TOGETHER:
        together = np.array(list(itertools.product((0.0, 1.0, -1.0), repeat=len(stepped))))
        moves = np.zeros((len(together), len(steps)))
        moves[:, stepped] = together * steps[stepped]
    else:
        each = np.diag(steps)[stepped]
        moves = np.concatenate([moves, each, -each])
    return snapped(np.clip(knobs[:, None] + moves, -1, 1), steps)


def _descended(model: Searchable, knobs: np.ndarray, conditions: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Minimises the model's mean locally over the knobs that are not ``fixed``, ``[knobs]`` of bool.

    All rows are one problem to SciPy's L-BFGS-B, since they do not depend on each other.
    """
    shape, knobs = knobs.shape, within_limit(model, knobs[:, None], conditions)[:, 0]
    if fixed.all():
        return knobs

    def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
        states = np.concatenate([flat.reshape(shape), conditions], axis=1)
        values, slopes = model.mean_and_slope(states, shape[1])
        return float(values.sum()), slopes.reshape(-1)

    low, high = model.window(conditions, shape[1])
    low, high = (np.where(fixed, knobs, bound) for bound in (low, high))
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
