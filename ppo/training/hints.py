"""What an error says beside what happened: how to look at it."""

import contextlib
import pathlib
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from actors.job import TRAINING
from actors.pools.base import DriverError, NotFiniteSlotError
from ppo.config import Config
from ppo.data.files import how_to_go_on
from ppo.startup import command

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

OF_PROGRAM = "__main__:"
"""What a program or a notebook defines itself begins so; no command can call it."""


@contextlib.contextmanager
def hint_at_replay(
    run_dir: pathlib.Path, trained: Config | None = None, beside: "Sequence[Trainer]" = ()
) -> Iterator[None]:
    """Adds to the error of a driver how to run the slot alone in which it happened, and how to go on, as last lines.

    Args:
        run_dir: directory of the run.
        trained: its configuration, if it is being trained; None where it is over, and does not go on.
        beside: the trainings of all seeds that are side by side, this one among them; none where it is alone.
    """
    resumed = run_dir.parent if beside else run_dir
    try:
        yield
    except (DriverError, NotFiniteSlotError) as error:
        if trained is not None and trained.env.startswith(OF_PROGRAM):
            keeps = 'Config(on_failure="infeasible") keeps such an evaluation as failed, and '
            how = f'train(config, "{resumed}", resume=True)'
            if beside:
                seeds = [trainer.config.seed for trainer in beside]
                how = f'train_seeds(config, {seeds}, "{resumed}", resume=True)'
            error.add_note(f"{keeps if _may_keep(trained) else ''}{how} goes on")
            raise
        if (slot := error.slot) is not None:
            kind = "" if slot.kind in TRAINING else f" --kind {slot.kind.name.lower()}"
            where = f"--training-step {slot.step} --slot {slot.start}{kind}"
            error.add_note(f"run this slot alone with {command('replay')} {shlex.quote(str(run_dir))} {where}")
        if trained is not None:
            keeps = (
                "; --on-failure infeasible beside it keeps such an evaluation as failed" if _may_keep(trained) else ""
            )
            error.add_note(f"once that is mended, {how_to_go_on(shlex.quote(str(resumed)))}{keeps}")
        raise


def _may_keep(trained: Config) -> bool:
    """Returns whether a run could have kept an evaluation that failed, and did not."""
    return trained.on_failure == "stop" and trained.problem().family == "tuning"
