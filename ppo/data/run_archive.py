"""The archive in a run directory: made for the run's job, and read only if it is the job's."""

import json
import pathlib

import numpy as np

from actors.job import Job
from env.errors import UsageError
from ppo.data.archive import NAME, Archive, Contents, Signature, new_archive, read_archive, reopen
from ppo.data.files import write_atomically
from ppo.data.rows import row_type


def signature(job: Job) -> Signature:
    """Returns what says whether two archives are of the same problem."""
    described, problem = job.description, job.problem
    sizes = {"observation": described.obs_dim, "action": described.action_dim}
    if problem.family == "tuning":
        sizes = {"knobs": described.action_dim, "conditions": described.obs_dim - described.action_dim}
    keywords = json.loads(json.dumps(dict(problem.env_kwargs)))  # as they come back from a header: lists for tuples
    return {"env": problem.env, "env_kwargs": keywords, **sizes}


def check_same_problem(contents: Contents, job: Job, name: str) -> None:
    """Checks that an archive is of a job's problem; ``name`` is what a message calls it.

    Raises:
        UsageError: it is of another problem.
    """
    ours = signature(job)
    differ = [key for key in ours if contents.signature.get(key) != ours[key]]
    if differ:
        differ = differ[:1] if differ[0] == "env" else differ
        theirs, wanted = ({key: values.get(key) for key in differ} for values in (contents.signature, ours))
        raise UsageError(f"{name}: its evaluations are of another problem: {_words(theirs)}, and here {_words(wanted)}")
    if contents.rows.dtype != row_type(job):
        raise UsageError(f"{name}: its rows have other fields than this version writes: {contents.rows.dtype.names}")


def read_of_run(run_dir: pathlib.Path, job: Job, name: str) -> Contents | None:
    """Reads the archive of a run; None where there is none.

    Raises:
        UsageError: it is damaged, or of another problem or version.
    """
    if not (run_dir / NAME).is_file():
        return None
    contents = read_archive(run_dir / NAME, name)
    check_same_problem(contents, job, name)
    return contents


def open_for_run(run_dir: pathlib.Path, job: Job, contents: Contents | None, reused: np.ndarray) -> Archive:
    """Opens the archive of a run to append to it.

    Args:
        run_dir: directory of the run.
        job: the job of the run.
        contents: what it holds already; None to make a new one, which begins with ``reused``.
        reused: rows made before, ``[n]``.

    Raises:
        UsageError: it cannot be written to.
    """
    path = run_dir / NAME
    if contents is not None:
        return reopen(path, contents)
    write_atomically(path, new_archive(signature(job), reused))
    return Archive(path)


def _words(values: Signature) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())
