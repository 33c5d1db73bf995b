"""The check of a law: f under it beside f under constant knobs, at the same fresh conditions, in words."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from actors.law import Law
from actors.policy import centre_states
from actors.seeding import Stream, generator
from actors.snapshot import Snapshot
from actors.step_limit import StepLimit
from ppo.evaluation.regret import regret_conditions
from ppo.evaluation.statistics import scaled, student_interval, told_apart

REPEATED = 5  # every fifth slot of a round repeats the conditions of the one before, to tell the noise of f

PERCENT = (
    1e-3,
    100.0,
)  # shares of the mean of f from and to which a gain is told in percent: f may be 1e6 and little more


def rounds_of(limited: bool) -> int:
    """Returns the number of rounds of a check, which are of the same conditions.

    They are of the law, of the best constant knobs by a model, and of the mean of the law's knobs; or, where knobs may
    not be far from those of a start law, of the law and of that one.
    """
    return 2 if limited else 3


def check_starts(seed: int, slots: int, knobs: int, conditions: int) -> np.ndarray:
    """Returns the states at which a round of a check evaluates, ``[slots, knobs + conditions]``.

    A check with more slots begins with those of one with fewer.

    Args:
        seed: seed of the run; training and its evaluations use none of these conditions.
        slots: of each round.
        knobs, conditions: their numbers.
    """
    from scipy.stats import qmc  # imported here, since it is slow to load

    sobol = qmc.Sobol(conditions, rng=generator(seed, 0, Stream.CHECK))
    drawn = 2 * sobol.random_base2(int(np.ceil(np.log2(slots)))) - 1
    distinct = np.cumsum(~_repeats(slots)) - 1
    return centre_states(drawn[distinct], knobs)


def constant_snapshot(snapshot: Snapshot, knobs: np.ndarray) -> Snapshot:
    """Returns a policy like another one whose mean action is ``knobs`` ``[knobs]`` everywhere."""
    theta = np.zeros_like(snapshot.theta)
    snapshot.spec.views(theta)[-1][1][: len(knobs)] = knobs
    return Snapshot(snapshot.version, snapshot.spec, theta)


def mean_knobs(snapshot: Snapshot) -> np.ndarray:
    """Returns the mean of a law's knobs over all conditions, ``[knobs]``."""
    law = Law(snapshot)
    return law(regret_conditions(law.conditions)).mean(axis=0)


def cost_words(evaluations: int, limit: StepLimit | None) -> str:
    """Returns what a check that may spend so many evaluations costs, in words."""
    rounds = rounds_of(limit is not None)
    which = "a third under the law and a third under each of two constant knobs"
    which = which if limit is None else "half of them under the law and half under the start law"
    return f"--check: {evaluations // rounds * rounds} more evaluations of f, {which}, at the same fresh conditions"


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes:
        evaluations: evaluations that it took.
        conditions: number of distinct conditions.
        law_mean: mean of f under the law.
        constant_mean: mean of f under the better of two constant knobs; where knobs may not be far from those of a
            start law, under that one.
        constant_knobs: those knobs; empty for a start law.
        gain: mean of f under the constant knobs minus that under the law.
        gain_interval: half of the 95 % interval of the gain, by Student's t over the conditions.
        noise: standard deviation of f at the same knobs and conditions.
        failed: evaluations under the law that failed. All of the above is of conditions at which f failed neither under
            the law nor under the constant knobs; NaN where there are none.
        constant_failed: evaluations under those constant knobs that failed.
        constrained: whether what broke a constraint counts among them.
    """

    evaluations: int
    conditions: int
    law_mean: float
    constant_mean: float
    constant_knobs: list[float]
    gain: float
    gain_interval: float
    noise: float
    failed: int = 0
    constant_failed: int = 0
    constrained: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns what ``summary.json`` and ``evaluation.json`` hold."""
        numbers = {name: value for name, value in asdict(self).items() if name != "constant_knobs"}
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        return finite | {"constant_knobs": self.constant_knobs, "words": self.words()}

    def words(self) -> str:
        """Returns the outcome in a sentence."""
        if self.failed or self.constant_failed:
            each = self.evaluations // rounds_of(not self.constant_knobs)
            return (
                f"{self._comparison()}; {self._failing} in {self.failed} of {each} evaluations under the law and in "
                f"{self.constant_failed} under {self._other('the ')}, which are left out"
            )
        return self._comparison()

    @property
    def _failing(self) -> str:
        return "f failed or broke a constraint" if self.constrained else "f failed"

    def _other(self, article: str = "") -> str:
        """Returns what the law is compared with, in words."""
        return f"{article}constant knobs" if self.constant_knobs else "the start law"

    def _comparison(self) -> str:
        if not self.conditions:
            return f"not to be told from {self._other()}: under each condition {self._failing} with one or the other"
        where = f"{self.conditions} fresh conditions, 95 %; noise of f {self.noise:.2g}"
        means = f"mean of f {' against '.join(told_apart(self.law_mean, self.constant_mean))}; {where}"
        size, half, unit = abs(self.gain), self.gain_interval, ""
        if self.constant_mean > 0 and self.law_mean > 0 and _tells(size / self.constant_mean):
            size, half, unit = 100 * size / self.constant_mean, 100 * half / self.constant_mean, " %"
        amount, advice = f"by {_short(size, 3)}{unit} +- {_short(half, 2)}", "spend more, or do not use it"
        if self.gain > self.gain_interval:
            return f"better {amount} than {self._other('the best ')} ({means})"
        if self.gain < -self.gain_interval:
            return f"worse than {self._other()} {amount}: {advice} ({means})"
        if self.gain > 0:  # a few conditions may not suffice to see even a large gain
            return f"perhaps better, {amount}, than {self._other()}: check with more evaluations ({means})"
        return f"no better than {self._other()}: {advice} ({means})"


