"""``curves.png`` and ``law.png`` of a run, with matplotlib (the extra ``plot``)."""

import pathlib

import numpy as np

from actors.law import Law
from actors.snapshot import Snapshot
from env.objectives import Objective, evaluate, solution
from env.objectives.evaluation import Failures
from ppo.evaluation.evaluator import Evaluator
from ppo.evaluation.plots import matplotlib_installed
from ppo.training.run_dir import Row
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


def draw(
    directory: pathlib.Path,
    rows: list[Row],
    timing: Timing,
    evaluator: Evaluator,
    objective: Objective | None,
    snapshot: Snapshot,
) -> list[str]:
    """Draws what there is to draw into ``directory`` and returns the names of the files."""
    drawn: list[str] = []
    if not matplotlib_installed():
        return drawn
    if rows:
        draw_curves(directory / "curves.png", rows, timing, evaluator)
        drawn.append("curves.png")
    if objective is not None and (objective.knobs, objective.conditions) == (1, 1):
        conditions = np.linspace(-1, 1, GRID)[:, None]
        solved = solution(objective, conditions)
        if solved is not None:
            draw_law(directory / "law.png", objective, snapshot, conditions, solved[0])
            drawn.append("law.png")
    return drawn


def draw_curves(path: pathlib.Path, rows: list[Row], timing: Timing, evaluator: Evaluator) -> None:
    """Draws the score, and what was collected, over training steps, and where the time went."""
    from matplotlib.figure import Figure  # not pyplot, which would take over a notebook's way of showing figures

    steps = [row["training_step"] for row in rows]
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=[3, 3, 1])
    axes[0].plot(steps, [row[evaluator.column] for row in rows], color="#4477aa", lw=1)
    axes[0].set(xlabel="training step", title=LABELS[evaluator.metric])
    if evaluator.optimum is not None and any(0 < row[evaluator.column] < np.inf for row in rows):
        axes[0].set_yscale("log")
    column, title = next(item for item in COLLECTED.items() if item[0] in rows[0])
    axes[1].plot(steps, [row[column] for row in rows], color="#117733", lw=1)
    axes[1].set(xlabel="training step", title=title)
    bottom = 0.0
    for phase in PHASES:
        axes[2].bar(0, timing.totals[phase], bottom=bottom, color=COLOURS[phase], label=phase)
        bottom += timing.totals[phase]
    axes[2].set(xticks=[], xlim=(-0.6, 0.6), title="seconds")
    handles, names = axes[2].get_legend_handles_labels()
    axes[2].legend(handles[::-1], names[::-1], fontsize=8, loc="upper right")
    axes[2].set_ylim(0, 1.6 * bottom)
    for axis in axes[:2]:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def draw_law(
    path: pathlib.Path, objective: Objective, snapshot: Snapshot, conditions: np.ndarray, best: np.ndarray
) -> None:
    """Draws the objective over (c, x), its minimiser ``best`` ``[m, 1]`` for ``conditions`` ``[m, 1]``, and the law."""
    from matplotlib.figure import Figure

    c = conditions[:, 0]  # where f fails, the picture stays empty
    grid_c, grid_x = np.meshgrid(c, np.linspace(-1, 1, GRID))
    values = evaluate(objective, grid_x.reshape(-1, 1), grid_c.reshape(-1, 1), failures=Failures()).reshape(
        grid_c.shape
    )
    shade = np.log1p(values) if objective.metric == "msle" else values
    figure = Figure(figsize=(6.4, 5), layout="constrained")
    axis = figure.subplots()
    contour = axis.contourf(grid_c, grid_x, shade, levels=30, cmap="viridis")
    figure.colorbar(contour, label="log(1 + f)" if objective.metric == "msle" else "f")
    axis.plot(c, best[:, 0], color="white", lw=3.5, label="true minimiser")
    axis.plot(c, Law(snapshot)(conditions)[:, 0], color="#ee3377", lw=1.6, ls="--", label="tuning law")
    axis.set(xlabel="condition c", ylabel="knob x", title=f"{type(objective).__name__}: the law after training")
    axis.legend(loc="lower left", facecolor="#dddddd")
    figure.savefig(path, dpi=110)
