"""Laws of 100 to 100,000 evaluations: --evaluations N with the defaults, and for two rows --model none --components 6.

Mean regret over 128 conditions, as a share of that of the best constant knobs: 0 is the optimum, 1 no better than
constant knobs. Nothing was chosen by these seeds, but for what docs/results.md says. Noise is 5 % of the standard
deviation of f. Seconds are those that one core works on a training, without its start; where seeds are
trained side by side, the share of each.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actors.law import Law
from env.objectives import Objective, evaluate
from ppo.config import Config
from ppo.evaluation.shares import held_out_conditions, measure_scale, noise_free
from ppo.experiments.tables import Row, machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_groups
from ppo.studies.seeded_runs import SeededRun
from ppo.studies.statistics import summarised

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

TAKES, GROUPS = ("seeds", "quick", "only"), ("small", "every", "large", "none")
PROBLEMS = {
    "Rosenbrock, 1 + 1": Config(env="rosenbrock"),
    "Branin, x1 tuned, 1 + 1": Config(env="branin"),
    "Branin, x2 tuned, 1 + 1": Config(env="branin", env_kwargs={"given": 1}),
    "Hartmann-4, 2 + 2": Config(env="hartmann", dims=4, knobs=2),
    "Hartmann-4, 3 + 1": Config(env="hartmann", dims=4, knobs=3),
    "Hartmann-6, 4 + 2": Config(env="hartmann", dims=6, knobs=4),
    "shifted Ackley, 1 + 1": Config(env="shifted-ackley"),
    "crossing valleys, 1 + 1": Config(env="crossing-valleys"),
    "Rosenbrock with noise, 1 + 1": Config(env="noisy", env_kwargs={"of": "rosenbrock"}),
    "Branin with noise, 1 + 1": Config(env="noisy", env_kwargs={"of": "branin"}),
    "Rosenbrock, 5 + 5": Config(env="rosenbrock", dims=10, knobs=5),
    "shifted Ackley, 5 + 5": Config(env="shifted-ackley", dims=10, knobs=5),
    "shifted Ackley, 2 + 2": Config(env="shifted-ackley", dims=4, knobs=2),
    "Rosenbrock, 2 + 2": Config(env="rosenbrock", dims=4, knobs=2),
    "Hartmann-3, 1 + 2": Config(env="hartmann", dims=3, knobs=1),
    "Hartmann-3, 2 + 1": Config(env="hartmann", dims=3, knobs=2),
    "Hartmann-4, 1 + 3": Config(env="hartmann", dims=4, knobs=1),
    "Hartmann-6, 1 + 5": Config(env="hartmann", dims=6, knobs=1),
    "Hartmann-6, 2 + 4": Config(env="hartmann", dims=6, knobs=2),
    "Hartmann-6, 3 + 3": Config(env="hartmann", dims=6, knobs=3),
    "Hartmann-6, 5 + 1": Config(env="hartmann", dims=6, knobs=5),
    "two crossing valleys, 1 + 1": Config(env="crossing-valleys", env_kwargs={"valleys": 2}),
    "nine crossing valleys, 1 + 1": Config(env="crossing-valleys", env_kwargs={"valleys": 9}),
    "crossing valleys, 2 + 2": Config(env="crossing-valleys", dims=4, knobs=2),
    "Hartmann-4 with noise, 2 + 2": Config(env="noisy", dims=4, knobs=2, env_kwargs={"of": "hartmann"}),
    "crossing valleys with noise, 1 + 1": Config(env="noisy", env_kwargs={"of": "crossing-valleys"}),
}
FEW_SEEDS = 3
A_COORDINATE = 50  # evaluations of each knob and condition in the group "every"


@dataclass(frozen=True)
class Aim:
    """A row of the table.

    Attributes:
        problem: name of the problem.
        evaluations: the budget.
        median: share that the median over seeds is to be at the most; None where there is no aim.
        worst: the same of the worst seed.
        long: whether a run takes so long that three seeds must do.
    """

    problem: str
    evaluations: int
    median: float | None
    worst: float | None = None
    long: bool = False


AIMS = {
    "small": (
        Aim("Rosenbrock, 1 + 1", 100, 2e-4),
        Aim("Rosenbrock, 1 + 1", 300, 5e-6, 1e-4),
        Aim("Branin, x1 tuned, 1 + 1", 100, 1e-3, 0.02),
        Aim("Branin, x1 tuned, 1 + 1", 300, 1e-4, 0.01),
        Aim("Branin, x2 tuned, 1 + 1", 100, 1e-3, 0.02),
        Aim("Branin, x2 tuned, 1 + 1", 300, 1e-4, 0.01),
        Aim("Hartmann-4, 2 + 2", 300, 0.008),
        Aim("Hartmann-4, 3 + 1", 300, 0.004),
        Aim("Hartmann-6, 4 + 2", 750, 0.03),
        Aim("Hartmann-6, 4 + 2", 1000, 0.01, 0.05),
        Aim("crossing valleys, 1 + 1", 100, None, 1.0),
        Aim("crossing valleys, 1 + 1", 300, None, 1.0),
        Aim("shifted Ackley, 1 + 1", 1000, 0.01),
        Aim("Rosenbrock with noise, 1 + 1", 1000, 0.01),
        Aim("Branin with noise, 1 + 1", 1000, 0.01),
    ),
    # Each benchmark but Ackley and sphere, whose best knobs are constant.
    "every": tuple(Aim(name, A_COORDINATE * (config.dims or 2), None, 1.0) for name, config in PROBLEMS.items()),
    "large": (
        Aim("Rosenbrock, 1 + 1", 1000, None),
        Aim("Rosenbrock, 1 + 1", 3000, None),
        Aim("Branin, x1 tuned, 1 + 1", 1000, None),
        Aim("Branin, x1 tuned, 1 + 1", 3000, None),
        Aim("Branin, x2 tuned, 1 + 1", 1000, None),
        Aim("Branin, x2 tuned, 1 + 1", 3000, None),
        Aim("Hartmann-4, 2 + 2", 3000, None),
        Aim("Hartmann-4, 3 + 1", 3000, None),
        Aim("Hartmann-6, 4 + 2", 7500, None),
        Aim("Hartmann-6, 4 + 2", 10_000, None),
        Aim("Rosenbrock with noise, 1 + 1", 10_000, None),
        Aim("Branin with noise, 1 + 1", 10_000, None),
        Aim("shifted Ackley, 1 + 1", 10_000, 0.002),
        Aim("Rosenbrock, 5 + 5", 10_000, 0.4),
        Aim("shifted Ackley, 5 + 5", 10_000, 0.2),
        Aim("shifted Ackley, 1 + 1", 100_000, None),
        Aim("Rosenbrock, 5 + 5", 100_000, None, long=True),
        Aim("shifted Ackley, 5 + 5", 100_000, None, long=True),
        Aim("Branin, x1 tuned, 1 + 1", 100_000, 1e-4),
        Aim("Hartmann-6, 4 + 2", 100_000, 0.006),
    ),
    "none": (
        Aim("Branin, x1 tuned, 1 + 1", 100_000, 1e-3),
        Aim("Hartmann-6, 4 + 2", 100_000, 0.03),
    ),
}


@dataclass(frozen=True)
class FrugalRun(SeededRun):
    """A training, and the mean of f under its law.

    Attributes:
        group: group of its row.
        problem: name of the problem.
        config: full configuration, including the seed.
    """

    columns: ClassVar[Sequence[str]] = ("run", "problem", "evaluations", "seed", "spent", "seconds", "mean f")
    group: str
    problem: str
    config: Config

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.problem}/{self.config.evaluations}/{self.config.seed}"

    def row(self, trainer: "Trainer", seen: list[Any], seconds: float) -> list[Any]:
        objective, config, spent = noise_free(objective_of(self.problem)), self.config, trainer.learner.evaluations
        c = held_out_conditions(objective.conditions)
        mean = evaluate(objective, Law(trainer.learner.snapshot())(c), c).mean()
        return [self.key, self.problem, config.evaluations, config.seed, spent, f"{seconds:.1f}", f"{mean:.17g}"]


def objective_of(problem: str) -> Objective:
    """Returns the objective of a problem."""
    objective = PROBLEMS[problem].problem().objective()
    assert objective is not None, "a tuning problem"
    return objective


def runs_of(seeds: int, quick: bool, only: str | None) -> list[FrugalRun]:
    """Returns all runs of the study, or with ``quick`` those of at most 100 evaluations."""
    runs = []
    for group in [only] if only else GROUPS:
        fields: dict[str, Any] = {"model": "none", "components": 6} if group == "none" else {}
        aims = [aim for aim in AIMS[group] if not quick or aim.evaluations <= 100]
        for number, aim in itertools.product(range(seeds), aims):
            if aim.long and number >= FEW_SEEDS:
                continue
            fields |= {"evaluations": aim.evaluations, "seed": FIRST_SEED + number, "drivers": 0, "eval_every": 0}
            runs.append(FrugalRun(group, aim.problem, dataclasses.replace(PROBLEMS[aim.problem], **fields)))
    return runs


def run(options: Options) -> None:
    """Does the missing runs of one group or of all; writes a table and a figure of the complete groups."""
    groups = {group: runs_of(options.seeds, options.quick, group) for group in GROUPS}
    rows = run_groups(options.out, groups, options.only)
    problems = {row["problem"] for found in rows.values() for row in found}
    scales = {problem: measure_scale(noise_free(objective_of(problem))) for problem in problems}
    lines, drawn = [], []
    for group, found in rows.items():
        for aim in AIMS[group]:
            here = [row for row in found if (row["problem"], row["evaluations"]) == (aim.problem, str(aim.evaluations))]
            if here:
                shares = [scales[aim.problem].share(mean) for mean in numbers(here, "mean f")]
                name = aim.problem + (", no model" if group == "none" else "")
                lines.append(_line(name, aim, shares, here))
                drawn.append((name, aim, shares))
    header = [
        "problem, knobs + conditions",
        "N",
        "seeds",
        "median (worst)",
        "inter-quartile mean, 95 %",
        "aim (worst)",
        "seconds",
    ]
    medians = {(name, aim.evaluations): float(np.median(shares)) for name, aim, shares in drawn}
    text = f"{__doc__}\n\n{markdown(header, lines)}{_tenfold(medians)}\n{machine()}\n"
    (options.out / "frugal.md").write_text(text, encoding="utf-8")
    _draw(options, drawn)
    print(text)


def _line(name: str, aim: Aim, shares: Sequence[float], rows: Sequence[Row]) -> list[str]:
    median, mean, worst = summarised(shares)
    aims = " ".join(
        ["" if aim.median is None else f"{aim.median:.2g}", "" if aim.worst is None else f"({aim.worst:.2g})"]
    )
    seconds = f"{np.median(numbers(rows, 'seconds')):.3g}"
    return [name, f"{aim.evaluations:,}", str(len(rows)), f"{median} ({worst})", mean, aims.strip(), seconds]


def _tenfold(medians: Mapping[tuple[str, int], float]) -> str:
    """Returns a sentence on the rows for which there is one of ten times the evaluations; nothing if there are none."""
    pairs = [(name, n) for name, n in medians if (name, 10 * n) in medians]
    worse = [pair for pair in pairs if medians[pair[0], 10 * pair[1]] > max(1.1 * medians[pair], 1e-3)]
    if not pairs:
        return ""
    exceptions = ": not in " + "; ".join(f"{name}: {n:,}" for name, n in worse) if worse else ""
    return (
        "\nThe median with ten times the evaluations is at most the larger of 1.1 times the median and 1e-3 "
        f"in {len(pairs) - len(worse)} of {len(pairs)} rows that have such a row{exceptions}.\n"
    )


def _draw(options: Options, drawn: Sequence[tuple[str, Aim, Sequence[float]]]) -> None:
    """Draws each seed's share, the medians and the aims."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1 + 0.3 * len(drawn)), layout="constrained")
    axis = figure.subplots()
    for place, (_, aim, shares) in enumerate(drawn):
        axis.plot(shares, [place] * len(shares), "o", color="#4477aa", alpha=0.4, ms=4)
        axis.plot(np.median(shares), place, "|", color="#4477aa", ms=14, mew=2)
        if aim.median is not None:
            axis.plot(aim.median, place, "|", color="#ee6677", ms=14, mew=2)
    axis.set_yticks(range(len(drawn)), [f"{name}: {aim.evaluations:,}" for name, aim, _ in drawn])
    axis.set_ylim(len(drawn) - 0.3, -0.7)
    axis.axvline(1, color="#000000", lw=0.8, ls=":")
    axis.set(xscale="log", xlabel="share of the regret of constant knobs: seeds, median, aim (red)")
    axis.grid(alpha=0.3)
    figure.savefig(options.out / "frugal.png", dpi=110)
