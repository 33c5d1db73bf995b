"""``python -m tests.simulation``: runs schedules, and replays and shrinks one that fails."""

import argparse
import dataclasses
import statistics
import sys
import time

from tests.simulation.run import SCENARIOS, simulate
from tests.simulation.scale import scale
from tests.simulation.schedule import Schedule, draw


def shrink(schedule: Schedule) -> Schedule:
    """Returns a schedule that fails too, with as little in it as can be found."""
    while (less := next((s for s in schedule.smaller() if simulate(s).problem), None)) is not None:
        schedule = less
    return schedule


def replay(seed: int) -> bool:
    """Replays a schedule, shrunk if it fails, and tells what happens; returns whether nothing is wrong."""
    schedule = draw(seed, len(SCENARIOS))
    if simulate(schedule).problem:
        schedule = shrink(schedule)
    outcome = simulate(schedule)
    print(dataclasses.replace(schedule, faults=()))
    for fault in schedule.faults:
        print(f"  {fault}")
    print("\n".join(outcome.trace))
    print(outcome.problem or "nothing is wrong")
    return not outcome.problem


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--seed", type=int, help="replay this one alone, and tell what happens")
    parser.add_argument("--drivers", type=int, help="run rounds of so many drivers instead, of one slot each")
    parser.add_argument("--rounds", type=int, default=5, help="how many of these")
    arguments = parser.parse_args()
    if arguments.drivers is not None:
        print(scaled := scale(arguments.drivers, arguments.rounds))
        return 0 if scaled.same else 1
    if arguments.seed is not None:
        return 0 if replay(arguments.seed) else 1
    started, outcomes, failing = time.process_time(), [], []
    for seed in range(arguments.first, arguments.first + arguments.schedules):
        outcomes.append(outcome := simulate(draw(seed, len(SCENARIOS))))
        if outcome.problem:
            failing.append(seed)
            print(f"seed {seed}: {outcome.problem}; replay it with python -m tests.simulation --seed {seed}")
        outcome.trace.clear()
    seconds = time.process_time() - started
    print(
        f"{len(outcomes):,} schedules, {3600 * len(outcomes) / seconds:,.0f} in an hour of one core; median "
        f"{statistics.median(o.faults for o in outcomes):g} faults and {statistics.median(o.steps for o in outcomes):g}"
        f" training steps; the learner ended in {sum(o.lives > 1 for o in outcomes):,}; {len(failing):,} failed"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
