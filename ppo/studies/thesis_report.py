"""Tables and figures of the thesis's study, from the rows of its runs."""

import math
import pathlib
from collections.abc import Callable

import numpy as np

from ppo.experiments.tables import Row, grouped, machine, markdown, numbers
from ppo.studies.statistics import ratio, summarised
from ppo.studies.thesis_figures import draw_all

# Mean error of the last 1,000 training steps, and least error, as printed in the thesis's Tables 6.2 and 6.3: the best
# of three runs, after 5,000 training steps on Ackley and 10,000 on Rosenbrock.
THESIS = {
    ("ackley", "random"): ("0.6", "0.018"),
    ("ackley", "lhs"): ("0.4", "0.00081"),
    ("ackley", "uncertainty"): ("0.4", "0.04"),
    ("ackley", "heterogeneous"): ("0.6", "0.15"),
    ("rosenbrock", "random"): ("15.3", "3.0"),
    ("rosenbrock", "lhs"): ("16.1", "2.8"),
    ("rosenbrock", "uncertainty"): ("14.5", "1.1"),
    ("rosenbrock", "heterogeneous"): ("9.7", "1.4"),
}
# Environment, group, column, and the aims for the median over seeds and for the worst seed.
AIMS: list[tuple[str, str, str, float, float]] = [
    ("ackley", "samplers", "last mean", 1e-3, 1e-2),
    ("shifted-ackley", "samplers", "last mean", 3e-3, 3e-2),
    ("ackley", "samplers", "best", 1e-7, 1e-5),
    ("rosenbrock", "samplers", "last mean", 3e-4, 3e-3),
    ("rosenbrock", "samplers", "best", 1e-5, 1e-4),
    ("sphere", "samplers", "last mean", 1e-9, 1e-7),
    ("ackley", "samplers", "evaluations to target", 60_000, 150_000),
    ("rosenbrock", "samplers", "evaluations to target", 60_000, 150_000),
    ("rosenbrock", "ten", "share of constant", 1e-2, 5e-2),
    ("shifted-ackley", "ten", "share of constant", 1e-2, 5e-2),
]
SAMPLERS_WITH_AIMS = ("random", "lhs", "heterogeneous")


