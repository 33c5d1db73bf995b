"""Takes back a run directory in which nothing happened before a mistake of the user's ended the run."""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from actors.pools.base import DriverError
from env.errors import UsageError
from ppo.data.archive import NAME, read_archive
from ppo.data.files import missing_directories, remove_empty
from ppo.data.rows import REUSED
from ppo.training.run_dir import WRITTEN, RunDir

if TYPE_CHECKING:
    from ppo.training.trainer import Trainer

ON_REQUEST = ("profile*.txt", "events.out.tfevents.*")
"""Files that ``--profile`` and ``--track`` write."""


@contextlib.contextmanager
def undone_by_mistake(
    trainers: "Sequence[Trainer]", resume: bool, lists: Sequence[pathlib.Path] | None = None
) -> Iterator[None]:
    """Removes what a training wrote if the first of what it ran was a breach of contract, so that nothing was paid for.

    Of several seeds it is also removed where not all of them could be begun. What another process has made in the same
    place at the same time is left alone.

    Args:
        trainers: the training, whose context lies within this one, or those of several seeds.
        resume: whether it goes on with a run.
        lists: the file that lists several seeds, once this process has written it; None for a single run.

    Raises:
        UsageError: it was; the text is that of the breach.
    """
    absent = missing_directories(trainer.files.path for trainer in trainers)
    try:
        yield
    except (DriverError, UsageError, OSError) as error:
        cut = lists is not None and not all(hasattr(one, "rounds") for one in trainers)
        mistake = cut or bool(getattr(error, "mistake", ""))
        ours = [one.files for one in trainers if one.files.made]
        if not mistake or resume or any(one.learner.step for one in trainers) or any(map(_paid, ours)):
            raise
        made = [file for one in ours for pattern in (*WRITTEN, *ON_REQUEST) for file in one.path.glob(pattern)]
        for file in [*made, *(lists or ())]:
            file.unlink(missing_ok=True)
        remove_empty(absent)
        if isinstance(error, DriverError):
            raise UsageError(error.mistake) from error
        raise


def _paid(files: RunDir) -> bool:
    """Returns whether the archive of a run holds anything that the run itself evaluated."""
    if not (files.path / NAME).is_file():
        return False
    return bool((read_archive(files.path / NAME, str(files.shown)).rows["kind"] != REUSED).any())
