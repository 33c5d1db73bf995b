"""Evaluations that a law with a polish takes at a query, beside SciPy's differential evolution, on 2-D benchmarks.

At each of 21 conditions differential evolution, with its defaults, searches the best knob, and the law's knob is
polished. The error is f less its minimum. ``to its mse``: evaluations until the squared error is no larger than the
mean of those of differential evolution, the accuracy that is reported of it; ``to its best``: until the error is no
larger than its own under the same condition. Means over the conditions; of these the median of the seeds, and in
brackets the worst of them. A ratio is that of the evaluations. What is not reached counts as 100 evaluations. The law
is paid for once.
"""

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
LAWS = {"rosenbrock": 300, "ackley": 1000, "branin": 300, "shifted-ackley": 1000}
"""Evaluations that the law of each benchmark may spend."""
QUICK, MOST = 40, 100
CONDITIONS = np.linspace(-1, 1, 21)[:, None]
MEASURES = ("evolution", "its mse", "to its mse", "ratio", "to its best", "ratio to its best", "unreached")


@dataclass(frozen=True)
class PolishRun:
    """A law of one of the benchmarks, and its queries.

    Attributes:
        config: full configuration, including the seed.
    """

    columns: ClassVar[Sequence[str]] = ("run", "env", "evaluations", "seed", *MEASURES, "policy sha256")
    group: ClassVar[str] = "polish"
    config: Config

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.config.env}/{self.config.evaluations}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Trains in this process, asks at each condition, and returns the row."""
        from ppo.experiments.workloads import training  # imported here, since it imports torch

        with training(self.config) as trainer:
            for _ in trainer:
                pass
            snapshot = trainer.learner.snapshot()
        objective = self.config.problem().objective()
        assert objective is not None, "a benchmark"
        law, solved = Law(snapshot), solution(objective, CONDITIONS)
        assert solved is not None, "whose optimum is known"
        found = [queried(objective, law, c, least) for c, least in zip(CONDITIONS, solved[1], strict=True)]
        theirs, errors = np.array([one[0] for one in found]), np.array([one[1] for one in found])
        mse = float((errors**2).mean())
        to_mse = np.array([until(ours, mse**0.5) for *_, ours in found])
        to_best = np.array([until(ours, error) for _, error, ours in found])
        evolution = float(theirs.mean())
        values = [evolution, mse, to_mse.mean(), to_mse.mean() / evolution, to_best.mean(), to_best.mean() / evolution]
        measured = [f"{value:.6g}" for value in (*values, (to_mse >= MOST).sum())]
        return [self.key, self.config.env, self.config.evaluations, self.config.seed, *measured, snapshot.sha256]


def queried(objective: Objective, law: Law, c: np.ndarray, least: float) -> tuple[float, float, np.ndarray]:
    """Returns evaluations and error of differential evolution, and the errors of a polish, one for each evaluation.

    Args:
        objective: the benchmark.
        law: its law.
        c: one condition, ``[conditions]``.
        least: the minimum of f there.
    """
    from scipy.optimize import differential_evolution  # imported here, since it is slow to load

    def f(x: np.ndarray) -> float:
        return float(objective(x[None], c[None])[0])

    evolved, values = differential_evolution(f, [(-1, 1)] * objective.knobs, rng=0), list[float]()

    def noted(x: np.ndarray) -> float:
        values.append(f(x))
        return values[-1]

    polished(noted, law(c), objective.coordinates[0], MOST)
    return float(evolved.nfev), float(evolved.fun - least), np.array(values) - least


def until(errors: np.ndarray, wanted: float) -> float:
    """Returns the number of the first evaluation with such an error or a smaller one; ``MOST`` where there is none."""
    near = np.flatnonzero(errors <= wanted)
    return float(near[0]) + 1 if len(near) else float(MOST)


def runs_of(seeds: int, quick: bool) -> list[PolishRun]:
    """Returns all runs of the study."""
    return [
        PolishRun(Config(env=env, evaluations=QUICK if quick else evaluations, drivers=0, seed=seed))
        for env, evaluations in LAWS.items()
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def run(options: Options) -> None:
    """Does the runs that are missing, and writes ``polish.md``."""
    rows, lines = run_all(options.out, runs_of(options.seeds, options.quick))["polish"], []
    for env in LAWS:
        found = [row for row in rows if row["env"] == env]
        values = [numbers(found, measure) for measure in MEASURES]
        lines.append([env, found[0]["evaluations"], *(f"{np.median(one):.3g} ({max(one):.3g})" for one in values)])
    text = (
        f"{(__doc__ or '').format(most=MOST)}\n\n{markdown(['benchmark', 'the law', *MEASURES], lines)}\n{machine()}\n"
    )
    (options.out / "polish.md").write_text(text, encoding="utf-8")
    print(text)
