"""``python -m tests.fuzz``: gives the readers of this project damaged input, and reports what they should not do.

A reader may accept its input, or refuse it with the exception that it documents. Any other exception, a gain in memory
of more than 512 MB and a case of more than ten seconds are failures, each with the command that repeats it.
"""

import contextlib
import dataclasses
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from tests.fuzz_damage import Case
from tests.fuzz_targets import TARGETS

Name = Literal[
    "all", "law", "law-in-units", "answers", "snapshot", "config", "command-line", "archive", "npz", "messages", "csv"
]
MOST_MEGABYTES, MOST_SECONDS = 512, 10


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Gives the readers damaged input, and reports any failure with the command that repeats it."""

    cases: int = 10_000
    """Number of cases, dealt out to the targets in turn."""
    seed: int = 0
    """Seed of the cases."""
    target: Name = "all"
    """What is read."""
    case: int | None = None
    """Run this case alone, and show its input and the traceback."""


@dataclasses.dataclass
class Report:
    """What came out.

    Attributes:
        counts: cases by target and outcome, ``accepted``, ``refused`` or ``failed``.
        failures: the command that repeats a case and what it did, one for each failure.
        megabytes: memory that the process gained over all cases.
        slowest: seconds of the slowest case.
    """

    counts: Counter = dataclasses.field(default_factory=Counter)
    failures: list[str] = dataclasses.field(default_factory=list)
    megabytes: float = 0.0
    slowest: float = 0.0


def fuzz(cases: int, seed: int, target: str = "all", first: int = 0) -> Report:
    """Runs cases ``first`` to ``first + cases - 1``."""
    report, names = Report(), list(TARGETS) if target == "all" else [target]
    with working_directory() as folder:
        start = peak_megabytes()
        for number in range(first, first + cases):
            name = names[number % len(names)]
            rng = np.random.default_rng([seed, number])
            case = Case(rng, folder)
            before, began = peak_megabytes(), time.perf_counter()
            outcome, told = outcome_of(name, case)
            seconds, gained = time.perf_counter() - began, peak_megabytes() - before
            if seconds > MOST_SECONDS or gained > MOST_MEGABYTES:
                outcome, told = "failed", f"took {seconds:.1f} s and {gained:.0f} MB"
            report.counts[name, outcome] += 1
            report.slowest = max(report.slowest, seconds)
            if outcome == "failed":
                command = f"python -m tests.fuzz --target {target} --seed {seed} --case {number}"
                report.failures.append(f"{command}: {name}: {told}")
        report.megabytes = peak_megabytes() - start
    return report


def outcome_of(name: str, case: Case) -> tuple[str, str]:
    """Runs a case, and returns its outcome and the exception that should not have been raised."""
    target = TARGETS[name]
    content = target.make(case)
    try:
        with np.errstate(all="ignore"):
            target.read(case, content)
    except target.documented:
        return "refused", ""
    except (Exception, SystemExit) as error:
        return "failed", f"{type(error).__name__}: {str(error)[:200]}"
    return "accepted", ""


def show(arguments: Arguments) -> None:
    """Runs one case and shows its input and what came of it."""
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    target = TARGETS[names[arguments.case % len(names)]]
    with working_directory() as folder:
        case = Case(np.random.default_rng([arguments.seed, arguments.case]), folder)
        content = target.make(case)
        print(f"{len(content)} long: {str(content)[:2000]}")
        try:
            target.read(case, content)
        except target.documented as error:
            print(f"refused: {type(error).__name__}: {error}")
        except (Exception, SystemExit):
            traceback.print_exc()
        else:
            print("accepted")


@contextlib.contextmanager
def working_directory() -> Iterator[Path]:
    """Makes an empty directory the current one, for as long as the context lasts."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield Path(folder)


def peak_megabytes() -> float:
    """Returns the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Runs the command; returns its exit code."""
    arguments = tyro.cli(Arguments)
    if arguments.case is not None:
        show(arguments)
        return 0
    began = time.perf_counter()
    report = fuzz(arguments.cases, arguments.seed, arguments.target)
    for name in TARGETS:
        counts = {outcome: report.counts[name, outcome] for outcome in ("accepted", "refused", "failed")}
        if sum(counts.values()):
            print(f"{name:14}" + "".join(f"{count:8,} {outcome}" for outcome, count in counts.items()))
    took = time.perf_counter() - began
    print(f"{took:.0f} s, slowest case {report.slowest:.2f} s, memory gained {report.megabytes:.0f} MB")
    print("\n".join(report.failures) or "no failures")
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
