"""``curves.png`` and ``law.png`` of a run, with matplotlib (the extra ``plot``)."""

import pathlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from actors.job import Kind
from actors.law import Law
from actors.law_file import About
from actors.snapshot import Snapshot
from env.objectives import Objective, evaluate, solution
from env.objectives.returned import Failures
from ppo.config import ResolvedConfig
from ppo.data.rows import REUSED
from ppo.evaluation.evaluator import Evaluator
from ppo.evaluation.plots import matplotlib_installed
from ppo.training.run_dir import Row, RunDir
from ppo.training.timing import PHASES, Timing

COLOURS = {"collect": "#4477aa", "train": "#cc6677", "broadcast": "#ddcc77", "evaluate": "#117733", "other": "#aaaaaa"}
LABELS = {
    "mse": "mean squared error of f to its minimum",
    "msle": "mean squared log error of f to its minimum",
    "mean_objective": "mean of f under the law",
    "mean_return": "mean return of the evaluation",
}
COLLECTED = {
    "charts/objective": "mean of f over what was collected",
    "charts/episodic_return": "return of the episodes collected",
}
GRID = 121  # points of a picture along each axis
DECADE, SPREAD = 10.0, 50.0  # ratios of the largest to the least error, and f, above which their axes are logarithmic
LARGEST = 1e200  # beyond which matplotlib's arithmetic overflows
MARKED = 60  # rounds up to which each one has a mark


@dataclass(frozen=True)
class FinishedRun:
    """What pictures are drawn of.

    Attributes:
        config: what was trained.
        files: the run directory.
        timing: where its time went.
        evaluator: what scored its law or policy.
        snapshot: the law or policy.
        about: what its file says of it.
        rows: what was evaluated, as ``ppo.training.evaluated`` returns it; None where that is not known.
        summary: what ``summary.json`` holds.
    """

    config: ResolvedConfig
    files: RunDir
    timing: Timing
    evaluator: Evaluator
    snapshot: Snapshot
    about: About
    rows: np.ndarray | None
    summary: dict[str, Any]


@dataclass(frozen=True)
class RoundValues:
    """f of each round of a run, in their order; what was reused is a round that cost nothing.

    Attributes:
        paid: evaluations paid up to the end of each, ``[rounds]``.
        best, median: of f, ``[rounds]``; NaN where every evaluation of a round failed.
        kinds: what each was run for, as the archive has it, ``[rounds]``.
    """

    paid: np.ndarray
    best: np.ndarray
    median: np.ndarray
    kinds: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> "RoundValues":
        """Groups rows of an archive, of which there is one at least."""
        rows = rows[np.lexsort([rows["kind"], rows["step"]])]
        differs = (np.diff(rows["step"]) != 0) | (np.diff(rows["kind"]) != 0)
        starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
        kinds = rows["kind"][starts]
        sizes = np.diff([*starts, len(rows)])
        parts = [f[np.isfinite(f)] for f in np.split(rows["f"], starts[1:])]
        best, median = ([float(of(f)) if len(f) else np.nan for f in parts] for of in (np.min, np.median))
        return cls(np.cumsum(np.where(kinds == REUSED, 0, sizes)), np.array(best), np.array(median), kinds)


def draw(run: FinishedRun) -> list[str]:
    """Draws what there is to draw into the run directory and returns the names of the files."""
    drawn: list[str] = []
    if not matplotlib_installed():
        return drawn
    directory = run.files.path
    if run.files.rows:
        draw_curves(directory / "curves.png", run.files.rows, run.timing, run.evaluator)
        drawn.append("curves.png")
    elif run.rows is not None and len(run.rows):
        draw_rounds(directory / "curves.png", RoundValues.of(run.rows), run.timing, run.summary.get("model"))
        drawn.append("curves.png")
    objective = run.config.problem().objective()
    if objective is not None:
        law = Law(run.snapshot, run.about)
        conditions = _grid(law.condition_coordinates)
        solved = solution(objective, conditions) if (law.knobs, law.conditions) == (1, 1) else None
        if solved is not None:
            draw_law(directory / "law.png", objective, law, conditions, solved[0])
        else:
            law.plot(directory / "law.png")
        drawn.append("law.png")
    return drawn


def draw_curves(path: pathlib.Path, rows: list[Row], timing: Timing, evaluator: Evaluator) -> None:
    """Draws the score and what was collected, over the evaluations paid, and where the time went.

    Outside tuning, where nothing is paid for, they are drawn over training steps.
    """
    figure, axes = _panels([3, 3, 1])
    steps, paid = ([row[name] for row in rows] for name in ("training_step", "objective_evaluations"))
    along, label = steps, "training step"
    if paid[-1]:
        along, label = paid, f"evaluations of f paid in training ({int(steps[-1]):,} training steps)"
    axes[0].plot(along, [row[evaluator.column] for row in rows], color="#4477aa", lw=1)
    axes[0].set(xlabel=label, ylabel=LABELS[evaluator.metric])
    scores = np.array([row[evaluator.column] for row in rows])
    scores = scores[np.isfinite(scores) & (scores > 0)]
    if evaluator.optimum is not None and len(scores) and scores.max() > DECADE * scores.min():
        axes[0].set_yscale("log")
    column, title = next(item for item in COLLECTED.items() if item[0] in rows[0])
    axes[1].plot(along, [row[column] for row in rows], color="#117733", lw=1)
    axes[1].set(xlabel=label, ylabel=title)
    _draw_seconds(axes[2], timing)
    figure.savefig(path, dpi=110)


