"""What a training has evaluated, as its archive holds it: for its pictures, and a sample for the file of its law."""

import numpy as np

from actors.job import TRAINING, Job
from actors.law_file import Tried
from env.errors import UsageError
from env.objectives.evaluation import kept
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import LATE, REUSED, accepted, constraints_of
from ppo.training.run_dir import RunDir

MOST_TRIED = 1000  # evaluations that the file of a law holds
LARGEST = 100_000_000  # bytes of an archive that is read for pictures, about two million evaluations


def training_rows(files: RunDir, keep_failures: bool = False) -> np.ndarray:
    """Returns the rows of the archive that a run learned from, the reused ones first.

    Args:
        files: directory of the run.
        keep_failures: whether it learned from failures too.

    Raises:
        UsageError: the archive cannot be read, or is damaged.
    """
    rows = accepted(read_archive(files.path / NAME, f"RUN_DIR {files.shown}").rows, keep_failures)
    return rows[np.isin(rows["kind"], [REUSED, LATE, *TRAINING])]


def evaluated(files: RunDir, job: Job) -> np.ndarray | None:
    """Returns what ``training_rows`` does at the end of a run; None outside tuning, or where the archive is very large.

    Pictures are not worth the end of a run: an archive that cannot be read any more gives None too.
    """
    if job.problem.family != "tuning":
        return None
    try:
        if (files.path / NAME).stat().st_size > LARGEST:
            return None
        return training_rows(files, job.keep_failures)
    except (OSError, UsageError):
        return None


def tried(rows: np.ndarray | None) -> Tried | None:
    """Returns a sample of evaluations for the file of a law, the same for the same rows; None of none.

    Args:
        rows: what ``evaluated`` returned.
    """
    if rows is None or not len(rows):
        return None
    if len(rows) > MOST_TRIED:  # drawn, since at equal distances only some slots or time steps of a round would come
        rows = rows[np.sort(np.random.default_rng(0).choice(len(rows), MOST_TRIED, replace=False))]
    f = kept(np.where(np.isfinite(rows["f"]), rows["f"], np.nan), constraints_of(rows))
    return Tried(np.clip(rows["x"], -1, 1), np.clip(rows["c"], -1, 1), f)
