"""Makes a policy into the law that the model asks for: with one component where that suffices, or with several."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from actors.law import Law
from actors.law_file import About
from actors.policy import Policy
from actors.snapshot import NetworkSpec, Snapshot
from actors.step_limit import StepLimit
from ppo.algorithm.components import ignore_knobs, label_of
from ppo.algorithm.model.amortise import Targets, alone, regressed, several
from ppo.algorithm.model.frame import means_at
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.search import (
    Predictor,
    Searchable,
    best_constant,
    expected_at,
    polished,
    prospect,
    states_of,
    within_limit,
)
from ppo.algorithm.model.surrogate import Surrogate

FRESH_CONDITIONS = 512  # at which laws are compared
ONE_SUFFICES = 0.003  # share of the regret of constant knobs that one component may lose beside several
HOPELESS = 10.0  # times that loss: after the first steps of a regression it is too much
WORTH_REVIVING = 1e-3  # of the warped f
CAUTION = 2.0  # standard deviations of the model: what it does not know well may look better to it than it is
GATE_LOSS = 0.1  # share of the regret that the law may lose without a critic
QUICK_STEPS, LAST_STEPS = 10, 80  # of a regression: in the rounds before, and after the last one


@dataclass(frozen=True)
class Effort:
    """How exactly the model's best knobs are learned.

    Attributes:
        conditions: number of conditions at which they are searched.
        steps: of the regression.
    """

    conditions: int
    steps: int

    @classmethod
    def last(cls, knobs: int) -> "Effort":
        """Returns that after the last round. A step takes the cube of conditions times knobs."""
        return cls(_conditions(1024, knobs), LAST_STEPS)

    @classmethod
    def finest(cls, knobs: int) -> "Effort":
        """Returns that for networks, which tell more conditions apart."""
        return cls(_conditions(2048, knobs), LAST_STEPS)

    @classmethod
    def quick(cls, knobs: int) -> "Effort":
        """Returns that of the rounds before."""
        return cls(min(64, cls.last(knobs).conditions), QUICK_STEPS)


@dataclass(frozen=True)
class Cautious:
    """A model that expects the more of f the less it knows there.

    Attributes:
        model: the model.
    """

    model: GaussianProcess

    def mean(self, states: np.ndarray) -> np.ndarray:
        """Returns the warped f ``CAUTION`` standard deviations above its mean at states ``[m, dims]``, ``[m]``."""
        mean, std = self.model.mean_and_std(states)
        bound, region = mean + CAUTION * std, self.model.region
        return bound if region is None else region.raised(bound, states, self.model.targets)

    def unwarped(self, values: np.ndarray) -> np.ndarray:
        """Returns values of f from warped ones."""
        return self.model.unwarped(values)

    @property
    def limit(self) -> StepLimit | None:
        """How far knobs may lie from those of a start law."""
        return self.model.limit


def settled(
    policy: Snapshot,
    model: GaussianProcess,
    about: GaussianProcess | None,
    effort: Effort,
    std: float,
    rng: np.random.Generator,
) -> Snapshot:
    """Returns the policy that gives the model's best knobs, with as many components as that takes.

    Args:
        policy: to start from.
        model: of the whole range.
        about: of the neighbourhood of the policy's only component, where that model knows better; None where not.
        effort: how exactly.
        std: of a component that starts anew.
        rng: of the training step.
    """
    spec, conditions = policy.spec, _spread(policy, effort.conditions, rng)
    knobs = _safe(model, Policy(policy), conditions, rng)
    theta = policy.theta.copy()
    ignore_knobs(spec, theta)
    theta, components = several(replace(policy, theta=theta), model, knobs, conditions, std, effort.steps)
    used = np.bincount(components, minlength=spec.components)
    of_several = replace(policy, theta=theta, live=used > 0)
    fresh = _fresh(policy, rng)  # a law may be bad between the others
    predictors = (model, Cautious(model))
    least, safe = (expected_mean(of_several, predictor, fresh) for predictor in predictors)
    if about is not None and safe >= expected_mean(policy, about, fresh):
        return policy
    if (used > 0).sum() == 1:
        return of_several
    most = ONE_SUFFICES * (best_constant(model, knobs, fresh)[1] - least)
    enough = min(most, model.noise_of(least))  # what the model takes for noise may be what one would gain
    first = int(used.argmax())
    of_one = replace(of_several, live=np.arange(spec.components) == first)
    for steps in (QUICK_STEPS, effort.steps):
        of_one = replace(of_one, theta=alone(spec, of_one.theta, model, first, conditions, steps))
        ours, ours_safe = (expected_mean(of_one, predictor, fresh) for predictor in predictors)
        loss = min(ours - least, ours_safe - safe)  # several components are to be better both ways
        if loss > HOPELESS * enough:
            break
    return of_one if loss <= enough else of_several


@threadpool_limits.wrap(limits=1, user_api="blas")  # as in training: more threads may change the last bits
def begun(spec: NetworkSpec, theta: np.ndarray, limit: StepLimit | None, rng: np.random.Generator) -> np.ndarray:
    """Returns parameters under which all components give the knobs of a limit's start law; the same without a limit."""
    if limit is None:
        return theta
    conditions = _spread(Snapshot(0, spec, theta), Effort.quick(spec.action_dim).conditions, rng)
    components = np.repeat(np.arange(spec.components), len(conditions))
    each = [np.tile(part, (spec.components, 1)) for part in (conditions, limit.start_knobs(conditions))]
    return regressed(spec, theta, Targets(each[0], components, each[1]), LAST_STEPS)


