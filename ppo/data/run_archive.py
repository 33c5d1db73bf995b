"""The archive in a run directory: made for the run's job, and read only if it is the job's."""

import json
import pathlib

import numpy as np

from actors.job import Job
from env.coordinates import Coordinates
from env.errors import UsageError
from ppo.data.archive import NAME, Archive, Contents, Signature, new_archive, read_archive, reopen
from ppo.data.files import write_atomically
from ppo.data.rows import row_type


def signature(job: Job) -> Signature:
    """Returns what says whether two archives are of the same problem."""
    described, problem = job.description, job.problem
    sizes: Signature = {"observation": described.obs_dim, "action": described.action_dim}
    if described.coordinates is not None:
        sizes = {"knobs": described.action_dim, "conditions": described.obs_dim - described.action_dim}
        if described.named is not None:  # with other ranges the same row is of other knobs
            sizes["coordinates"] = [part.as_json() for part in described.named]
        if described.constraints:
            sizes["constraints"] = described.constraints
    keywords = json.loads(json.dumps(dict(problem.env_kwargs)))  # as they come back from a header: lists for tuples
    return {"env": problem.env, "env_kwargs": keywords, **sizes}


def check_same_problem(contents: Contents, job: Job, name: str, hint: str = "") -> None:
    """Checks that an archive is of a job's problem; ``name`` is what a message calls it.

    The message ends in ``hint`` where they differ by the name of the environment alone, and so may be the same f.

    Raises:
        UsageError: it is of another problem.
    """
    ours = signature(job)
    differ = [key for key in {**ours, **contents.signature} if contents.signature.get(key) != ours.get(key)]
    if differ:
        differ = differ[:1] if differ[0] == "env" else differ
        theirs, wanted = ({key: values.get(key) for key in differ} for values in (contents.signature, ours))
        words = f"{problem_words(theirs)}, and here {problem_words(wanted)}"
        raise UsageError(f"{name}: its evaluations are of another problem: {words}{hint if differ == ['env'] else ''}")
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


def coordinates_of(values: Signature) -> tuple[Coordinates, Coordinates] | None:
    """Returns the knobs and conditions that a signature names; None where they are in [-1, 1] and have no names.

    Raises:
        ValueError: it describes none.
    """
    if (content := values.get("coordinates")) is None:
        return None
    if not isinstance(content, list) or len(content) != 2:
        raise ValueError("coordinates that are no knobs and conditions")
    return Coordinates.from_json(content[0], "knobs"), Coordinates.from_json(content[1], "conditions")


def problem_words(values: Signature) -> str:
    """Returns a signature, or a part of it, in words."""
    parts = []
    for key, value in values.items():
        if key == "coordinates" and value is not None:
            named = [f"{name} {one}" for part in coordinates_of(values) or () for name, one in part.items()]
            parts.append(", ".join(named))
        else:
            parts.append(f"{key} {value}")
    return ", ".join(parts)
