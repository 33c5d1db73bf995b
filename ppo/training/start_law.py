"""The start law, from whose knobs those that are evaluated may not be far: ``--start-law`` and ``--step-limit``."""

import pathlib

import numpy as np

from actors.job import Job
from actors.law_file import About, read_law, same_knobs
from actors.load import NAME as LAW
from actors.policy import Policy
from actors.snapshot import Snapshot
from actors.step_limit import StepLimit
from env.errors import UsageError
from ppo.algorithm.learner import policy_spec
from ppo.config import ResolvedConfig
from ppo.data.run_archive import problem_words, signature
from ppo.training.run_dir import START_LAW

CONSTANT = "constant"


def step_limit(config: ResolvedConfig, job: Job, run_dir: pathlib.Path | None) -> StepLimit | None:
    """Returns how far knobs may lie from those of the start law; None where there is no limit.

    Args:
        config: what is trained.
        job: the job of the run.
        run_dir: directory of the run, which holds its start law once it has begun; None for no directory.

    Raises:
        UsageError: there is no such law, it is damaged, or it is of another problem.
    """
    if config.step_limit is None or config.start_law is None:
        return None
    spec = policy_spec(config, job.description)
    if config.start_law == CONSTANT:
        return StepLimit.about(None, None, config.step_limit, spec)
    begun = run_dir is not None and (run_dir / "config.json").is_file()
    source, told = pathlib.Path(config.start_law), f"--start-law {config.start_law}"
    if begun and run_dir is not None:
        source, told = run_dir / START_LAW, f"RUN_DIR {run_dir}"
        if not source.is_file():
            raise UsageError(f"{told}: there is no {START_LAW} in it, about which it was begun; begin a new run")
    start, about = _read(source, told)
    _check_problem(start, about, job, config, told)
    return StepLimit.about(start, about.limit, config.step_limit, spec)


def _read(path: pathlib.Path, told: str) -> tuple[Snapshot, About]:
    file = path / LAW if path.is_dir() else path
    if not file.is_file():
        missing = f"there is no {LAW} in it" if path.is_dir() else "there is no such directory or file"
        raise UsageError(f"{told}: {missing}; give a run directory, a law's file, or {CONSTANT}")
    try:
        return read_law(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"{told}: {error}") from None


def _check_problem(start: Snapshot, about: About, job: Job, config: ResolvedConfig, told: str) -> None:
    """Checks that a law is of a job's problem."""
    ours = signature(job)
    if about.problem and dict(about.problem) != ours:
        differ = [key for key in {**ours, **about.problem} if about.problem.get(key) != ours.get(key)][:1]
        theirs, wanted = ({key: values.get(key) for key in differ} for values in (about.problem, ours))
        raise UsageError(f"{told}: is of another problem: {problem_words(theirs)}, and here {problem_words(wanted)}")
    with np.errstate(all="ignore"):
        if not np.isfinite(Policy(start).mode(np.zeros((1, start.spec.obs_dim)))).all():
            raise UsageError(f"{told}: what it gives is not finite")
    if about.actions is not None or not same_knobs(start.spec, policy_spec(config, job.description)):
        raise UsageError(f"{told}: is no law of such knobs and conditions as --env {config.env} has")
