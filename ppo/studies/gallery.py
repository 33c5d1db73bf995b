"""Problems of engineering whose best knobs are known (env.gallery), each trained with a budget that an engineer has.

At 256 held-out conditions: what the law gives, and after a polish of 20 evaluations at each of them. Of the image it is
the image's power in dB, -80 at the best; of the others the excess of f over its least value, in percent of that; of the
one with a constraint by its absolute value, and the share of the conditions at which the law keeps the constraint
stands beside it. Median, 95th percentile and worst of the conditions; of these the median and the worst of the seeds.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actors.law import Law
from env.objectives import Objective
from env.objectives.evaluation import timed_evaluation
from ppo.config import Config
from ppo.evaluation.regret import regret_conditions
from ppo.experiments.polishing import polished
from ppo.experiments.tables import machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_all

TAKES, GROUPS = ("seeds", "quick"), ()
PROBLEMS = {
    "IQ modulator": ("env.gallery.iq_modulator:image", 3000),
    "buck converter": ("env.gallery.buck_converter:loss", 1000),
    "segmented converter": ("env.gallery.segmented_converter:loss", 1000),
    "wind turbine": ("env.gallery.wind_turbine:limited", 1000),
    "wind turbine, punished": ("env.gallery.wind_turbine:lost", 1000),
}
POLISH, QUICK = 20, 60
MEASURES = ("median", "p95", "worst")


@dataclass(frozen=True)
class GalleryRun:
    """A training on one of the problems.

    Attributes:
        problem: name of the problem.
        config: full configuration, including the seed.
    """

    columns: ClassVar[Sequence[str]] = (
        *("run", "problem", "evaluations", "seed", "kept"),
        *(f"{what} {measure}" for what in ("law", "polished") for measure in MEASURES),
        *("policy sha256", "seconds"),
    )
    problem: str
    config: Config
    group: ClassVar[str] = "gallery"

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.problem}/{self.config.evaluations}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Trains in this process, and returns the row."""
        from ppo.experiments.workloads import training  # imported here, since it imports torch

        with training(self.config) as trainer:
            for _ in trainer:
                pass
            summary = trainer.finish(pictures=False)
            law = Law.load(trainer.files.path / "law.npz")
        objective = self.config.problem().objective()
        assert objective is not None, "a tuning problem"
        c = regret_conditions(objective.conditions)
        x = law(c)
        better = np.stack([law_polished(objective, row, condition) for row, condition in zip(x, c, strict=True)])
        kept = (timed_evaluation(objective, x, c, range(len(c))).g <= 0).all(axis=1).mean()
        measured = [f"{value:.6g}" for knobs in (x, better) for value in _measures(self.problem, objective, knobs, c)]
        named = [self.key, self.problem, self.config.evaluations, self.config.seed, f"{kept:.3f}"]
        return [*named, *measured, summary["policy_sha256"], f"{summary['wall_seconds']:.1f}"]


def law_polished(objective: Objective, x: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Returns a law's knobs ``[knobs]`` at one condition ``[conditions]``, polished."""

    def f(knobs: np.ndarray) -> Any:
        found = timed_evaluation(objective, knobs[None], c[None], range(1))
        return (found.f[0], found.g[0]) if objective.constraints else found.f[0]

    return polished(f, x, objective.coordinates[0], POLISH)


def _measures(problem: str, objective: Objective, x: np.ndarray, c: np.ndarray) -> list[float]:
    """Returns median, 95th percentile and worst of what knobs give."""
    f = timed_evaluation(objective, x, c, range(len(c))).f
    if problem == "IQ modulator":
        values = f
    else:
        solved = objective.solve(c)
        assert solved is not None, "the best knobs are known"
        values = 100 * np.abs(f - solved[1]) / np.abs(solved[1])
    return [float(np.median(values)), float(np.percentile(values, 95)), float(values.max())]


def runs_of(seeds: int, quick: bool) -> list[GalleryRun]:
    """Returns all runs of the study."""
    runs = []
    for name, (env, evaluations) in PROBLEMS.items():
        base = Config(env=env, evaluations=QUICK if quick else evaluations, drivers=0)
        runs += [GalleryRun(name, dataclasses.replace(base, seed=FIRST_SEED + number)) for number in range(seeds)]
    return runs


def run(options: Options) -> None:
    """Does the runs that are missing, and writes ``gallery.md``."""
    rows = run_all(options.out, runs_of(options.seeds, options.quick))["gallery"]
    lines = []
    for name in PROBLEMS:
        found = [row for row in rows if row["problem"] == name]
        cells = [name, f"{int(found[0]['evaluations']):,}", f"{np.median(numbers(found, 'kept')):.3g}"]
        for what in ("law", "polished"):
            for measure in MEASURES:
                values = numbers(found, f"{what} {measure}")
                cells.append(f"{np.median(values):.2g} ({max(values):.2g})")
        lines.append(cells)
    header = ["problem", "evaluations", "kept", *(f"{what}: {one}" for what in ("law", "polished") for one in MEASURES)]
    text = f"{__doc__}\n\n{markdown(header, lines)}\n{machine()}\n"
    (options.out / "gallery.md").write_text(text, encoding="utf-8")
    print(text)
