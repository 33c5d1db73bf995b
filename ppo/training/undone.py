"""Takes back a run directory in which nothing happened before a mistake of the user's ended the run."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from actors.pools.base import DriverError
from env.errors import UsageError
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import REUSED
from ppo.training.run_dir import WRITTEN, RunDir

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

ON_REQUEST = ("profile*.txt", "events.out.tfevents.*")
"""Files that ``--profile`` and ``--track`` write."""


@contextlib.contextmanager
def undone_by_mistake(trainer: "Trainer", resume: bool) -> Iterator[None]:
    """Removes what a training wrote if the first of what it ran was a breach of contract, so that nothing was paid for.

    Args:
        trainer: the training, whose context lies within this one.
        resume: whether it goes on with a run.

    Raises:
        UsageError: it was; the text is that of the breach.
    """
    path = trainer.files.path
    absent = [one for one in (path, *path.parents) if not one.exists()]
    try:
        yield
    except DriverError as error:
        if not error.mistake or resume or trainer.learner.step or _paid(trainer.files):
            raise
        for file in [file for pattern in (*WRITTEN, *ON_REQUEST) for file in path.glob(pattern)]:
            file.unlink()
        with contextlib.suppress(OSError):  # something else is in one of them
            for one in absent:
                one.rmdir()
        raise UsageError(error.mistake) from error


def _paid(files: RunDir) -> bool:
    """Returns whether the archive of a run holds anything that the run itself evaluated."""
    if not (files.path / NAME).is_file():
        return False
    return bool((read_archive(files.path / NAME, str(files.shown)).rows["kind"] != REUSED).any())
