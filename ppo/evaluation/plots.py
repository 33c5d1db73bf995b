"""Draws regrets with matplotlib (the extra ``plot``)."""

import importlib.util
import pathlib

import numpy as np

from ppo.evaluation.regret import Regret

TINY = 1e-16  # regrets below it are drawn as if they were equal to it


def matplotlib_installed() -> bool:
    """Returns whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_regret(path: pathlib.Path, found: Regret) -> None:
    """Draws regret over the condition, or over the share of conditions, and the law's knobs over the best ones."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    regret = np.maximum(found.regret, TINY)
    if found.conditions.shape[1] == 1:
        axes[0].plot(found.conditions[:, 0], regret, color="#4477aa")
        axes[0].set(xlabel="condition c")
    else:
        axes[0].plot(np.linspace(0, 100, len(regret)), np.sort(regret), color="#4477aa")
        axes[0].set(xlabel="percent of the conditions")
    axes[0].set(yscale="log", ylabel="regret", title="regret: f under the law minus its minimum")
    colours = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
    axes[1].plot([-1, 1], [-1, 1], color="#aaaaaa", lw=1)
    for j in range(found.knobs.shape[1]):
        axes[1].plot(found.best_knobs[:, j], found.knobs[:, j], ".", ms=4, color=colours[j % 6], label=f"knob {j}")
    axes[1].set(xlabel="best knob", ylabel="the law's", title="knobs, one point a condition")
    if found.knobs.shape[1] > 1:
        axes[1].legend(fontsize=8)
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
