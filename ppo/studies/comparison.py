"""The runs behind ``ppo.compare``: each measures the law of one method, one budget and one seed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from env.errors import UsageError
from env.make import Problem
from env.objectives import Objective, evaluate
from ppo.config.command_line import keyword_words
from ppo.evaluation.shares import Scale, held_out_conditions, measure_scale, noise_free
from ppo.experiments.rivals.registry import METHODS
from ppo.experiments.tables import Row, numbers

COLUMNS = (
    *("run", "problem", "method", "evaluations", "seed"),
    *("spent", "evaluations a query", "seconds", "ms a query", "mean f", "share"),
)
QUERIES = 1000  # of a law, where methods are compared by their computing
FIRST_SEED = 501  # no seed from here on was used while anything was chosen


@dataclass(frozen=True)
class ScaleRun:
    """Measures what laws of a problem are compared with: the optimum and the best constant knobs."""

    columns: ClassVar[Sequence[str]] = ("run", "best", "constant", "random")
    group: ClassVar[str] = "scale"
    problem: Problem

    @property
    def key(self) -> str:
        """Name of the run."""
        return problem_name(self.problem)

    def run(self) -> list[Any]:
        """Measures in this process, and returns the row.

        Raises:
            UsageError: f is not finite everywhere.
        """
        scale = measure_scale(noise_free(objective_of(self.problem)))
        means = (scale.best, scale.constant, scale.random)
        if not np.isfinite(means).all():
            raise UsageError(
                f"--env {self.problem.env}: f is not finite everywhere; only where it is can it be compared"
            )
        return [self.key, *(f"{mean:.17g}" for mean in means)]


@dataclass(frozen=True)
class ComparisonRun:
    """A method's law after a number of evaluations.

    Attributes:
        problem: the problem.
        scale: its optimum and its best constant knobs.
        method: name of the method.
        evaluations: what it may spend before the first query.
        seed: seed of the method.
    """

    columns: ClassVar[Sequence[str]] = COLUMNS
    group: ClassVar[str] = "compare"
    problem: Problem
    scale: Scale
    method: str
    evaluations: int
    seed: int

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.family}/{self.seed}"

    @property
    def family(self) -> str:
        """What the runs have in common that follow each other in one process, each of which is timed alone."""
        return f"{problem_name(self.problem)}/{self.method}/{self.evaluations}"

    def run(self) -> list[Any]:
        """Learns and queries a law in this process, on one thread, and returns the row."""
        from threadpoolctl import threadpool_limits

        from ppo.experiments.rivals.metered import Metered, finite

        objective = Metered(self.problem, self.evaluations)
        truth, c = noise_free(objective_of(self.problem)), held_out_conditions(objective.conditions)
        learn = METHODS[self.method].load()
        with threadpool_limits(1):
            started = time.perf_counter()
            law = learn(objective, self.evaluations, self.seed)
            seconds, spent = time.perf_counter() - started, objective.spent
            assert spent <= self.evaluations, f"{self.method} spent {spent} evaluations of {self.evaluations}"
            started = time.perf_counter()
            with objective.answering():
                x = np.clip(law(c), -1, 1)
            query = 1000 * (time.perf_counter() - started) / len(c)
        mean = float(finite(self.problem, x, c, evaluate(truth, x, c)).mean())
        asked = (objective.spent - spent) / len(c)
        figures = [f"{asked:.3g}", f"{seconds:.4g}", f"{query:.4g}", f"{mean:.17g}", f"{self.scale.share(mean):.6g}"]
        return [self.key, problem_name(self.problem), self.method, self.evaluations, self.seed, spent, *figures]


@dataclass(frozen=True)
class Result:
    """What a method reaches with a number of evaluations, over seeds.

    Attributes:
        method: name of the method.
        evaluations: what it might spend before the first query.
        shares: mean regrets, in units of that of the best constant knobs, by seed.
        spent: most evaluations that it did spend.
        asked: mean number of evaluations at a query.
        seconds: median seconds of learning, all of its computing and f.
        query_ms: median milliseconds of a query.
    """

    method: str
    evaluations: int
    shares: tuple[float, ...]
    spent: int
    asked: float
    seconds: float
    query_ms: float

    @property
    def computing(self) -> float:
        """Seconds of learning and of as many queries as a law is thought to answer."""
        return self.seconds + QUERIES * self.query_ms / 1000

    @property
    def median(self) -> float:
        """Median of the shares."""
        return float(np.median(self.shares))


def scale_of(row: Row) -> Scale:
    """Returns what a row of ``ScaleRun`` holds."""
    return Scale(*(float(row[name]) for name in ("best", "constant", "random")))


def results_of(rows: Sequence[Row]) -> list[Result]:
    """Summarises rows of runs over seeds, in the order of methods and evaluations."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((int(row["evaluations"]), row["method"]), []).append(row)
    order = sorted(groups, key=lambda group: (group[0], list(METHODS).index(group[1])))
    return [
        Result(
            method,
            evaluations,
            tuple(numbers(found, "share")),
            max(int(row["spent"]) for row in found),
            float(np.mean(numbers(found, "evaluations a query"))),
            float(np.median(numbers(found, "seconds"))),
            float(np.median(numbers(found, "ms a query"))),
        )
        for evaluations, method in order
        for found in [groups[evaluations, method]]
    ]


def runs_of(
    problem: Problem, scale: Scale, methods: Sequence[str], budgets: Sequence[int], seeds: int
) -> list[ComparisonRun]:
    """Returns the runs of a comparison, but for those whose time would be unbearable; see ``Method.most``."""
    return [
        ComparisonRun(problem, scale, method, evaluations, seed)
        for evaluations in budgets
        for method in methods
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
        if evaluations <= (METHODS[method].most or evaluations)
    ]


def objective_of(problem: Problem) -> Objective:
    """Returns a new objective of a tuning problem."""
    objective = problem.objective()
    assert objective is not None, "a tuning problem"
    return objective


def problem_name(problem: Problem) -> str:
    """Returns the flags that name a problem."""
    words = ["--env", problem.env]
    for name in ("dims", "knobs"):
        if (value := getattr(problem, name)) is not None:
            words += [f"--{name}", str(value)]
    return " ".join(words + (["--env-kwargs", *keyword_words(dict(problem.env_kwargs))] if problem.env_kwargs else []))