def draw_rounds(path: pathlib.Path, rounds: RoundValues, timing: Timing, model: dict[str, Any] | None) -> None:
    """Draws the best and the median f of each round over the evaluations paid, and where the time went.

    Args:
        path: the picture.
        rounds: f of each round.
        timing: where the time went.
        model: what a model says of the law, as ``summary.json`` has it; None where there is none.
    """
    figure, axes = _panels([6, 1])
    marks = {"marker": "o", "ms": 4} if len(rounds.paid) <= MARKED else {}
    median, best = (np.clip(values, -LARGEST, LARGEST) for values in (rounds.median, rounds.best))
    axes[0].plot(rounds.paid, median, color="#4477aa", lw=1.2, label="median f of a round", **marks)
    axes[0].plot(rounds.paid, best, color="#117733", lw=1.2, label="best f of a round", **marks)
    design = rounds.paid[rounds.kinds == Kind.DESIGN]
    if len(design):
        axes[0].axvspan(0, design[-1], color="#ddcc77", alpha=0.3, lw=0, label="the design, spread evenly")
    if (rounds.kinds == REUSED).any():
        axes[0].axvline(0, color="#aaaaaa", lw=3, label="at 0: what was reused")
    told = model or {}
    for name, what, colour in (("law", "the law", "#ee3377"), ("constant", told.get("beside"), "#888888")):
        value = told.get(name)
        if value is not None:
            axes[0].axhline(value, color=colour, ls="--", lw=1.2, label=f"mean f of {what}, as the model expects")
    finite = np.concatenate([values[np.isfinite(values)] for values in (best, median)])
    if len(finite) and finite.min() > 0 and finite.max() > SPREAD * finite.min():
        axes[0].set_yscale("log")
    axes[0].set(xlabel=f"evaluations of f paid, at the end of each of {len(rounds.paid):,} rounds", ylabel="f")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=8, frameon=False)
    _draw_seconds(axes[1], timing)
    figure.savefig(path, dpi=110)


def draw_law(path: pathlib.Path, objective: Objective, law: Law, conditions: np.ndarray, best: np.ndarray) -> None:
    """Draws the objective over (c, x), its minimiser ``best`` ``[m, 1]`` for ``conditions`` ``[m, 1]``, and the law."""
    from matplotlib.figure import Figure

    from actors.picture_axes import grid, places, set_axis

    ((condition_name, condition),) = law.condition_coordinates.items()
    ((knob_name, knob),) = law.knob_coordinates.items()
    grid_c, grid_x = np.meshgrid(conditions[:, 0], grid(knob, GRID))
    values = evaluate(objective, grid_x.reshape(-1, 1), grid_c.reshape(-1, 1), failures=Failures()).reshape(
        grid_c.shape
    )  # where f fails, the picture stays empty
    shade = np.log1p(values) if objective.metric == "msle" else values
    figure = Figure(figsize=(6.4, 5), layout="constrained")
    axis = figure.subplots()
    contour = axis.contourf(places(condition, grid_c), places(knob, grid_x), shade, levels=30, cmap="viridis")
    figure.colorbar(contour, label="log(1 + f)" if objective.metric == "msle" else "f")
    c = places(condition, conditions[:, 0])
    axis.plot(c, places(knob, best[:, 0]), color="white", lw=3.5, label="true minimiser")
    axis.plot(c, places(knob, law(conditions)[:, 0]), color="#ee3377", lw=1.6, ls="--", label="tuning law")
    set_axis(axis.xaxis, condition, condition_name, margin=0.0)
    set_axis(axis.yaxis, knob, knob_name, margin=0.0)
    axis.set_title(f"{type(objective).__name__}: the law after training")
    axis.legend(loc="lower left", facecolor="#dddddd")
    figure.savefig(path, dpi=110)


def _grid(conditions: Any) -> np.ndarray:
    """Returns conditions ``[m, 1]`` along the range of the first one."""
    from actors.picture_axes import grid

    return grid(next(iter(conditions.values())), GRID)[:, None]


def _panels(widths: list[int]) -> tuple[Any, Any]:
    """Returns a figure and its panels, side by side, of which the last one is for times."""
    from matplotlib.figure import Figure  # not pyplot, which would take over a notebook's way of showing figures

    figure = Figure(figsize=(13, 3.8) if len(widths) > 2 else (9, 4.6), layout="constrained")
    axes = figure.subplots(1, len(widths), width_ratios=widths)
    for axis in axes[:-1]:
        axis.grid(alpha=0.3)
        axis.xaxis.set_major_formatter("{x:,.0f}")  # counts
    return figure, axes


def _draw_seconds(axis: Any, timing: Timing) -> None:
    """Draws where the time went."""
    bottom = 0.0
    for phase in PHASES:
        axis.bar(0, timing.totals[phase], bottom=bottom, color=COLOURS[phase], label=phase)
        bottom += timing.totals[phase]
    axis.set(xticks=[], xlim=(-0.6, 0.6), ylabel="seconds")
    handles, names = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], names[::-1], fontsize=8, loc="upper right")
    axis.set_ylim(0, 1.6 * bottom or 1)