def write_report(out: pathlib.Path, rows: dict[str, list[Row]]) -> None:
    """Writes ``thesis.md`` and the figures of the groups in ``rows``."""
    writers: dict[str, Callable[[list[Row]], str]] = {
        "modes": modes_table,
        "failure": failure_table,
        "samplers": samplers_table,
        "budget": budget_table,
        "ten": ten_table,
    }
    parts = ["# The thesis's experiments\n", aims_table(rows)]
    parts += [writers[group](rows[group]) for group in writers if group in rows]
    if "samplers" in rows:
        parts.append(mix_table(rows["samplers"]))
        if "algorithms" in rows:
            parts.append(algorithms_table(rows["samplers"], rows["algorithms"]))
    text = "\n".join([*parts, machine()])
    (out / "thesis.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    draw_all(out, rows)


def aims_table(rows: dict[str, list[Row]]) -> str:
    """Returns each aim beside the measured values, for each sampler that has aims, as Markdown."""
    lines = []
    for env, group, column, median, worst in AIMS:
        for (found, sampler), runs in grouped(rows.get(group, [])).items():
            if found == env and sampler in SAMPLERS_WITH_AIMS:
                values = numbers(runs, column)
                got = float(np.median(values)), max(values)
                met = "yes" if got[0] <= median and got[1] <= worst else "no"
                cells = (f"{got[0]:.2g}", f"{median:.0e}", f"{got[1]:.2g}", f"{worst:.0e}", met)
                lines.append([f"{env}{', 5 of 10' if group == 'ten' else ''}: {column}", sampler, *cells])
    header = ["figure", "sampler", "median over seeds", "aim", "worst seed", "aim", "met"]
    return "## Aims\n\n" + markdown(header, lines)


def modes_table(rows: list[Row]) -> str:
    """Returns the digest of the law for each way of collecting, and whether laws and curves agree, as Markdown."""
    same = len({(row["policy sha256"], row["curve"]) for row in rows}) == 1
    lines = [[row["variant"], row["policy sha256"][:16], row["last mean"], row["seconds"]] for row in rows]
    verdict = "The same policy and the same curve, bit for bit." if same else "They differ."
    return (
        "## Ways to collect\n\n" + markdown(["collected", "policy sha256", "last 1,000", "s"], lines) + f"\n{verdict}\n"
    )


def failure_table(rows: list[Row]) -> str:
    """Returns the errors with the whole snapshot, and without its normaliser, as Markdown."""
    lines = [
        [env, variant, *summarised(numbers(runs, "last mean"))]
        for (env, variant), runs in sorted(grouped(rows).items())
    ]
    return "## The thesis's failure, re-enacted: error of the last 1,000 steps\n\n" + markdown(
        ["objective", "drivers were sent", "median", "inter-quartile mean", "worst"], lines
    )


def samplers_table(rows: list[Row]) -> str:
    """Returns this program's results beside the thesis's Tables 6.2 and 6.3 as Markdown."""
    lines = []
    for (env, sampler), runs in grouped(rows).items():
        first, variance, last, spread, best, target = (
            numbers(runs, name)
            for name in ("first mean", "first variance", "last mean", "last variance", "best", "evaluations to target")
        )
        theirs = THESIS.get((env, sampler), ("-", "-"))
        lines.append(
            [
                *(env, sampler, f"{np.median(first):.2g} ({np.median(variance):.2g})"),
                *(*summarised(last), f"{np.median(spread):.1g}", theirs[0]),
                *(f"{np.median(best):.1g}", f"{max(best):.1g}", theirs[1]),
                *(_count(float(np.median(target))), _count(max(target))),
            ]
        )
    header = [
        "objective",
        "sampler",
        "first 1,000: mean (variance)",
        "last 1,000: median",
        "inter-quartile mean",
        "worst",
    ]
    header += ["variance", "thesis", "best: median", "worst", "thesis", "evaluations to 0.01: median", "worst"]
    return "## Start samplers (error; medians over seeds)\n\n" + markdown(header, lines)


def _count(value: float) -> str:
    """Returns the text of a number of evaluations."""
    return "never" if math.isinf(value) else f"{value:,.0f}"


def ten_table(rows: list[Row]) -> str:
    """Returns the regrets in ten dimensions as Markdown."""
    lines = []
    for (env, sampler), runs in grouped(rows).items():
        shares = numbers(runs, "share of constant")
        lines.append([env, sampler, f"{np.median(numbers(runs, 'median regret')):.3g}", *summarised(shares)])
    header = [
        "objective",
        "sampler or budget",
        "median regret",
        "share of the best constant's: median",
        "inter-quartile mean",
        "worst",
    ]
    return "## 5 knobs under 5 conditions\n\n" + markdown(header, lines)


def budget_table(rows: list[Row]) -> str:
    """Returns the errors of laws of a budget, with a model of f and without, as Markdown."""
    lines = [[*key, *summarised(numbers(runs, "best"))] for key, runs in grouped(rows).items()]
    header = ["objective", "--evaluations 300000 and", "error: median", "inter-quartile mean", "worst"]
    return "## Laws of a budget\n\n" + markdown(header, lines)


def mix_table(rows: list[Row]) -> str:
    """Returns each sampler's error over that with random starts, paired by seed, as Markdown; below 1 is better."""
    groups, lines = grouped(rows), []
    for env in dict.fromkeys(row["env"] for row in rows):
        for other in ("lhs", "uncertainty", "heterogeneous"):
            if (env, other) in groups and (env, "random") in groups:
                cells = []
                for column in ("first mean", "last mean"):
                    centre, low, high = ratio(
                        numbers(groups[env, other], column), numbers(groups[env, "random"], column)
                    )
                    cells.append(f"{centre:.2g} [{low:.2g}, {high:.2g}]")
                lines.append([env, other, *cells])
    return "## Error as a multiple of that with random starts, same seeds\n\n" + markdown(
        ["objective", "sampler", "first 1,000 steps", "last 1,000 steps"], lines
    )


def algorithms_table(ppo: list[Row], reinforce: list[Row]) -> str:
    """Returns the errors of PPO and of REINFORCE with a value baseline, both with random starts, as Markdown."""
    groups = {key: runs for key, runs in grouped([*ppo, *reinforce]).items() if key[1] in ("random", "reinforce")}
    lines = []
    for (env, variant), runs in sorted(groups.items()):
        name = {"random": "PPO"}.get(variant, "REINFORCE with a value baseline")
        lines.append([env, name, *summarised(numbers(runs, "last mean")), f"{np.median(numbers(runs, 'best')):.1g}"])
    return "## PPO and REINFORCE, at as many evaluations: error of the last 1,000 steps\n\n" + markdown(
        ["objective", "algorithm", "median", "inter-quartile mean", "worst", "best: median"], lines
    )
