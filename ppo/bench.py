"""``python -m ppo.bench``: measures this program and Stable-Baselines3 on the same work."""

import pathlib
import subprocess
import sys
from dataclasses import dataclass

from tqdm import tqdm

from env.errors import UsageError, nearest
from ppo.config.command_line import parse_as, run_main
from ppo.experiments import benchmarks
from ppo.experiments.benchmarks import FIGURES
from ppo.experiments.tables import Table, machine
from ppo.startup import command

COLUMNS = ("figure", "this program", "peer", "measured", "target")


@dataclass(frozen=True)
class Arguments:
    """Measures this program beside Stable-Baselines3 (the extra bench), in some 15 minutes; a later call continues."""

    out: pathlib.Path = pathlib.Path("runs/reference/bench")
    """Directory of the results."""
    figure: str | None = None
    """Name of the only row to measure."""


def main(argv: list[str]) -> None:
    """Runs the command, with each figure in a process of its own, so that none profits from the work of another."""
    arguments = parse_as(Arguments, command("bench"), argv)
    if arguments.figure is not None and arguments.figure not in FIGURES:
        raise UsageError(f"--figure {arguments.figure}: unknown{nearest(arguments.figure, FIGURES)}")
    table = Table(arguments.out / "bench.csv", COLUMNS)
    if arguments.figure is not None:
        values = FIGURES[arguments.figure]()
        table.add(arguments.figure, *values)
        print(f"{arguments.figure}: {', '.join(values)}")
        return
    for name in tqdm(FIGURES, unit="figure"):
        if not table.has(name):
            words = [sys.executable, "-m", "ppo.bench", "--out", str(arguments.out), f"--figure={name}"]
            if (code := subprocess.run(words).returncode) != 0:
                sys.exit(code)
            table = Table(table.path, COLUMNS)
    text = f"{table.markdown()}\n{benchmarks.__doc__}\n{machine()}\n"
    (arguments.out / "bench.md").write_text(text, encoding="utf-8")
    print(table.markdown())


if __name__ == "__main__":
    run_main(main)
