"""Figures of the thesis's study: learning curves with bands over seeds, like the thesis's figures 6.3 to 6.6."""

import pathlib

import numpy as np

from ppo.evaluation.plots import matplotlib_installed
from ppo.experiments.tables import Row

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377")


def draw_all(out: pathlib.Path, rows: dict[str, list[Row]]) -> None:
    """Draws the figures of the groups in ``rows`` into the directory ``out``; without matplotlib, none."""
    if not matplotlib_installed():
        return
    for group in ("samplers", "failure", "ten"):
        if group in rows:
            draw_curves(out / f"{group}.png", rows[group])
    if "algorithms" in rows and "samplers" in rows:
        ours = [row | {"variant": "PPO"} for row in rows["samplers"] if row["variant"] == "random"]
        draw_curves(out / "algorithms.png", ours + rows["algorithms"])


def draw_curves(path: pathlib.Path, rows: list[Row]) -> None:
    """Draws the error over the training: a panel for each objective, with median and quartiles over seeds."""
    from matplotlib.figure import Figure

    envs = list(dict.fromkeys(row["env"] for row in rows))
    figure = Figure(figsize=(4.2 * len(envs), 3.6), layout="constrained")
    axes = figure.subplots(1, len(envs), squeeze=False)[0]
    for axis, env in zip(axes, envs, strict=True):
        here = [row for row in rows if row["env"] == env]
        for colour, variant in zip(COLOURS, dict.fromkeys(row["variant"] for row in here), strict=False):
            runs = [row for row in here if row["variant"] == variant]
            curves = np.array([[float(value) for value in row["curve"].split()] for row in runs])
            low, middle, high = np.percentile(curves, (25, 50, 75), axis=0)
            share = 100 * np.arange(1, curves.shape[1] + 1) / curves.shape[1]
            axis.plot(share, middle, color=colour, label=variant, lw=1.3)
            axis.fill_between(share, low, high, color=colour, alpha=0.2, lw=0)
        axis.set(title=f"{env} ({here[0]['metric']})", yscale="log", xlabel="percent of the training")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("error")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=100)