def _tells(share: float) -> bool:
    """Returns whether a gain as a share of the mean of f tells more than in units of f."""
    return PERCENT[0] <= share <= PERCENT[1]


def _short(value: float, digits: int) -> str:
    """Returns a number with so many digits, or all before the point, with no exponent but for very large ones."""
    return f"{value:.0f}" if 10 ** (digits - 1) <= value < 1e6 else f"{value:.{digits}g}"


def compare(
    law: np.ndarray, constants: Sequence[tuple[tuple[float, ...], np.ndarray]], constrained: bool = False
) -> Check:
    """Compares f under the law with f under constant knobs, slot by slot.

    Args:
        law: f under the law, ``[slots]``.
        constants: constant knobs, of a start law none, and f under them, ``[slots]``; those are compared with that
            failed least, and of these the ones with the least mean.
        constrained: whether what breaks a constraint is NaN too.

    An evaluation that failed is NaN; one that was not made is infinite, and left out.
    """
    repeats = _repeats(len(law))
    failed, law_failed = [int(np.isnan(f).sum()) for _, f in constants], int(np.isnan(law).sum())
    law, *others = (np.where(np.isinf(f), np.nan, f) for f in (law, *(f for _, f in constants)))
    values = [_per_condition(f, repeats) for f in others]
    best = min(range(len(values)), key=lambda place: (failed[place], _mean(values[place])))
    own = _per_condition(law, repeats)
    both = ~np.isnan(own + values[best])
    own, other = own[both], values[best][both]
    gain, half = student_interval(other - own) if len(own) else (np.nan, np.nan)
    twice = np.flatnonzero(repeats)
    differences = np.concatenate([f[twice] - f[twice - 1] for f in (law, *others)])
    small, exponent = scaled(differences)
    return Check(
        evaluations=len(law) * (1 + len(constants)),
        conditions=len(own),
        law_mean=_mean(own),
        constant_mean=_mean(other),
        constant_knobs=list(constants[best][0]),
        gain=gain,
        gain_interval=half,
        noise=float(np.ldexp(np.sqrt(_mean(small**2) / 2), exponent)),
        failed=law_failed,
        constant_failed=failed[best],
        constrained=constrained,
    )


def _mean(values: np.ndarray) -> float:
    """Returns the mean of the values that did not fail; NaN where there is none."""
    sound = values[~np.isnan(values)]
    return float(sound.mean()) if len(sound) else np.nan


def _repeats(slots: int) -> np.ndarray:
    """Returns which slots repeat the conditions of the one before, ``[slots]`` of bool."""
    return np.arange(slots) % REPEATED == REPEATED - 1


def _per_condition(f: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    """Returns f of each distinct condition, the mean of both evaluations where it was repeated and neither failed."""
    values = f[~repeats].copy()
    twice = np.cumsum(~repeats)[repeats] - 1
    first, second = values[twice], f[repeats]
    values[twice] = np.where(np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2))
    return values