def followed(policy: Snapshot, model: Searchable, effort: Effort, rng: np.random.Generator) -> Snapshot:
    """Returns the policy whose only component gives the model's best knobs."""
    conditions, live = _spread(policy, effort.conditions, rng), Policy(policy).live
    labels = label_of(policy.spec, policy.theta, int(live[0]))[None]
    knobs = prospect(model, Policy(policy), conditions, rng, labels).knobs
    targets = Targets(conditions, np.full(len(knobs), live[0]), knobs)
    return replace(policy, theta=regressed(policy.spec, policy.theta, targets, effort.steps))


def proposed(policy: Snapshot, effort: Effort, rng: np.random.Generator) -> np.ndarray:
    """Returns the states that the components in use propose at conditions that fill their range, ``[m, dims]``."""
    conditions = _spread(policy, effort.conditions, rng)
    return states_of(means_at(Policy(policy), conditions), conditions)


def gate_suffices(policy: Snapshot, model: GaussianProcess, rng: np.random.Generator) -> bool:
    """Returns whether the gate's choices are nearly as good as the critic's, by the model.

    They are better if f is likely to fail less often: the critic knows of no failures.
    """
    conditions = _fresh(policy, rng)
    if model.region is not None:
        laws = policy, with_critic(policy, model)
        gate, critic = (model.region.holds(law_states(law, conditions, model.limit)).sum() for law in laws)
        if gate < critic:
            return True
    found = prospect(model, Policy(policy), conditions, rng)
    by_gate = model.unwarped(model.mean(law_states(policy, conditions, model.limit)))
    by_critic, least = model.unwarped(found.proposed), model.unwarped(found.expected)
    return float((by_gate - by_critic).mean()) <= GATE_LOSS * max(float((by_critic - least).mean()), 0.0)


def expected_mean(policy: Snapshot, model: Predictor, conditions: np.ndarray) -> float:
    """Returns the mean f that a model expects of the best of the components in use."""
    each = expected_at(model, within_limit(model, means_at(Policy(policy), conditions), conditions), conditions)
    return float(model.unwarped(each.min(axis=1)).mean())


