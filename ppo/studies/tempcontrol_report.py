"""Tables and figure of the study of ``TempControl``."""

import math
import pathlib
from typing import Any

import numpy as np

from env.controllers import PID, Constant
from ppo.held_out import Actor, held_out_returns
from ppo.studies.furnace import LEVELS, MODELS, problem
from ppo.studies.race import PIDS
from ppo.studies.returns import returns_of, rows_of
from ppo.tables import Cells, machine, markdown

CONTROLLERS: dict[str, Actor] = {"u = 0": Constant(0.0), "u = 1": Constant(1.0), **PIDS}
LOSS = {"v1 low": 0.02 * 75, "v1 medium": 0.02 * 75 + 0.001 * 75**2, "v1 high": 0.02 * 75 + 0.001 * 75**2}
CONTROLLERS_OF: dict[str, dict[str, Actor]] = {
    name: CONTROLLERS | {"P with bias": PID(0.083, bias=loss / 12)} for name, loss in LOSS.items()
}  # the bias is the action that holds the set-point
SHOWN_CONTROLLERS = {"v0": ("u = 0", "u = 1"), "v1": ("u = 1", *PIDS, "P with bias")}
ARTICLE = {  # reward, its standard deviation, seconds, CPU percent of the parent process (Table 1 and section 4)
    "Base": ("-36,299", "920", "310.9", "36.7"),
    "Optuna": ("-35,823", "661", "282.4", "45.3"),
    "Parallel": ("-37,112", "899", "153.7", "5.3"),
    "Parallel + Optuna": ("-37,174", "907", "120.1", "21.7"),
}


def write_report(
    out: pathlib.Path, title: str, rows: dict[str, list[Cells]], searches: dict[str, dict[str, Any]]
) -> None:
    """Writes ``tempcontrol.md``, and ``tempcontrol.png`` once there is something to draw."""
    controllers = {name: simple_controllers(name) for name in LEVELS}
    parts = [title, search_table(searches)]
    if "returns" in rows:
        parts += [returns_table(rows["returns"], controllers), article_table(rows["returns"])]
    if "times" in rows:
        parts.append(times_table(rows["times"]))
    if "longer" in rows:
        parts.append(gain_table(rows["longer"], controllers))
    if "race" in rows:
        parts.append(race_table(rows["race"]))
    text = "\n".join([*parts, machine()])
    (out / "tempcontrol.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    if "returns" in rows:
        draw(out / "tempcontrol.png", rows["returns"], controllers)


def simple_controllers(name: str) -> dict[str, np.ndarray]:
    """Returns of the held-out episodes of the controllers shown beside a problem's models, by label."""
    plant, actors = problem(name, load=False).problem(), CONTROLLERS_OF.get(name, CONTROLLERS)
    return {label: held_out_returns(plant, actors[label]) for label in SHOWN_CONTROLLERS[name.split()[0]]}


def search_table(searches: dict[str, dict[str, Any]]) -> str:
    """What was searched, and found."""
    lines = []
    for version, found in searches.items():
        settings = [f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                    for name, value in found["settings"].items()]  # fmt: skip
        lines.append([version, str(found["trials"]), f"{found['seconds']:.0f}", ", ".join(settings)])
    return "## The searches, without the load\n\n" + markdown(["version", "trials", "s, summed", "found"], lines)


def returns_table(rows: list[Cells], controllers: dict[str, dict[str, np.ndarray]]) -> str:
    """Mean return over the same 100 held-out episodes: of models, over seeds; of controllers."""
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


def article_table(rows: list[Cells]) -> str:
    """The article's Table 1 beside ours on the published process."""
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


def times_table(rows: list[Cells]) -> str:
    """Training times with the load."""
    lines = []
    for row in rows:
        speed = int(row["env steps"]) / float(row["seconds"])
        lines.append(
            [row["problem"], row["variant"], row["seconds"], row["cpu percent"], row["gpu percent"], f"{speed:,.0f}"]
        )
    header = ["process", "model", "training s", "CPU %, all processes", "GPU %", "env steps a second"]
    return "## Times with the load, one seed, one run at a time\n\n" + markdown(header, lines)


def gain_table(rows: list[Cells], controllers: dict[str, dict[str, np.ndarray]]) -> str:
    """Paired gains over the simple controllers, episode by episode, with 95 % intervals."""
    lines = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        found = np.array([returns_of(row) for row in rows if row["problem"] == name])
        for label, simple in controllers[name].items():
            if label == "u = 1":
                continue
            mean, half = paired(found.mean(axis=0) - simple)
            each = [paired(one - simple) for one in found]
            better = sum(gain - width > 0 for gain, width in each)
            worst = min(gain for gain, _ in each)
            lines.append([name, label, f"{mean:+.1f} ± {half:.1f}", f"{worst:+.1f}", f"{better} of {len(each)}"])
    header = ["process", "over", "paired gain (mean of the seeds' policies, 95 %)", "worst seed", "seeds surely better"]
    return "## After 150,000 time steps: gain over simple controllers on the same episodes\n\n" + markdown(
        header, lines
    )


def paired(differences: np.ndarray) -> tuple[float, float]:
    """(Mean, half of its 95 % interval) by Student's t."""
    from scipy import stats

    n = len(differences)
    return float(differences.mean()), float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))


def race_table(rows: list[Cells]) -> str:
    """Seconds until the best PID is passed."""
    lines = []
    for model in dict.fromkeys(row["variant"] for row in rows):
        runs = [row for row in rows if row["variant"] == model]
        seconds = [f"{float(r['seconds']):.0f}" + ("" if r["passed"] == "True" else " (not passed)") for r in runs]
        lines.append(
            [model, ", ".join(seconds), ", ".join(r["env steps"] for r in runs), ", ".join(r["return"] for r in runs)]
        )
    header = ["model", "s, for each seed", "time steps", "mean return then"]
    text = markdown(header, lines)
    return f"## Until the mean return of 20 episodes passes the best PID's, {rows[0]['PID']} (v1 medium)\n\n{text}"


def draw(path: pathlib.Path, rows: list[Cells], controllers: dict[str, dict[str, np.ndarray]]) -> None:
    """Mean return of each model and seed, a panel for each process, with simple controllers as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 3.8), layout="constrained")
    for axis, (name, simple) in zip(figure.subplots(1, len(controllers)), controllers.items(), strict=True):
        for position, model in enumerate(MODELS):
            means = [-returns_of(row).mean() for row in rows_of(rows, name, model)]
            axis.plot([position] * len(means), means, "o", color="#4477aa", alpha=0.7)
        label = "P with bias" if "P with bias" in simple else "u = 1"
        axis.axhline(-simple[label].mean(), color="#228833", ls="--", lw=1, label=label)
        axis.set(title=name, yscale="log", xticks=range(len(MODELS)))
        axis.set_xticklabels(MODELS, rotation=30, ha="right", fontsize=8)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.axes[0].set_ylabel("minus the mean return (less is better)")
    figure.savefig(path, dpi=100)
