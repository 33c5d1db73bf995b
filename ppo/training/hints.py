"""What an error says beside what happened: how to look at it."""

import contextlib
import pathlib
import shlex
from collections.abc import Iterator

from actors.job import TRAINING
from actors.pools.base import DriverError


@contextlib.contextmanager
def hint_at_replay(run_dir: pathlib.Path) -> Iterator[None]:
    """Adds to the error of a driver how to run the slot alone in which it happened, as the last line of its output."""
    try:
        yield
    except DriverError as error:
        if (slot := error.slot) is not None:
            kind = "" if slot.kind in TRAINING else f" --kind {slot.kind.name.lower()}"
            where = f"--training-step {slot.step} --slot {slot.start}{kind}"
            error.add_note(f"run this slot alone with python -m ppo.replay {shlex.quote(str(run_dir))} {where}")
        raise
