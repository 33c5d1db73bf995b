"""What the drivers of a training run are asked to run."""

import dataclasses
import pathlib

import numpy as np
from gymnasium import spaces

from actors.job import Job
from actors.pools.base import Pool
from actors.pools.factory import make_pool
from env.description import Description
from ppo.config import ResolvedConfig
from ppo.config.budget import MOST_SLOTS, planned_rounds
from ppo.config.resolved import starts_are_evaluated
from ppo.evaluation.check import check_starts, rounds_of
from ppo.training.start_law import step_limit


def make_job(
    config: ResolvedConfig,
    eval_starts: np.ndarray | None,
    profile: str | None = None,
    run_dir: pathlib.Path | None = None,
) -> Job:
    """Makes the job of a training run.

    Args:
        config: what to train.
        eval_starts: states at which a law is evaluated, ``[m, dims]``; None outside tuning.
        profile: directory that driver processes write their profiles to; None for no profiles.
        run_dir: directory of the run, which holds its start law once it has begun.

    Raises:
        UsageError: the start law cannot be used.
    """
    problem = config.problem()
    length = 1 if eval_starts is not None else problem.describe().episode_limit or config.time_steps
    job = Job(
        problem,
        config.sampler,
        config.candidates,
        config.seed,
        config.episodes,
        config.time_steps,
        eval_starts,
        evaluate_starts=starts_are_evaluated(config.advantages, config.reward),
        eval_episodes=config.eval_episodes,
        eval_time_steps=length,
        check_starts=_check_starts(config, problem.describe()) if config.check else None,
        mirrored=config.noise == "mirrored",
        profile=profile,
        components=config.components,
        planned=_planned(config, problem.describe().obs_dim),
        pairs=MOST_SLOTS,
        keep_failures=config.on_failure == "infeasible",
    )
    return dataclasses.replace(job, limit=step_limit(config, job, run_dir))


def configured_pool(job: Job, config: ResolvedConfig) -> Pool:
    """Makes the pool that a configuration says."""
    return make_pool(
        job, config.drivers, config.backend, config.driver_timeout, config.close_timeout, config.ray_address
    )


def _planned(config: ResolvedConfig, dims: int) -> tuple[int, int]:
    if config.model == "none" or config.evaluations is None:
        return (0, 0)
    return planned_rounds(config.evaluations, dims)[:2]


def _check_starts(config: ResolvedConfig, described: Description) -> np.ndarray:
    knobs = described.action_dim
    slots = config.check // rounds_of(config.step_limit is not None)
    return check_starts(config.seed, slots, knobs, described.obs_dim - knobs)


def unscaled_words(config: ResolvedConfig, job: Job) -> str:
    """Returns what to say of actions that have no bounds to be scaled to; empty where all have."""
    space = job.description.action_space
    if not isinstance(space, spaces.Box) or (bounded := np.isfinite(space.low) & np.isfinite(space.high)).all():
        return ""
    which = f"{int((~bounded).sum())} of the {bounded.size} values of an action"
    return (
        f"--env {config.env}: {which} have no bound on one side or both, so that they are the policy's own, unscaled: "
        f"around 0 at first, with a standard deviation of {config.init_std:.3g}; bounds in its action_space would have "
        f"them scaled"
    )
