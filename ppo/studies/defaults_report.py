"""Tables and the figure of the study of the defaults of control."""

import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from env.controllers import PID
from ppo.evaluation.held_out import Controller, held_out_returns
from ppo.evaluation.statistics import student_interval
from ppo.experiments.stable_baselines3 import PEER_LABEL
from ppo.experiments.tables import Row, markdown, numbers
from ppo.studies.control_runs import CHANCE, OURS, mean_returns, returns_of, rows_of
from ppo.studies.defaults_tasks import Task

WORDS = {None: "-", True: "yes", False: "no"}
"""Whether an aim is reached, in words; None without one."""


def task_table(tasks: Sequence[Task], rows: list[Row]) -> str:
    """Returns the table of all tasks, with a line for each, as Markdown."""
    lines = []
    for task in tasks:
        here, there = (_means(rows, task, side) for side in (OURS, PEER_LABEL))
        lines.append(
            [
                f"{task.name}{' (held out)' if task.held_out else ''}",
                f"{_means(rows, task, CHANCE)[0]:,.1f}",
                *_median_and_worst(here),
                *_median_and_worst(there),
                aim(task, there),
                WORDS[reached(task, here, there)],
                *(_median_seconds(rows_of(rows, task.name, side)) for side in (OURS, PEER_LABEL)),
            ]
        )
    header = ["task, time steps", "chance", "median (seeds)", "worst", f"{PEER_LABEL}: median (seeds)", "worst"]
    return markdown([*header, "aim", "reached", "s", f"s, {PEER_LABEL}"], lines)


def aim(task: Task, there: Sequence[float]) -> str:
    """Returns what a task's returns should be, in words; ``there`` are the peer's."""
    words = []
    if task.median is not None:
        words.append(f"median {task.median:,.0f}")
    if task.worst is not None:
        words.append(f"worst {task.worst:,.0f}")
    if task.of_peer is not None:
        words.append(f"median {'' if task.of_peer == 1 else f'{task.of_peer:g} x '}{np.median(there):,.0f}, theirs")
    return "; ".join(words) or "see below"


def reached(task: Task, here: Sequence[float], there: Sequence[float]) -> bool | None:
    """Returns whether a task's returns are what they should be, None without an aim; ``there`` are the peer's."""
    if task.median is task.worst is task.of_peer is None:
        return None
    median = float(np.median(here))
    limits = [task.median] if task.median is not None else []
    if task.of_peer is not None:
        limits.append(task.of_peer * float(np.median(there)))
    return median >= max(limits, default=-np.inf) and (task.worst is None or min(here) >= task.worst)


def peer_table(tasks: Sequence[Task], rows: list[Row]) -> str:
    """Returns the mean differences to each set-up of the peer, with Welch's 95 % intervals, as Markdown."""
    lines = []
    for task in tasks:
        here = _means(rows, task, OURS)
        for side in task.sides:
            there = _means(rows, task, side)
            difference = float(np.mean(here) - np.mean(there))
            shown = f"{difference:+,.0f}"
            if len(here) > 1 and len(there) > 1 and np.ptp([*here, *there]) > 0:
                with warnings.catch_warnings():  # one side may be the same with every seed, as where all are solved
                    warnings.simplefilter("ignore", RuntimeWarning)
                    found = stats.ttest_ind(here, there, equal_var=False).confidence_interval(0.95)
                shown += f" [{found.low:+,.0f}, {found.high:+,.0f}]"
            lines.append([task.name, side, f"{np.median(there):,.1f}", f"{min(there):,.1f}", shown])
    header = ["task", "beside", "its median", "its worst", "mean difference, Welch's 95 % interval"]
    return f"## Differences\n\n{markdown(header, lines)}" if lines else ""


def again_table(tasks: Sequence[Task], rows: list[Row], again: list[Row]) -> str:
    """Returns what other seeds have reached, and all of them together, with a line for each task, as Markdown.

    Args:
        tasks: tasks.
        rows: rows of the tasks, of the first seeds and of the peer.
        again: rows of the other seeds.
    """
    lines = []
    for task in tasks:
        there, line = _means(rows, task, PEER_LABEL), [task.name]
        for some in (again, [*rows, *again]):
            here = _means(some, task, OURS)
            line += [*_median_and_worst(here), WORDS[reached(task, here, there)]]
        lines.append([*line, aim(task, there)])
    header = ["task, time steps", "median (seeds)", "worst", "reached"]
    table = markdown([*header, "with the first: median (seeds)", "worst", "reached", "aim"], lines)
    return f"## Once more, with other seeds\n\n{table}"


