"""Times of a training step for several numbers of drivers (the thesis's section 6.1)."""

import dataclasses
import pathlib

from tqdm import tqdm

from ppo.experiments.tables import Table, machine
from ppo.studies.runs import Options
from ppo.training.plots import COLOURS

TAKES, GROUPS = (), ()
COSTS_MS = (0.0, 1.0, 20.0)
DRIVERS = (0, 1, 2, 4, 8, 16, 32, 64)
COLUMNS = ("run", "cost ms", "drivers", "collect ms", "train ms", "broadcast ms", "rho", "rho*")


def run(options: Options) -> None:
    """Measures the rows that are missing, and writes the table and the figure."""
    table = Table(options.out / "scaling.csv", COLUMNS)
    cases = [(cost, drivers) for cost in COSTS_MS for drivers in DRIVERS]
    for cost, drivers in tqdm(cases, unit="case"):
        key = f"{cost:g} ms, {drivers} drivers"
        if table.has(key):
            continue
        collect, train, broadcast = medians_ms(cost, drivers)
        alone = next((float(r["collect ms"]) for r in table.rows if r["run"] == f"{cost:g} ms, 1 drivers"), collect)
        rho, rho_star = (alone / collect, alone / (collect + broadcast)) if drivers else ("-", "-")
        shown = [f"{x:.3f}" if isinstance(x, float) else x for x in (collect, train, broadcast, rho, rho_star)]
        table.add(key, f"{cost:g}", drivers, *shown)
    (options.out / "scaling.md").write_text(f"{table.markdown()}\nMedians. {machine()}\n", encoding="utf-8")
    draw(options.out / "scaling.png", table)
    print(table.markdown())


def medians_ms(cost_ms: float, drivers: int) -> tuple[float, float, float]:
    """Measures the median milliseconds of collect, train and broadcast in a training step."""
    from ppo.experiments.workloads import STANDARD, step_ms, training  # imported here, since it imports torch

    config = dataclasses.replace(STANDARD, drivers=drivers, evaluation_cost_ms=cost_ms)
    expected_ms = 64 * 3 * cost_ms / max(drivers, 1) + 5
    with training(config) as trainer:
        step_ms(trainer, 2)  # in the first training steps, the pool measures what a slot costs
        trainer.timing.reset_medians()
        step_ms(trainer, max(3, min(200, round(8000 / expected_ms))))
        medians = trainer.timing.medians()
    return 1000 * medians["collect"], 1000 * medians["train"], 1000 * medians["broadcast"]


def draw(path: pathlib.Path, table: Table) -> None:
    """Draws the parts of a training step and rho* over the number of drivers, with a column for each cost."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, len(COSTS_MS))
    for column, cost in enumerate(COSTS_MS):
        rows = [row for row in table.rows if row["cost ms"] == f"{cost:g}"]
        names, bottom = [row["drivers"] for row in rows], [0.0] * len(rows)
        for phase in ("collect", "train", "broadcast"):
            heights = [float(row[f"{phase} ms"]) for row in rows]
            axes[0, column].bar(names, heights, bottom=bottom, color=COLOURS[phase], label=phase)
            bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
        axes[0, column].set(
            title=f"{cost:g} ms an evaluation", xlabel="drivers (0: in this process)", ylabel="ms a step"
        )
        with_drivers = [row for row in rows if row["drivers"] != "0"]
        k = [int(row["drivers"]) for row in with_drivers]
        axes[1, column].plot(k, k, color="#aaaaaa", ls="--", label="drivers")
        axes[1, column].plot(k, [float(row["rho*"]) for row in with_drivers], "o-", color="#4477aa", label="rho*")
        axes[1, column].set(xscale="log", yscale="log", xlabel="drivers", xticks=k, xticklabels=k)
        axes[1, column].minorticks_off()
    axes[0, -1].legend()
    axes[1, 0].legend()
    figure.savefig(path, dpi=110)
