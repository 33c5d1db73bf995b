"""Tables and the figure of the study of ``TempControl``."""

import pathlib
from typing import Any

import numpy as np

from env.controllers import PID
from ppo.evaluation.held_out import Controller, held_out_returns
from ppo.experiments.tables import Row, grouped, machine, markdown, numbers
from ppo.studies.control_runs import returns_of, rows_of
from ppo.studies.tempcontrol_problems import MODELS, tempcontrol_config

# The article's reward, its standard deviation, seconds, and CPU percent of the parent process (Table 1, section 4).
ARTICLE = {
    "Base": ("-36,299", "920", "310.9", "36.7"),
    "Optuna": ("-35,823", "661", "282.4", "45.3"),
    "Parallel": ("-37,112", "899", "153.7", "5.3"),
    "Parallel + Optuna": ("-37,174", "907", "120.1", "21.7"),
}


def write_report(
    out: pathlib.Path,
    title: str,
    rows: dict[str, list[Row]],
    searches: dict[str, dict[str, Any]],
    simple: dict[str, dict[str, Controller]],
) -> None:
    """Writes ``tempcontrol.md``, and ``tempcontrol.png`` if the group ``returns`` is complete.

    Args:
        out: directory of the report.
        title: text before the tables.
        rows: rows of each complete group.
        searches: result of the search for each version.
        simple: controllers of each process, by label.
    """
    controllers = {
        name: {
            label: held_out_returns(tempcontrol_config(name, load=False).problem(), actor)
            for label, actor in some.items()
        }
        for name, some in simple.items()
    }
    parts = [title, search_table(searches), gains_table(simple)]
    if "returns" in rows:
        parts += [returns_table(rows["returns"], controllers), article_table(rows["returns"])]
    if "times" in rows:
        parts.append(times_table(rows["times"]))
    if "race" in rows:
        parts.append(race_table(rows["race"], searches))
    text = "\n".join([*parts, machine()])
    (out / "tempcontrol.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    if "returns" in rows:
        draw(out / "tempcontrol.png", rows["returns"], controllers)


def gains_table(simple: dict[str, dict[str, Controller]]) -> str:
    """Returns the gains of the PID controllers as Markdown."""
    pids = [(name, label, p) for name, some in simple.items() for label, p in some.items() if isinstance(p, PID)]
    lines = [
        [name, label, f"{p.gain:.3f}", f"{p.integral_time:.1f}", f"{p.derivative_time:.1f}", f"{p.bias:.3f}"]
        for name, label, p in pids
    ]
    return "## Controllers\n\n" + markdown(["process", "", "gain", "integral s", "derivative s", "bias"], lines)


def search_table(searches: dict[str, dict[str, Any]]) -> str:
    """Returns the results of the searches as Markdown."""
    lines = []
    for version, found in searches.items():
        settings = [f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                    for name, value in found["settings"].items()]  # fmt: skip
        lines.append([version, str(found["trials"]), f"{found['seconds']:.0f}", ", ".join(settings)])
    return "## The searches, without the load\n\n" + markdown(["version", "trials", "s, summed", "found"], lines)


def returns_table(rows: list[Row], controllers: dict[str, dict[str, np.ndarray]]) -> str:
    """Returns the mean returns over 100 held-out episodes, the same for controllers and models, as Markdown."""
    lines = []
    for name, simple in controllers.items():
        lines += [[name, label, f"{r.mean():,.0f}", f"{r.std(ddof=1):,.0f}", "-"] for label, r in simple.items()]
        for model in MODELS:
            found = [returns_of(row) for row in rows_of(rows, name, model)]
            means = [r.mean() for r in found]
            spread = np.mean([r.std(ddof=1) for r in found])
            seeds = f"{min(means):,.0f} to {max(means):,.0f}"
            lines.append([name, f"**{model}**", f"{np.median(means):,.0f}", f"{spread:,.0f}", seeds])
    same = all(
        [row["policy sha256"] for row in rows_of(rows, name, a)]
        == [row["policy sha256"] for row in rows_of(rows, name, b)]
        for name in controllers
        for a, b in (("Base", "Parallel"), ("Optuna", "Parallel + Optuna"))
    )
    verdict = "With driver processes, the policies are the same to the bit." if same else "Drivers changed a policy."
    header = ["process", "who", "return (median over seeds)", "sd over episodes", "seeds"]
    return f"## Return over 100 held-out episodes\n\n{markdown(header, lines)}\n{verdict}\n"


def article_table(rows: list[Row]) -> str:
    """Returns the article's Table 1, beside this program's returns on the published process, as Markdown."""
    lines = []
    for model in MODELS:
        theirs = ARTICLE.get(model, ("-", "-", "-", "-"))
        lines.append(
            [model, *theirs, f"{np.median([returns_of(row).mean() for row in rows_of(rows, 'v0', model)]):,.0f}"]
        )
    header = ["model", "article: reward", "sd", "s", "CPU %", "here: return on v0"]
    return (
        "## The article's table, v0\n\nIts set-point cannot be reached, and the article's rewards are those of doing "
        f"nothing, give or take.\n\n{markdown(header, lines)}"
    )


def times_table(rows: list[Row]) -> str:
    """Returns the training times with the load as Markdown."""
    lines = []
    for (name, model), runs in grouped(rows, "problem").items():
        seconds = numbers(runs, "seconds")
        speed = np.median(np.divide(numbers(runs, "env steps"), seconds))
        gpu = numbers([row for row in runs if row["gpu percent"] != "-"], "gpu percent")
        lines.append(
            [
                *(name, model, f"{np.median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}"),
                f"{np.median(numbers(runs, 'cpu percent')):.0f}",
                f"{np.median(gpu):.0f}" if gpu else "-",
                f"{speed:,.0f}",
            ]
        )
    header = ["process", "model", "training s", "seeds", "CPU %, all processes", "GPU %", "env steps a second"]
    title = "## Times with the load, one run at a time: medians over seeds"
    return f"{title}\n\n{markdown(header, lines)}"


def race_table(rows: list[Row], searches: dict[str, dict[str, Any]]) -> str:
    """Returns the seconds until the best PID is passed, and those of the search before, as Markdown."""
    lines = []
    for (_, model), runs in grouped(rows, "problem").items():
        seconds = [f"{float(r['seconds']):.0f}" + ("" if r["passed"] == "True" else " (not passed)") for r in runs]
        before = f"{searches['v1']['seconds']:.0f}" if "Optuna" in model else "-"
        steps, reached = (", ".join(row[column] for row in runs) for column in ("env steps", "return"))
        lines.append([model, ", ".join(seconds), steps, reached, before])
    header = ["model", "s, for each seed", "time steps", "mean return then", "s of trials before"]
    text = markdown(header, lines)
    return f"## Until the mean return of 20 episodes passes the best PID's, {rows[0]['PID']} (v1 medium)\n\n{text}"


def draw(path: pathlib.Path, rows: list[Row], controllers: dict[str, dict[str, np.ndarray]]) -> None:
    """Draws a panel for each process: the mean returns of all models and seeds, and that of the best controller."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 3.8), layout="constrained")
    for axis, (name, simple) in zip(figure.subplots(1, len(controllers)), controllers.items(), strict=True):
        for position, model in enumerate(MODELS):
            means = [-returns_of(row).mean() for row in rows_of(rows, name, model)]
            axis.plot([position] * len(means), means, "o", color="#4477aa", alpha=0.7)
        label = max(simple, key=lambda label: simple[label].mean())
        axis.axhline(-simple[label].mean(), color="#228833", ls="--", lw=1, label=label)
        axis.set(title=name, yscale="log", xticks=range(len(MODELS)))
        axis.set_xticklabels(MODELS, rotation=30, ha="right", fontsize=8)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.axes[0].set_ylabel("minus the mean return (less is better)")
    figure.savefig(path, dpi=100)
