"""``python -m ppo.replay RUN_DIR --training-step T --slot I``: runs one slot of a run alone, and says what happened.

The slot is run in this process, by the policy that acted in it and on the real environment; nothing is written.
"""

import pathlib
import pdb
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import tyro

from actors.job import SAMPLED, Kind
from env.coordinates import Coordinates
from ppo.config.command_line import parse_as, run_main
from ppo.startup import command
from ppo.training.run_dir import RunDir

if TYPE_CHECKING:
    from ppo.training.one_slot import SlotOfRun, SlotRun

KindName = Literal["design", "plan", "collect", "pair", "evaluate", "check", "check_constant", "check_mean"]
SHOWN = 12  # values of an observation or an action that are shown


@dataclass(frozen=True)
class Arguments:
    """Runs one slot of a run again, alone and in this process, by the policy that acted in it, and says whether it gave
    what the archive holds. A slot of a tuning problem pays its evaluations of f again, and they are not recorded."""

    run_dir: tyro.conf.Positional[pathlib.Path]
    """Directory of the run, which may be over, under way, or have failed; nothing is written to it."""
    training_step: int
    """Training step of the slot, from 0 on; of a slot that evaluates or checks a law, the steps done before."""
    slot: int
    """Number of the slot, from 0 on."""
    kind: KindName | None = None
    """What the slot is run for, as the archive names it (None: what the training step learns from)."""
    debugger: bool = False
    """Open the debugger pdb where the slot raises an exception, one that the run keeps as a failure of f among them.
    breakpoint() in f opens it with and without."""
    from_start: bool = False
    """Run the training steps before it again, from the checkpoint or from the start, where their policy is not known
    else: outside tuning, for a slot of another training step than the checkpoint's."""


def main(argv: list[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, command("replay"), argv)
    files = RunDir(arguments.run_dir)
    files.config("RUN_DIR")
    from ppo.training.one_slot import SlotOfRun  # torch comes with it

    kind = None if arguments.kind is None else Kind[arguments.kind.upper()]
    slot = SlotOfRun(files, arguments.training_step, arguments.slot, kind, arguments.from_start)
    print(f"slot {slot.task.start} of training step {slot.task.step} ({slot.task.kind.name.lower()})")
    for line in before(slot):
        print(line, flush=True)  # f may end this process
    for line in describe(slot, _run(slot, arguments.debugger)):
        print(line)


def _run(slot: "SlotOfRun", debugger: bool) -> "SlotRun":
    """Runs the slot; opens the debugger, if that is asked for, where an exception was raised, also one that is kept."""
    try:
        run = slot.run()
    except Exception as error:
        if not debugger:
            raise
        _debug(error)
        sys.exit(1)
    if debugger and run.error:
        _debug(run.error)
    return run


def _debug(error: BaseException) -> None:
    traceback.print_exception(error)
    pdb.post_mortem(error.__traceback__)


def before(slot: "SlotOfRun") -> Iterator[str]:
    """Yields what is known of a slot of a tuning problem before f is asked: the start, and what f is asked for."""
    if slot.tuning:
        trajectory, rows = slot.without_f()
        yield f"start {_numbers(trajectory.obs[0, 0])}"
        for row in rows:
            units = f", which is {_in_units(slot.named, row)}" if slot.named else ""
            yield f"time step {row['time_step']}: f is asked for x {_numbers(row['x'])}, c {_numbers(row['c'])}{units}"


def describe(slot: "SlotOfRun", run: "SlotRun") -> Iterator[str]:
    """Yields what a slot did, in words: a line for each time step, and whether the archive has the same."""
    trajectory, sampled, tuning = run.trajectory, slot.task.kind in SAMPLED, slot.tuning
    if not tuning:
        yield f"start {_numbers(trajectory.obs[0, 0])}"
    elif run.rows["time_step"][0] == 0:
        yield f"time step 0: f {_numbers(run.rows['f'][0])}"
    for t, row in enumerate(run.rows[-trajectory.rewards.shape[1] :]):
        logprob = f", log-probability {_numbers(trajectory.logprobs[0, t])}" if sampled else ""
        ends = [] if tuning else [name for name in ("terminated", "truncated") if row[name]]
        gave = f"f {_numbers(row['f'])}" if tuning else f"reward {_numbers(row['reward'])}"
        action = _numbers(trajectory.actions[0, t])
        yield f"time step {row['time_step']}: action {action}{logprob}, {', '.join([gave, *ends])}"
    if run.failure:
        yield f"an evaluation of f failed ({run.failure})"
    if not len(run.recorded):
        yield "the archive does not hold this slot"
    elif other := run.other_bits:
        yield f"other bits than in the archive: {', '.join(other)}"
    else:
        yield "the same bits as in the archive"


def _in_units(named: tuple[Coordinates, Coordinates], row: np.void) -> str:
    """Returns knobs and conditions by name and in units, to the last bit, as a function is called with them."""
    parts = [part.in_units(row[field]) for part, field in zip(named, "xc", strict=True)]
    values = {name: np.asarray(value).item() for part in parts for name, value in part.items()}
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _numbers(values: Any) -> str:
    """Returns numbers in words, to the last bit; of many, the first and the last ones."""
    array = np.asarray(values)
    return repr(array.tolist()) if array.size <= SHOWN else np.array2string(array, threshold=SHOWN, floatmode="unique")


if __name__ == "__main__":
    run_main(main)
