"""Slots that are imagined: rolled out over the model as real ones are over f."""

import dataclasses

from actors.job import Job
from actors.rollout import Collector
from ppo.algorithm.model.surrogate import Surrogate

IMAGINED_SLOTS = 24


def imagining_collector(job: Job, components: int, surrogate: Surrogate) -> Collector:
    """Returns what runs imagined slots, each of two time steps for each of so many components."""
    length = 2 * components
    problem = dataclasses.replace(job.problem, evaluation_cost_ms=0.0, time_steps=length)
    sizes = {"episodes": IMAGINED_SLOTS, "time_steps": length, "evaluate_starts": False}
    return Collector(dataclasses.replace(job, problem=problem, **sizes), objective=surrogate)  # type: ignore[arg-type]
