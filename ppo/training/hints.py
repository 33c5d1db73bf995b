"""What an error says beside what happened: how to look at it."""

import contextlib
import pathlib
import shlex
from collections.abc import Iterator

from actors.job import TRAINING
from actors.pools.base import DriverError, NotFiniteSlotError
from ppo.config import Config
from ppo.data.files import how_to_go_on
from ppo.startup import command

OF_PROGRAM = "__main__:"
"""What a program or a notebook defines itself begins so; no command can call it."""


@contextlib.contextmanager
def hint_at_replay(
    run_dir: pathlib.Path, trained: Config | None = None, resumed: pathlib.Path | None = None
) -> Iterator[None]:
    """Adds to the error of a driver how to run the slot alone in which it happened, and how to go on, as last lines.

    Args:
        run_dir: directory of the run.
        trained: its configuration, if it is being trained; None where it is over, and does not go on.
        resumed: directory of what goes on; None for that of the run.
    """
    try:
        yield
    except (DriverError, NotFiniteSlotError) as error:
        if trained is not None and trained.env.startswith(OF_PROGRAM):
            keeps = 'Config(on_failure="infeasible") keeps such an evaluation as failed, and '
            error.add_note(f'{keeps if _may_keep(trained) else ""}train(config, "{run_dir}", resume=True) goes on')
            raise
        named = shlex.quote(str(run_dir))
        if (slot := error.slot) is not None:
            kind = "" if slot.kind in TRAINING else f" --kind {slot.kind.name.lower()}"
            where = f"--training-step {slot.step} --slot {slot.start}{kind}"
            error.add_note(f"run this slot alone with {command('replay')} {named} {where}")
        if trained is not None:
            keeps = (
                "; --on-failure infeasible beside it keeps such an evaluation as failed" if _may_keep(trained) else ""
            )
            error.add_note(f"once that is mended, {how_to_go_on(shlex.quote(str(resumed or run_dir)))}{keeps}")
        raise


def _may_keep(trained: Config) -> bool:
    """Returns whether a run could have kept an evaluation that failed, and did not."""
    return trained.on_failure == "stop" and trained.problem().family == "tuning"
