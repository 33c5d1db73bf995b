"""``compare.md`` and the figure of a comparison: regret over the number of evaluations, by method."""

import pathlib
from collections.abc import Sequence

import numpy as np

from ppo.evaluation.shares import Scale
from ppo.experiments.rivals.registry import METHODS
from ppo.experiments.tables import machine, markdown
from ppo.studies.comparison import FIRST_SEED, Result
from ppo.studies.comparison_advice import advice
from ppo.studies.statistics import summarised

HEADER = (
    *("method", "evaluations", "spent", "a query", "median (worst)", "inter-quartile mean, 95 %"),
    *("seconds to learn", "ms a query"),
)
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
MARKERS = "osD^v<>"
PACKAGES = ("scipy", "botorch", "cma")
DRAWN = (1e-16, 1e6)  # shares outside are drawn at these ends


def report(problem: str, results: Sequence[Result], scale: Scale, methods: Sequence[str], seeds: int) -> str:
    """Returns the text of ``compare.md``.

    Args:
        problem: the flags that name the problem.
        results: what the methods reach.
        scale: the optimum and the best constant knobs.
        methods: methods that were asked for.
        seeds: number of seeds.
    """
    legend = "\n".join(f"- `{method}`: {METHODS[method].what}" for method in methods)
    last = f" to {FIRST_SEED + seeds - 1}" if seeds > 1 else ""
    parts = [
        f"# {problem}",
        advice(results, scale.constant_is_best),
        f"Mean regret over 128 held-out conditions as a share of that of the best constant knobs: 0 is the optimum, 1 "
        f"no better than constant knobs. Mean of f: {scale.words()}. "
        f"Seeds {FIRST_SEED}{last}; interval: percentile bootstrap over seeds. "
        f"Seconds and milliseconds are of one thread and include f.",
        markdown(HEADER, map(_line, results)).rstrip(),
        legend,
        *_left_out(results, methods),
        machine(PACKAGES),
    ]
    return "\n\n".join(parts) + "\n"


def _line(result: Result) -> list[str]:
    median, mean, worst = summarised(result.shares)
    return [
        f"`{result.method}`",
        f"{result.evaluations:,}",
        f"{result.spent:,}",
        f"{result.asked:.3g}",
        f"{median} ({worst})",
        mean if len(result.shares) > 1 else "",
        f"{result.seconds:.2g}",
        f"{result.query_ms:.2g}",
    ]


def _left_out(results: Sequence[Result], methods: Sequence[str]) -> list[str]:
    """Returns a sentence for each method that some numbers of evaluations are too many for."""
    budgets = {result.evaluations for result in results}
    sentences = []
    for method in methods:
        most = METHODS[method].most
        done = {result.evaluations for result in results if result.method == method}
        if most is not None and (left := sorted(budgets - done)):
            counts = ", ".join(f"{count:,}" for count in left)
            sentences.append(f"`{method}` was not run with {counts} evaluations: it takes at most {most:,}.")
    return sentences


def draw(path: pathlib.Path, problem: str, results: Sequence[Result]) -> None:
    """Draws the shares over the evaluations: medians, and bars from the best to the worst seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.6), layout="constrained")
    axis = figure.subplots()
    present = [method for method in METHODS if any(result.method == method for result in results)]
    for i, method in enumerate(present):
        here = [result for result in results if result.method == method]
        place = list(METHODS).index(method)
        shares = [np.clip(result.shares, *DRAWN) for result in here]
        middle = np.array([np.median(one) for one in shares])
        ends = np.array([[m - one.min(), one.max() - m] for m, one in zip(middle, shares, strict=True)]).T
        asked = np.mean([result.asked for result in here])
        axis.errorbar(
            np.array([result.evaluations for result in here]) * 1.02 ** (i - (len(present) - 1) / 2),
            middle,
            ends,
            color=COLOURS[place],
            marker=MARKERS[place],
            ls="--" if asked else "-",
            label=f"{method} (and {asked:.3g} a query)" if asked else method,
            ms=5,
            lw=1.3,
            capsize=3,
            elinewidth=0.8,
        )
    axis.axhline(1, color="#000000", lw=0.8, ls=":")
    axis.text(0.99, 1, "best constant knobs", ha="right", va="bottom", fontsize=8, transform=axis.get_yaxis_transform())
    budgets = sorted({result.evaluations for result in results})
    axis.set(xscale="log", yscale="log", xlabel="evaluations of f", ylabel="share of the regret of constant knobs")
    axis.set_xticks(budgets, [f"{count:,}" for count in budgets])
    axis.set_xlim(budgets[0] / 1.25, budgets[-1] * 1.25)
    axis.set_ylim(10 ** np.floor(np.log10(axis.get_ylim()[0])))  # a whole decade, so that two values have a label
    axis.minorticks_off()
    axis.set_title(problem, fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.savefig(path, dpi=110)
