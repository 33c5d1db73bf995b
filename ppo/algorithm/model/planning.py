"""Which evaluations a planned round makes: at conditions where the model knows least, knobs that may be the best.

A slot's condition is the one, among many drawn ones, at whose best knobs the model is least certain. Its knobs have the
least lower confidence bound (Cox & John 1992), among proposals of the policy and their neighbours, or, for a share of
the slots, over the whole range. Slots of a round are chosen one after the other, each as if the ones before it had been
evaluated and had given what the model expects (Ginsbourger et al. 2010, the kriging believer), so that they differ from
each other. Where f has noise and the model knows f at those knobs far better than one evaluation tells, half of the
slots are instead where the model is least certain in the whole range, since such evaluations say the most about f as a
whole (Wynn 1970), and so about which of its valleys is the lowest. Conditions and knobs at which f is likely to fail
are passed over where there are others, and in most slots those that are near to that as well. What a round has beyond
so many slots is sampled by the policy, at conditions drawn at random.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from actors.plan import Plan
from actors.policy import Policy, centre_states
from actors.step_limit import StepLimit
from env.description import Description
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.posterior import Posterior
from ppo.algorithm.model.search import SPREAD, prospect

CONDITIONS = 64  # conditions to choose each slot's from
LOCAL = 64  # knobs about the best known ones
WHOLE_RANGE = 1 / 3  # share of the slots whose knobs are chosen over the whole range
RECENT = 64  # evaluations whose weather is expected again
MOST_CHOSEN = 64  # slots of a round that are chosen with the model
SURE, SURE_SHARE = 0.3, 0.5  # stds of the noise below which the model's is small, and the share of slots elsewhere then
BOUND = 2.0  # standard deviations below the mean
SAFE, RISKY_SHARE = 1.9, 0.25  # times as far as the nearest success a failure is from what is safe, and the share of
# the slots that need not be
NEAR = 0.1  # standard deviation of what is tried about the best knobs, as a share of the length scales


@dataclass(frozen=True)
class Weather:
    """The conditions that come by themselves, as they were of late: others like them are expected.

    Attributes:
        observed: their numbers among the conditions.
        seen: their values, ``[n, observed]``.
    """

    observed: tuple[int, ...]
    seen: np.ndarray

    @classmethod
    def of(cls, described: Description, evidence: Evidence) -> "Weather | None":
        """Returns what the last evaluations saw; None where no condition comes by itself."""
        if not described.observed:
            return None
        columns = described.action_dim + np.array(described.observed)
        return cls(described.observed, evidence.states[-RECENT:, columns])

    def put(self, conditions: np.ndarray, rng: np.random.Generator) -> None:
        """Sets them in conditions ``[m, conditions]``, to some that were seen."""
        conditions[:, self.observed] = self.seen[rng.integers(len(self.seen), size=len(conditions))]


def _conditions(count: int, dims: int, weather: Weather | None, rng: np.random.Generator) -> np.ndarray:
    """Returns conditions that may come or be set, drawn at random, ``[count, dims]``."""
    drawn = 2 * rng.random((count, dims)) - 1
    if weather is not None:
        weather.put(drawn, rng)
    return drawn


def design(knobs: int, conditions: int, slots: int, rng: np.random.Generator, limit: StepLimit | None = None) -> Plan:
    """Returns the plan of a first round: a Latin hypercube of knobs, as far as the limit lets them, and conditions."""
    points = 2 * qmc.LatinHypercube(knobs + conditions, rng=rng).random(slots) - 1
    if limit is not None:
        low, high = limit.bounds(points[:, knobs:])
        points[:, :knobs] = low + (high - low) * (points[:, :knobs] + 1) / 2
    return plan_of(points, knobs)


def plan_of(states: np.ndarray, knobs: int) -> Plan:
    """Returns the plan that evaluates f at states ``[slots, knobs + conditions]``."""
    return Plan(centre_states(states[:, knobs:], knobs), states[:, :knobs])


def plan_round(
    model: GaussianProcess, policy: Policy, slots: int, rng: np.random.Generator, weather: Weather | None = None
) -> Plan:
    """Chooses what a round evaluates.

    Args:
        model: fitted to all rounds before.
        policy: makes proposals.
        slots: number of slots.
        rng: of the training step.
        weather: conditions that cannot be chosen; None where all can.
    """
    knobs = policy.spec.action_dim
    dims = policy.spec.obs_dim - knobs
    found = prospect(model, policy, _conditions(CONDITIONS, dims, weather, rng), rng)
    bests = np.concatenate([found.knobs, found.conditions], axis=1)
    posterior = Posterior(model, min(slots, MOST_CHOSEN))
    uncertain = posterior.watch(bests)
    unit = qmc.Sobol(knobs, rng=rng).random(SPREAD)
    low, high = model.window(found.conditions, knobs)
    near = NEAR * np.minimum(1.0, model.hyperparameters.lengths[:knobs]) * float((high - low).mean()) / 2
    surely = SURE * (model.variance * model.hyperparameters.noise) ** 0.5
    states: list[np.ndarray] = []
    for over_range in rng.random(min(slots, MOST_CHOSEN)) < WHOLE_RANGE:
        score, factor = uncertain.std * rng.random(CONDITIONS) ** 0.25, SAFE
        if model.region is not None:
            factor = 1.0 if rng.random() < RISKY_SHARE else SAFE
            score *= model.region.outside(bests, factor)
        index = int(np.argmax(score))
        tried = np.clip(found.knobs[index] + near * rng.standard_normal((LOCAL, knobs)), low[index], high[index])
        if over_range:
            tried = np.concatenate([tried, low[index] + (high[index] - low[index]) * unit])
        tried = policy.valid(tried)
        candidates = np.concatenate([tried, np.broadcast_to(found.conditions[index], (len(tried), dims))], axis=1)
        if model.region is not None:
            candidates = candidates[model.region.outside(candidates, factor)]
        mean, std = posterior.mean_and_std(candidates)
        chosen = int(np.argmin(mean - BOUND * std))
        if std[chosen] < surely and rng.random() < SURE_SHARE:
            candidates = _anywhere(model, knobs, dims, weather, rng)
            candidates[:, :knobs] = policy.valid(candidates[:, :knobs])
            chosen = int(np.argmax(posterior.mean_and_std(candidates)[1]))
        states.append(candidates[chosen])
        posterior.believe(states[-1])
    return plan_of(np.concatenate([np.stack(states), sampled(policy, slots - len(states), weather, rng)]), knobs)


def _anywhere(
    model: GaussianProcess, knobs: int, conditions: int, weather: Weather | None, rng: np.random.Generator
) -> np.ndarray:
    """Returns states that fill the range of the model, ``[SPREAD, knobs + conditions]``."""
    unit = qmc.Sobol(knobs + conditions, rng=rng).random(SPREAD)
    at = 2 * unit[:, knobs:] - 1
    if weather is not None:
        weather.put(at, rng)
    low, high = model.window(at, knobs)
    states = np.concatenate([low + (high - low) * unit[:, :knobs], at], axis=1)
    return states if model.region is None else states[model.region.outside(states)]


def sampled(policy: Policy, count: int, weather: Weather | None, rng: np.random.Generator) -> np.ndarray:
    """Returns states that the policy samples at random conditions, its components in turn, ``[count, dims]``."""
    knobs = policy.spec.action_dim
    conditions = _conditions(count, policy.spec.obs_dim - knobs, weather, rng)
    noise = rng.standard_normal((count, knobs))
    noise[:, policy.spec.labelled] = 0.0
    actions = np.empty((count, knobs))
    for turn in range(len(policy.live)):
        rows = slice(turn, count, len(policy.live))
        actions[rows] = policy.act(centre_states(conditions[rows], knobs), noise[rows], turn)[0][:, :knobs]
    return np.concatenate([policy.valid(actions), conditions], axis=1)
