"""Evaluations that a law with a polish takes at a query, beside SciPy's differential evolution, on 2-D benchmarks.

At each of 21 conditions differential evolution searches the best knob, with its defaults, which end in a descent by
gradients, or without that until its population has converged to 1e-8; and the law's knob is polished. The error is f
less its minimum. ``to its mse``: evaluations until the squared error is no larger than the mean of those of
differential evolution, the accuracy that is reported of it; ``to its best``: until the error is no larger than its own
under the same condition. Means over the conditions; of these the median of the seeds, and in brackets the worst of
them. A ratio is that of the evaluations. What a polish of 100 evaluations does not reach is ``unreached``, and counts
as 100. The law is paid for once.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actors.law import Law
from env.objectives import Objective
from env.objectives.evaluation import solution
from ppo.config import Config
from ppo.experiments.polishing import polished
from ppo.experiments.tables import machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_all

TAKES, GROUPS = ("seeds", "quick"), ()
LAWS: tuple[tuple[str, int | None], ...] = (("rosenbrock", 300), ("branin", 300), ("ackley", 10_000), ("ackley", None))
"""Benchmarks, and the evaluations that a law may spend; None for a training with the defaults."""
QUICK, MOST = 40, 100
CONDITIONS = np.linspace(-1, 1, 21)[:, None]
VARIANTS: dict[str, dict[str, Any]] = {"defaults": {}, "to 1e-8": {"polish": False, "tol": 1e-8}}
"""Arguments of differential evolution."""
MEASURES = ("evolution", "its mse", "to its mse", "ratio", "to its best", "ratio to its best", "unreached")


@dataclass(frozen=True)
class PolishRun:
    """A law of one of the benchmarks, and its queries.

    Attributes:
        config: full configuration, including the seed.
    """

    columns: ClassVar[Sequence[str]] = (
        *("run", "env", "evaluations", "seed"),
        *(f"{variant}: {measure}" for variant in VARIANTS for measure in MEASURES),
        "policy sha256",
    )
    group: ClassVar[str] = "polish"
    config: Config

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.config.env}/{self.config.evaluations or 'defaults'}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Trains in this process, asks at each condition, and returns the row."""
        from ppo.experiments.workloads import training  # imported here, since it imports torch

        with training(self.config) as trainer:
            for _ in trainer:
                pass
            snapshot, evaluations = trainer.learner.snapshot(), trainer.learner.evaluations
        objective = self.config.problem().objective()
        assert objective is not None, "a benchmark"
        law, solved = Law(snapshot), solution(objective, CONDITIONS)
        assert solved is not None, "whose optimum is known"
        errors = [polish_errors(objective, law, c, least) for c, least in zip(CONDITIONS, solved[1], strict=True)]
        measured = [
            f"{value:.6g}" for options in VARIANTS.values() for value in compared(objective, errors, solved[1], options)
        ]
        return [self.key, self.config.env, evaluations, self.config.seed, *measured, snapshot.sha256]


def polish_errors(objective: Objective, law: Law, c: np.ndarray, least: float) -> np.ndarray:
    """Returns the errors of a polish of a law under one condition, one for each evaluation.

    Args:
        objective: the benchmark.
        law: its law.
        c: the condition, ``[conditions]``.
        least: the minimum of f there.
    """
    values = list[float]()

    def noted(x: np.ndarray) -> float:
        values.append(float(objective(x[None], c[None])[0]))
        return values[-1]

    polished(noted, law(c), objective.coordinates[0], MOST)
    return np.array(values) - least


def compared(
    objective: Objective, errors: list[np.ndarray], least: np.ndarray, options: dict[str, Any]
) -> Sequence[float]:
    """Returns ``MEASURES`` of a polish beside differential evolution with these options.

    Args:
        objective: the benchmark.
        errors: of the polish under each condition.
        least: the minimum of f under each, ``[conditions]``.
        options: of differential evolution.
    """
    from scipy.optimize import differential_evolution  # imported here, since it is slow to load

    found = [
        differential_evolution(
            lambda x, c=c: float(objective(x[None], c[None])[0]), [(-1, 1)] * objective.knobs, rng=0, **options
        )
        for c in CONDITIONS
    ]
    evaluations, own = float(np.mean([one.nfev for one in found])), np.array([one.fun for one in found]) - least
    mse = float((own**2).mean())
    to_mse = np.array([until(one, mse**0.5) for one in errors])
    to_best = np.array([until(one, error) for one, error in zip(errors, own, strict=True)])
    beside = [value for taken in (to_mse.mean(), to_best.mean()) for value in (taken, taken / evaluations)]
    unreached = sum(one.min() > mse**0.5 for one in errors)
    return [evaluations, mse, *beside, unreached]


def until(errors: np.ndarray, wanted: float) -> float:
    """Returns the number of the first evaluation with such an error or a smaller one; ``MOST`` where there is none."""
    near = np.flatnonzero(errors <= wanted)
    return float(near[0]) + 1 if len(near) else float(MOST)


def runs_of(seeds: int, quick: bool) -> list[PolishRun]:
    """Returns all runs of the study."""
    laws = list(dict.fromkeys((env, QUICK) for env, _ in LAWS)) if quick else LAWS
    return [
        PolishRun(Config(env=env, evaluations=evaluations, drivers=0, seed=seed))
        for env, evaluations in laws
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def run(options: Options) -> None:
    """Does the runs that are missing, and writes ``polish.md``."""
    rows, lines = run_all(options.out, runs_of(options.seeds, options.quick))["polish"], []
    laws = dict.fromkeys((row["env"], row["evaluations"]) for row in rows)
    for (env, evaluations), variant in itertools.product(laws, VARIANTS):
        found = [row for row in rows if (row["env"], row["evaluations"]) == (env, evaluations)]
        values = [numbers(found, f"{variant}: {measure}") for measure in MEASURES]
        cells = [f"{np.median(one):.3g} ({max(one):.3g})" for one in values]
        lines.append([env, f"{int(evaluations):,}", variant, *cells])
    header = ["benchmark", "the law", "differential evolution", "evaluations", *MEASURES[1:]]
    text = f"{__doc__}\n\n{markdown(header, lines)}\n{machine()}\n"
    (options.out / "polish.md").write_text(text, encoding="utf-8")
    print(text)
