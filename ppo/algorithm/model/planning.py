"""Which evaluations a planned round makes: at conditions where the model knows least, knobs that may be the best.

A slot's condition is the one, among many drawn ones, at whose best knobs the model is least certain. Its knobs have the
least lower confidence bound (Cox & John 1992), among proposals of the policy and their neighbours, or, for a share of
the slots, over the whole range. Slots of a round are chosen one after the other, each as if the ones before it had
been evaluated and had given what the model expects (Ginsbourger et al. 2010, the kriging believer), so that they
differ from each other.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from actors.law import centre_states
from actors.plan import Plan
from actors.policy import Policy
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.posterior import Posterior

CONDITIONS = 64  # conditions to choose each slot's from
SPREAD = 128  # knobs over the whole range at each of them
LOCAL = 64  # knobs about the best known ones
WHOLE_RANGE = 1 / 3  # share of the slots whose knobs are chosen over the whole range
BOUND = 2.0  # standard deviations below the mean
NEAR = 0.1  # standard deviation of what is tried about the best knobs, as a share of the length scales


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


def design(knobs: int, conditions: int, slots: int, rng: np.random.Generator) -> Plan:
    """Returns the plan of a first round: a Latin hypercube of knobs and conditions together."""
    points = 2 * qmc.LatinHypercube(knobs + conditions, rng=rng).random(slots) - 1
    return plan_of(points, knobs)


def plan_of(states: np.ndarray, knobs: int) -> Plan:
    """Returns the plan that evaluates f at states ``[slots, knobs + conditions]``."""
    return Plan(centre_states(states[:, knobs:], knobs), states[:, :knobs])


def prospect(model: GaussianProcess, policy: Policy, conditions: np.ndarray, rng: np.random.Generator) -> Prospect:
    """Searches the model for the best knobs at conditions ``[m, conditions]``: spread ones, components, neighbours."""
    m, knobs = len(conditions), policy.spec.action_dim
    means = np.clip(policy.proposals(centre_states(conditions, knobs))[:, policy.live], -1, 1)
    low, high = (bound[:, None] for bound in model.window(conditions, knobs))
    spread = low + (high - low) * qmc.Sobol(knobs, rng=rng).random(SPREAD)
    candidates = np.concatenate([means, spread], axis=1)
    expected = expected_at(model, candidates, conditions)
    own = expected[:, : means.shape[1]]
    best, least = _pick(candidates, expected)
    scale = SPREAD ** (-1 / knobs) * float((high - low).mean()) / 2
    for _ in range(5):
        nearby = np.clip(best[:, None] + scale * rng.standard_normal((m, 16, knobs)), low, high)
        around = np.concatenate([best[:, None], nearby], axis=1)
        best, least = _pick(around, expected_at(model, around, conditions))
        scale /= 2
    return Prospect(conditions, best, least, own.min(axis=1), policy.live[own.argmin(axis=1)])


def expected_at(model: GaussianProcess, knobs: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the warped f expected of knobs ``[m, p, knobs]`` at conditions ``[m, conditions]``, ``[m, p]``."""
    m, p, _ = knobs.shape
    repeated = np.broadcast_to(conditions[:, None], (m, p, conditions.shape[1]))
    return model.mean(np.concatenate([knobs, repeated], axis=2).reshape(m * p, -1)).reshape(m, p)


def best_constant(model: GaussianProcess, knobs: np.ndarray, conditions: np.ndarray) -> float:
    """Returns the least mean f that the model expects of one of knobs ``[m, knobs]`` at all conditions."""
    some = knobs[:: max(1, len(knobs) // 64)]
    repeated = np.broadcast_to(some, (len(conditions), *some.shape))
    return float(model.unwarped(expected_at(model, repeated, conditions)).mean(axis=0).min())


def plan_round(model: GaussianProcess, policy: Policy, slots: int, rng: np.random.Generator) -> Plan:
    """Chooses what a round evaluates.

    Args:
        model: fitted to all rounds before.
        policy: makes proposals.
        slots: number of slots.
        rng: of the training step.
    """
    knobs = policy.spec.action_dim
    dims = policy.spec.obs_dim - knobs
    found = prospect(model, policy, 2 * rng.random((CONDITIONS, dims)) - 1, rng)
    bests = np.concatenate([found.knobs, found.conditions], axis=1)
    posterior = Posterior(model, slots)
    uncertain = posterior.watch(bests)
    unit = qmc.Sobol(knobs, rng=rng).random(SPREAD)
    low, high = model.window(found.conditions, knobs)
    near = NEAR * np.minimum(1.0, model.hyperparameters.lengths[:knobs]) * float((high - low).mean()) / 2
    states = []
    for over_range in rng.random(slots) < WHOLE_RANGE:
        index = int(np.argmax(uncertain.std * rng.random(CONDITIONS) ** 0.25))
        tried = np.clip(found.knobs[index] + near * rng.standard_normal((LOCAL, knobs)), low[index], high[index])
        if over_range:
            tried = np.concatenate([tried, low[index] + (high[index] - low[index]) * unit])
        candidates = np.concatenate([tried, np.broadcast_to(found.conditions[index], (len(tried), dims))], axis=1)
        mean, std = posterior.mean_and_std(candidates)
        states.append(candidates[np.argmin(mean - BOUND * std)])
        posterior.believe(states[-1])
    return plan_of(np.stack(states), knobs)


def _pick(knobs: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the knobs of the least expected value in each row, and that value."""
    rows, best = np.arange(len(knobs)), expected.argmin(axis=1)
    return knobs[rows, best], expected[rows, best]
