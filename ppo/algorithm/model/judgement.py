"""What the model says of a finished law, without paying for an evaluation."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from actors.law import Law
from actors.policy import Policy
from actors.snapshot import Snapshot
from ppo.algorithm.model.search import best_constant, prospect
from ppo.algorithm.model.surrogate import Surrogate

CONDITIONS = 256
PAYS = 0.01  # share of what the law gains over constant knobs, above which more evaluations pay


@dataclass(frozen=True)
class Judgement:
    """A law as the model sees it, at conditions that fill their range.

    Attributes:
        law: mean f of the law.
        constant: mean f of the constant knobs that are best by the model.
        left: mean f by which the best knobs may lie below the law: to the lower bounds that the model gives, one
            standard deviation below its mean.
        least_known: the conditions under which the model is least certain of the law.
        uncertainty: the standard deviation of f there.
        more_pays: whether more evaluations may gain more than 1 % of what the law gains over constant knobs.
    """

    law: float
    constant: float
    left: float
    least_known: list[float]
    uncertainty: float
    more_pays: bool

    @property
    def words(self) -> str:
        """The judgement in a sentence."""
        where = ", ".join(f"{value:.2f}" for value in self.least_known)
        advice = "more evaluations may pay" if self.more_pays else "more evaluations would hardly pay"
        return (
            f"by the model, a mean f of {self.law:.4g} beside {self.constant:.4g} with the best constant knobs, and "
            f"{max(self.left, 0):.2g} left to gain at the most: {advice}; it knows least at c = ({where})"
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the values, and the words."""
        return asdict(self) | {"words": self.words}


def judge(surrogate: Surrogate, snapshot: Snapshot) -> Judgement:
    """Judges the law in a snapshot by the model that it was made with."""
    process, whole = surrogate.process, surrogate.whole
    law, rng = Law(snapshot), np.random.default_rng(0)
    conditions = 2 * qmc.Sobol(surrogate.conditions, scramble=False).random(CONDITIONS) - 1
    knobs = law(conditions)
    mean, std = process.mean_and_std(np.concatenate([knobs, conditions], axis=1))
    expected = process.unwarped(mean)
    best = prospect(process, Policy(snapshot), conditions, rng).knobs
    lowest, spread = process.mean_and_std(np.concatenate([best, conditions], axis=1))
    left = float((expected - process.unwarped(np.minimum(lowest, mean) - spread)).mean())
    constant = best_constant(whole, knobs, conditions)
    upper = process.unwarped(mean + std) - expected
    least = int(np.argmax(upper))
    gained = constant - float(expected.mean())
    return Judgement(
        float(expected.mean()), constant, left, conditions[least].tolist(), float(upper[least]), left > PAYS * gained
    )
