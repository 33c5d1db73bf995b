"""What the model says of a finished law, without paying for an evaluation."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from actors.policy import Policy
from actors.snapshot import Snapshot
from env.coordinates import Coordinates
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.search import SPREAD, best_constant, prospect, states_of
from ppo.algorithm.model.settling import law_states
from ppo.algorithm.model.surrogate import Surrogate

CONDITIONS = 256
BOUNDED, BOUND = 64, 2.0  # conditions at which lower bounds are searched, and how many stds they lie below the mean
PAYS = 0.01  # share of what the law gains over constant knobs, above which more evaluations pay
CONSTANT, START = "the best constant knobs", "the start law"
TRIED, REFINEMENTS = 64, 6  # constant knobs at a time, and how often neighbours of the best ones are tried


@dataclass(frozen=True)
class Judgement:
    """A law as the model sees it, at conditions that fill their range.

    Attributes:
        law: mean f of the law.
        constant: mean f of the constant knobs that are best by the model; of the start law, where knobs may not be
            far from those of one.
        left: mean f by which the best knobs may lie below the law's: down to the least lower bound of the model, two
            standard deviations below its mean.
        least_known: the conditions under which the model is least certain of the law.
        where: the same in words, in units where they have names.
        uncertainty: the standard deviation of f there.
        more_pays: whether more evaluations may gain more than 1 % of what the law gains over constant knobs.
        gain: how much better the model predicted the last rounds than the mean and the variance of all f did, in nats.
    """

    law: float
    constant: float
    left: float
    least_known: list[float]
    uncertainty: float
    more_pays: bool
    gain: float
    where: str
    beside: str = CONSTANT

    @property
    def words(self) -> str:
        """The judgement in a sentence."""
        advice = "more evaluations may pay" if self.more_pays else "more evaluations would hardly pay"
        doubt = "" if self.gain >= 0 else ", which predicted the last rounds badly and is not to be relied on"
        return (
            f"by the model{doubt}, a mean f of {self.law:.4g} beside {self.constant:.4g} with {self.beside}, "
            f"and up to about {max(self.left, 0.0):.2g} left to gain: {advice}; it knows least at {self.where}, f to "
            f"+- {self.uncertainty:.2g}"
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the values, and the words."""
        return asdict(self) | {"words": self.words}


def judge(surrogate: Surrogate, snapshot: Snapshot) -> Judgement:
    """Judges the law in a snapshot by the model that it was made with."""
    conditions = 2 * qmc.Sobol(surrogate.conditions, scramble=False).random(CONDITIONS) - 1
    limit = surrogate.step_limit
    states = law_states(snapshot, conditions, limit)
    process = surrogate.process_for(states)
    mean, std = process.mean_and_std(states)
    expected = process.unwarped(mean)
    law = float(expected.mean())
    policy = Policy(snapshot)
    if limit is None:
        constant = _constant(surrogate.whole, policy, states[:, : surrogate.knobs], conditions)
    else:
        start = np.concatenate([limit.start_knobs(conditions), conditions], axis=1)
        constant = float(surrogate.whole.unwarped(surrogate.whole.mean(start)).mean())
    left = float((expected[:BOUNDED] - _lower_bounds(process, policy, states[:BOUNDED])).mean())
    upper = process.unwarped(mean + std) - expected
    least = int(np.argmax(upper))
    more_pays = left > PAYS * (constant - law)
    known = conditions[least]
    return Judgement(
        law,
        constant,
        left,
        known.tolist(),
        float(upper[least]),
        more_pays,
        float(surrogate.gain),
        _in_words(known, surrogate),
        CONSTANT if limit is None else START,
    )


def _in_words(condition: np.ndarray, surrogate: Surrogate) -> str:
    """Returns a condition ``[conditions]`` in words, in units where it has names."""
    named = surrogate.condition_coordinates
    if named is None or named == Coordinates.plain("c", len(condition), "conditions"):
        return f"c = ({', '.join(f'{value:.2f}' for value in condition)})"
    return named.in_words(condition)


def _constant(model: GaussianProcess, policy: Policy, knobs: np.ndarray, conditions: np.ndarray) -> float:
    """Returns the least mean f that the model expects of constant knobs at conditions ``[m, conditions]``.

    Spread knobs and the law's, ``[m, knobs]``, are tried, and then neighbours of the best, nearer and nearer.
    """
    rng, scale = np.random.default_rng(0), 0.5
    spread = policy.valid(2 * qmc.Sobol(knobs.shape[1], rng=rng).random(TRIED) - 1)
    found = [best_constant(model, some, conditions) for some in (knobs, spread)]
    for _ in range(REFINEMENTS):
        best, _ = min(found, key=lambda one: one[1])
        nearby = policy.valid(best + scale * rng.standard_normal((TRIED, len(best))))
        found.append(best_constant(model, nearby, conditions))
        scale /= 2
    return min(mean for _, mean in found)


def _lower_bounds(model: GaussianProcess, policy: Policy, law: np.ndarray) -> np.ndarray:
    """Returns the least f that may be under the conditions of a law's states ``[m, dims]``, ``[m]``.

    Lower bounds of the model are compared over the law's knobs, the model's best ones and spread ones.
    """
    knobs, rng = policy.spec.action_dim, np.random.default_rng(0)
    conditions = law[:, knobs:]
    low, high = (bound[:, None] for bound in model.window(conditions, knobs))
    spread = policy.valid(low + (high - low) * qmc.Sobol(knobs, rng=rng).random(SPREAD))
    best = prospect(model, policy, conditions, rng).knobs
    tried = np.concatenate([law[:, None, :knobs], best[:, None], spread], axis=1)
    states = states_of(tried, conditions)
    mean, std = model.mean_and_std(states)
    bounds = mean - BOUND * std
    if model.region is not None:
        bounds = model.region.raised(bounds, states, model.targets)
    return model.unwarped(bounds.reshape(tried.shape[:2]).min(axis=1))
