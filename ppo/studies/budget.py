"""Laws of small budgets without a model: --evaluations N --model none, beside what longer trainings have after N.

Mean regret over 128 conditions, as a share of that of the best constant knobs: 0 is the optimum, 1 no better than
constant knobs. Median (worst) over seeds that were not used while the schedules were chosen, nor were the problems.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actors.law import Law
from env.objectives import Objective, evaluate
from ppo.config import Config
from ppo.evaluation.shares import held_out_conditions, measure_scale
from ppo.experiments.tables import machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_all
from ppo.studies.seeded_runs import SeededRun

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

TAKES, GROUPS = ("seeds", "quick"), ()
PROBLEMS = {
    "converter, 2 + 3": Config(env="ppo.studies.budget_problems:Converter"),
    "Hartmann-6, 4 + 2": Config(env="hartmann", dims=6, knobs=4),
    "Branin, x1 tuned, 1 + 1": Config(env="branin"),
    "bent valley, 2 + 2": Config(env="ppo.studies.budget_problems:Valley"),
    "shifted Ackley, 1 + 1": Config(env="shifted-ackley"),
    "Rosenbrock, 5 + 5": Config(env="rosenbrock", dims=10, knobs=5),
}
BUDGETS = (300, 1000, 3000, 18000)
LONGER = (150, 300, 600, 1500, 5000)  # training steps of 60 evaluations
STEP = 60


@dataclass(frozen=True)
class BudgetRun(SeededRun):
    """A training, and the mean of f under its law after each of the budgets.

    Attributes:
        problem: name of the problem.
        config: full configuration, including the seed.
        marks: budgets at which the law is measured.
    """

    columns: ClassVar[Sequence[str]] = ("run", "problem", "training", "seed", *map(str, BUDGETS))
    problem: str
    config: Config
    marks: tuple[int, ...]
    group: ClassVar[str] = "budget"

    @property
    def training(self) -> str:
        """What is trained: ``N evaluations``, or ``S steps`` with the defaults."""
        budget, steps = self.config.evaluations, self.config.training_steps
        return f"{steps} steps" if budget is None else f"{budget} evaluations"

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.problem}/{self.training}/{self.config.seed}"

    def watch(self, trainer: "Trainer", seen: list[Any]) -> bool:
        left = self.marks[len(seen) :]
        if left and (trainer.complete or trainer.learner.evaluations >= left[0]):
            objective = objective_of(self.problem)
            c = held_out_conditions(objective.conditions)
            seen.append(f"{evaluate(objective, Law(trainer.learner.snapshot())(c), c).mean():.9g}")
        return len(seen) == len(self.marks)

    def row(self, trainer: "Trainer", seen: list[Any], seconds: float) -> list[Any]:
        means = dict.fromkeys(BUDGETS, "") | dict(zip(self.marks, seen, strict=True))
        return [self.key, self.problem, self.training, self.config.seed, *means.values()]


def objective_of(problem: str) -> Objective:
    """Returns the objective of a problem."""
    objective = PROBLEMS[problem].problem().objective()
    assert objective is not None, "a tuning problem"
    return objective


def runs_of(seeds: int, quick: bool) -> list[BudgetRun]:
    """Returns all runs of the study."""
    budgets, longer = (BUDGETS[:1], LONGER[:1]) if quick else (BUDGETS, LONGER)
    runs = []
    for name, problem in PROBLEMS.items():
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            base = dataclasses.replace(problem, seed=seed, drivers=0, eval_every=0, model="none")
            runs += [BudgetRun(name, dataclasses.replace(base, evaluations=n), (n,)) for n in budgets]
            for steps in longer:
                marks = tuple(n for n in budgets if n <= steps * STEP)
                runs.append(BudgetRun(name, dataclasses.replace(base, training_steps=steps), marks))
    return runs


def run(options: Options) -> None:
    """Does the runs that are missing, and writes ``budget.md``."""
    rows = run_all(options.out, runs_of(options.seeds, options.quick))["budget"]
    lines = []
    for name in PROBLEMS:
        scale = measure_scale(objective_of(name))
        for budget in BUDGETS:
            cells = [name, f"{budget:,}"]
            for training in (f"{budget} evaluations", *(f"{steps} steps" for steps in LONGER)):
                found = [row for row in rows if (row["problem"], row["training"]) == (name, training)]
                means = numbers([row for row in found if row[str(budget)]], str(budget))
                shares = [scale.share(mean) for mean in means]
                cells.append(f"{np.median(shares):.2g} ({max(shares):.2g})" if means else "")
            lines.append(cells)
    header = ["problem, knobs + conditions", "N", "--evaluations N", *(f"{steps} steps" for steps in LONGER)]
    text = f"{__doc__}\n\n{markdown(header, lines)}\n{machine()}\n"
    (options.out / "budget.md").write_text(text, encoding="utf-8")
    print(text)
