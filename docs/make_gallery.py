"""Writes the pages of ``docs/gallery``: ``python docs/make_gallery.py``, which trains a law for each in minutes.

Each page shows a problem of ``env.gallery``, its best knobs, a law beside them, and what ``ppo.study gallery`` found.
"""

import csv
import importlib
import inspect
import pathlib
import tempfile
from types import ModuleType
from typing import Any

import numpy as np

from actors.law import Law
from actors.picture_axes import grid, places, value_text
from env.kinds import Choice, Coordinate
from env.objectives import Objective
from env.objectives.evaluation import timed_evaluation
from ppo.config import Config
from ppo.experiments.tables import markdown
from ppo.studies.gallery import POLISH, PROBLEMS, law_polished
from ppo.studies.runs import FIRST_SEED
from ppo.train import train

DOCS = pathlib.Path(__file__).parent
MEASURED = DOCS.parent / "runs" / "reference" / "gallery" / "gallery.csv"
DPI = 110
PLACES = (-0.8, 0.0, 0.8)  # of all conditions, at which best knobs are shown
SHOWN = ("median", "p95", "worst")


def pages() -> dict[str, list[str]]:
    """Returns the names of the problems of each module of the gallery; the first one has the picture."""
    found: dict[str, list[str]] = {}
    for name, (env, _) in PROBLEMS.items():
        found.setdefault(env.partition(":")[0], []).append(name)
    return found


def described(module: ModuleType, objective: Objective) -> str:
    """Returns the part of a page that follows from the code alone: the problem, and its knobs and conditions."""
    first, *others = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    title, _, rest = first.partition(": ")
    paragraphs = [f"# {title}", rest[:1].upper() + rest[1:], *others, inspect.cleandoc(objective.__doc__ or "")]
    text = "\n\n".join(paragraphs).replace("``", "`")
    parts = zip(("knob", "condition"), objective.coordinates, strict=True)
    rows = [[name, what, *_range(one)] for what, part in parts for name, one in part.items()]
    return f"{text}\n\n{markdown(['name', 'what', 'kind', 'range'], rows)}"


def _range(one: Coordinate) -> list[str]:
    """Returns kind and range of a coordinate, in words."""
    if isinstance(one, Choice):
        return ["choice", ", ".join(map(str, one.options))]
    kinds = {"range": "number", "log": "number, logarithmic", "integer": "whole number"}
    return [kinds[one.kind], f"{value_text(one, -1.0)} to {value_text(one, 1.0)}"]


def source(module: ModuleType) -> str:
    """Returns the source of a module as the end of a page."""
    return f"## Source\n\n```python\n{inspect.getsource(module).strip()}\n```\n"


def _table(objective: Objective, law: Law) -> str:
    """Returns best knobs and the law's, with their f, at a few conditions."""
    knobs, conditions = objective.coordinates
    header = [*conditions, *(f"best {name}" for name in knobs), *(f"law's {name}" for name in knobs)]
    rows = []
    for place in PLACES:
        c = np.full((1, len(conditions)), place)
        solved = objective.solve(c)
        assert solved is not None, "the best knobs are known"
        x = law(c)
        better = law_polished(objective, x[0], c[0])[None]
        f = [_value(objective, one, c) for one in (x, better)]
        cells = [value_text(one, z) for one, z in zip(conditions.values(), c[0], strict=True)]
        for found in (solved[0][0], x[0]):
            cells += [value_text(one, z) for one, z in zip(knobs.values(), found, strict=True)]
        rows.append([*cells, f"{solved[1][0]:.5g}", *f])
    return markdown([*header, "best f", "law's f", "polished f"], rows)


def _value(objective: Objective, x: np.ndarray, c: np.ndarray) -> str:
    """Returns f of knobs ``[1, knobs]``, and whether they break the constraint, in words."""
    found = timed_evaluation(objective, x, c, range(1))
    return f"{found.f[0]:.5g}{', breaks the constraint' if (found.g > 0).any() else ''}"


def _draw(objective: Objective, law: Law, path: pathlib.Path) -> None:
    """Draws the law's knobs over each condition, and dashed the best ones."""
    figure: Any = law.plot()
    knobs, conditions = (list(part.values()) for part in objective.coordinates)
    for j, condition in enumerate(conditions):
        z = grid(condition)
        along = np.zeros((len(z), len(conditions)))
        along[:, j] = z
        solved = objective.solve(along)
        assert solved is not None, "the best knobs are known"
        for i, knob in enumerate(knobs):
            best = places(knob, solved[0][:, i])
            figure.axes[i * len(conditions) + j].plot(places(condition, z), best, "k--", lw=1.0, zorder=4)
    figure.savefig(path, dpi=DPI)


def _measured(names: list[str]) -> str:
    """Returns what the study measured, as a table: medians of the seeds, and in brackets the worst seed."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    constrained = any(Config(env=PROBLEMS[name][0]).problem().describe().constraints for name in names)
    lines = []
    for name in names:
        own = [row for row in rows if row["problem"] == name]
        cells = [
            name,
            f"{int(own[0]['evaluations']):,}",
            *([f"{100 * np.median([float(row['kept']) for row in own]):.0f} %"] if constrained else []),
        ]
        for what in ("law", "polished"):
            for measure in SHOWN:
                values = [float(row[f"{what} {measure}"]) for row in own]
                cells.append(f"{np.median(values):.2g} ({max(values):.2g})")
        lines.append(cells)
    measures = [f"{what}: {one}" for what in ("law", "polished") for one in SHOWN]
    return markdown(
        ["problem", "evaluations", *(["the law keeps constraints"] if constrained else []), *measures], lines
    )


def page(module_name: str, names: list[str]) -> str:
    """Trains the law of a page, draws it, and returns the text."""
    module, (env, evaluations) = importlib.import_module(module_name), PROBLEMS[names[0]]
    config = Config(env=env, evaluations=evaluations, drivers=0, seed=FIRST_SEED)
    objective = config.problem().objective()
    assert objective is not None, "a tuning problem"
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "run"
        train(config, path, quiet=True, pictures=False)
        law = Law.load(path / "law.npz")
    name = module_name.rpartition(".")[2]
    _draw(objective, law, DOCS / "gallery" / f"{name}.png")
    words = "its image in dB" if name == "iq_modulator" else "the excess of f over its least value in percent"
    return "\n".join(
        [
            described(module, objective),
            f"## A law\n\n    tuninglaw train --env {env} --evaluations {evaluations} --seed {FIRST_SEED}\n",
            f"![Knobs over each condition: the law's, and dashed the best ones]({name}.png)\n",
            f"Dashed: the best knobs. Beside them the law, and after a polish of {POLISH} evaluations:\n",
            _table(objective, law),
            f"## Measured\n\nOver 256 held-out conditions, {words}; medians of the seeds, and in brackets the worst",
            "(`python -m ppo.study gallery --seeds 5`):\n",
            _measured(names),
            source(module),
        ]
    )


if __name__ == "__main__":
    for module_name, names in pages().items():
        target = DOCS / "gallery" / f"{module_name.rpartition('.')[2]}.md"
        target.write_text(page(module_name, names), encoding="utf-8")
        print(target)