def with_critic(snapshot: Snapshot, process: GaussianProcess) -> Snapshot:
    """Returns a policy with a process as the critic that ranks its components, where it has several."""
    several = len(Policy(snapshot).live) > 1
    return replace(snapshot, critic=process.critic()) if several else snapshot


def surely_worse(
    law: Snapshot, tested: Snapshot, earlier: GaussianProcess, rng: np.random.Generator, limit: StepLimit | None
) -> bool:
    """Returns whether a process of before the last fit surely expects more of a law than of one that a round tested.

    The last fit takes all evaluations. Where most of them lie at the law, it may be wrong elsewhere, and sure of it;
    and no round would test what is made of that.
    """
    conditions = _fresh(law, rng)
    was = earlier.mean(law_states(with_critic(tested, earlier), conditions, limit))
    now, std = earlier.mean_and_std(law_states(law, conditions, limit))
    return bool((now - was).mean() > CAUTION * std.mean())


def law_states(law: Snapshot, conditions: np.ndarray, limit: StepLimit | None = None) -> np.ndarray:
    """Returns the states that a law chooses, within a limit, at conditions ``[m, conditions]``, ``[m, dims]``."""
    return np.concatenate([Law(law, About(limit=limit))(conditions), conditions], axis=1)


def fresh_states(law: Snapshot, rng: np.random.Generator, limit: StepLimit | None) -> np.ndarray:
    """Returns the states that a law chooses at conditions that it was not fitted to, ``[512, dims]``."""
    return law_states(law, _fresh(law, rng), limit)


def missed_valley(
    model: GaussianProcess, policy: Policy, conditions: np.ndarray, rng: np.random.Generator
) -> tuple[int, np.ndarray] | None:
    """Returns a component that is of no use at conditions ``[m, conditions]``, and where it would be of most.

    Where the model expects next to nothing beside the components there is no such valley.
    """
    found = prospect(model, policy, conditions, rng)
    used = np.bincount(found.chosen, minlength=policy.spec.components)
    least, index = int(np.argmin(used)), int(np.argmax(found.proposed - found.expected))
    if used[least] > 0 or found.proposed[index] - found.expected[index] <= WORTH_REVIVING:
        return None
    return least, found.knobs[index]


def less_expected(law: Snapshot, other: Snapshot, surrogate: Surrogate, rng: np.random.Generator) -> bool:
    """Returns whether the model expects less of a law than of another one."""
    conditions = _fresh(law, rng)
    states = [law_states(one, conditions, surrogate.step_limit) for one in (law, other)]
    model = surrogate.process_for(np.concatenate(states))
    ours, theirs = (float(model.unwarped(model.mean(at)).mean()) for at in states)
    return ours < theirs


def _safe(model: GaussianProcess, policy: Policy, conditions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns the best knobs ``[m, knobs]`` by the cautious model: those of the least mean, or near to a component."""
    best = prospect(model, policy, conditions, rng).knobs
    candidates = np.concatenate([best[:, None], means_at(policy, conditions)], axis=1)
    chosen = expected_at(Cautious(model), candidates, conditions).argmin(axis=1)
    return polished(model, candidates[np.arange(len(best)), chosen], conditions, policy.spec)


def _fresh(policy: Snapshot, rng: np.random.Generator) -> np.ndarray:
    """Returns conditions at which laws are compared, and which none was fitted to, ``[512, conditions]``."""
    return 2 * rng.random((FRESH_CONDITIONS, policy.spec.obs_dim - policy.spec.action_dim)) - 1


def _spread(policy: Snapshot, count: int, rng: np.random.Generator) -> np.ndarray:
    """Returns so many conditions that fill their range, ``[count, conditions]``."""
    return 2 * qmc.Sobol(policy.spec.obs_dim - policy.spec.action_dim, rng=rng).random(count) - 1


def _conditions(residuals: int, knobs: int) -> int:
    """Returns a number of conditions, a power of two, that gives about so many residuals, within limits."""
    return max(32, min(512, 1 << (max(1, residuals // knobs).bit_length() - 1)))
