"""``python -m ppo.evaluate RUN_DIR``: the regret of a run's law, condition by condition, beside the true optimum."""

import pathlib
from dataclasses import dataclass

import numpy as np
import tyro

from actors.law import Law
from env.errors import UsageError
from ppo.cli import parse_as, run_main
from ppo.regret import KINDS, Regret, constant_regret, measure
from ppo.run_dir import RunDir


@dataclass(frozen=True)
class Arguments:
    """Evaluates the law of a finished run: its regret over 201 conditions on a line, or 256 Sobol points."""

    run_dir: tyro.conf.Positional[pathlib.Path]
    """Directory of the run; gets evaluation.json, evaluation.csv and, with the extra plot, regret.png."""
    pictures: bool = True
    """Draw."""
    quiet: bool = False
    """Show nothing."""


def evaluate(run_dir: pathlib.Path, pictures: bool = True) -> dict[str, float]:
    """Measures the law in ``run_dir`` and writes ``evaluation.json``, ``evaluation.csv`` and ``regret.png``.

    Returns:
        What ``evaluation.json`` holds: mean, median, 95th percentile and worst regret, the same of the minimum, and
        ``constant_regret_median``, that of the best constant knobs.

    Raises:
        UsageError: there is no finished run of a tuning problem with a known optimum in ``run_dir``.
    """
    files = RunDir(run_dir)
    objective = files.config("RUN_DIR").problem().objective()
    if objective is None:
        raise UsageError(f"RUN_DIR {run_dir}: not a tuning problem, so there is no law to evaluate")
    if not (files.path / "law.npz").is_file():
        raise UsageError(f"RUN_DIR {run_dir}: not finished, there is no law.npz in it; go on with --resume {run_dir}")
    found = measure(objective, Law.load(files.path / "law.npz"))
    if found is None:
        raise UsageError(
            f"RUN_DIR {run_dir}: the optimum of {type(objective).__name__} is not known, so there is no regret; "
            f"give it a solve(c), solve_numerically(self, c) if f is cheap"
        )
    summary = found.summary() | {"constant_regret_median": constant_regret(objective)}
    files.write_json("evaluation.json", summary)
    _write_table(files.path / "evaluation.csv", found)
    from ppo.pictures import available, draw_regret

    if pictures and available():
        draw_regret(files.path / "regret.png", found)
    return summary


def _write_table(path: pathlib.Path, found: Regret) -> None:
    """One row a condition: conditions, knobs, best knobs, f and its minimum."""
    parts = {"condition": found.conditions, "knob": found.knobs, "best_knob": found.best_knobs}
    names = [f"{name}_{j}" for name, part in parts.items() for j in range(part.shape[1])]
    table = np.concatenate([*parts.values(), found.values[:, None], found.best_values[:, None]], axis=1)
    np.savetxt(path, table, "%.9g", ",", header=",".join([*names, "f", "minimum"]), comments="")


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, "python -m ppo.evaluate", argv)
    summary = evaluate(arguments.run_dir, arguments.pictures)
    if arguments.quiet:
        return
    print(f"{'':24}{'mean':>12}{'median':>12}{'95 %':>12}{'worst':>12}")
    for name, label in (("regret", "regret of the law"), ("minimum", "minimum of f")):
        print(f"{label:24}" + "".join(f"{summary[f'{name}_{kind}']:12.3g}" for kind in KINDS))
    constant = summary["constant_regret_median"]
    share = summary["regret_median"] / constant
    print(f"median regret of the best constant knobs: {constant:.3g}; the law's is {share:.2%} of it")


if __name__ == "__main__":
    run_main(main)