def furnace_table(title: str, tasks: Sequence[Task], rows: list[Row], simple: dict[str, dict[str, Controller]]) -> str:
    """Returns the gains over simple controllers on the furnace, paired by episode, as Markdown; nothing without rows.

    Args:
        title: title of the table.
        tasks: tasks, of which those on the furnace are shown.
        rows: rows of all runs.
        simple: controllers by level and label.
    """
    lines = []
    for task in tasks:
        some = simple.get(task.config.env_kwargs.get("level", ""), {})
        found = np.array([returns_of(row) for row in rows_of(rows, task.name, OURS)])
        for label, controller in some.items():
            if len(found) and isinstance(controller, PID):
                returns = held_out_returns(task.config.problem(), controller)
                lines.append([task.name, label, f"{returns.mean():,.0f}", *gain_cells(found, returns)])
    header = ["task", "over", "its return", "median gain, its 95 % interval", "mean gain, 95 % over seeds"]
    header += ["each seed's", "better, 95 % over episodes"]
    return f"## {title}\n\n{markdown(header, lines)}" if lines else ""


def gain_cells(found: np.ndarray, simple: np.ndarray) -> tuple[str, str, str, str]:
    """Returns in words what policies gain over a controller on the same episodes, with 95 % intervals.

    The interval of the median is that of the order statistics, and needs six seeds; that of the mean is Student's.

    Args:
        found: returns of the policies, ``[seeds, episodes]``.
        simple: those of the controller, ``[episodes]``.

    Returns:
        The median gain over seeds, the mean gain, that of each seed, and how many seeds are better over their episodes.
    """
    each = [student_interval(one - simple) for one in found]
    gains = np.array([gain for gain, _ in each])
    low, high = stats.quantile_test(gains, p=0.5).confidence_interval(0.95)
    mean, half = student_interval(gains)
    better = sum(gain - width > 0 for gain, width in each)
    return (
        f"{np.median(gains):+.1f}" + (f" [{low:+.1f}, {high:+.1f}]" if np.isfinite([low, high]).all() else ""),
        f"{mean:+.1f}" + (f" ± {half:.1f}" if len(each) > 1 else ""),
        ", ".join(f"{gain:+.1f}" for gain in gains),
        f"{better} of {len(each)}",
    )


def _means(rows: list[Row], task: Task, side: str) -> list[float]:
    """Returns the mean return of each seed."""
    return mean_returns(rows_of(rows, task.name, side))


def _median_and_worst(means: Sequence[float]) -> tuple[str, str]:
    return f"{np.median(means):,.1f} ({len(means)})", f"{min(means):,.1f}"


def _median_seconds(rows: Sequence[Row]) -> str:
    """Returns the median of the seconds of the trainings, as text."""
    return f"{np.median(numbers(rows, 'seconds')):.0f}"


def draw(path: pathlib.Path, tasks: Sequence[Task], rows: list[Row]) -> None:
    """Draws the return of evaluations over time steps, with a panel for each task and a line for each seed."""
    from matplotlib.figure import Figure

    columns = min(4, len(tasks))
    down = -(-len(tasks) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.9 * down), layout="constrained")
    panels = figure.subplots(down, columns, squeeze=False).reshape(-1)
    for axis in panels[len(tasks) :]:
        axis.set_visible(False)
    for axis, task in zip(panels, tasks, strict=False):
        for row in rows_of(rows, task.name, OURS):
            _draw_curve(axis, row)
        _levels(axis, _means(rows, task, PEER_LABEL))
        axis.set_title(task.name, fontsize=8)
        axis.locator_params(axis="x", nbins=4)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    figure.supxlabel("time steps", fontsize=9)
    figure.supylabel("return of evaluations", fontsize=9)
    figure.savefig(path, dpi=100)


def _levels(axis: Any, means: Sequence[float]) -> None:
    """Draws a line at each of the peer's returns."""
    for number, level in enumerate(means):
        label = {"label": f"{PEER_LABEL}, at the end"} if number == 0 else {}
        axis.axhline(level, color="#ee6677", ls="--", lw=0.8, alpha=0.7, **label)


def _draw_curve(axis: Any, row: Row) -> None:
    """Draws the returns of the evaluations of a training over its time steps."""
    curve = [float(value) for value in row["curve"].split()]
    steps = int(row["env steps"]) * np.arange(1, len(curve) + 1) / len(curve)
    axis.plot(steps, curve, color="#4477aa", alpha=0.6, lw=1)
