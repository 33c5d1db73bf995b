"""Slots that no driver comes back from, completed without f: what happened in them is known, but for its values."""

import dataclasses
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from actors.job import Job, Task
from actors.rollout import Collector
from actors.snapshots import AnySnapshot
from actors.trajectory import Trajectory
from env.objectives import Objective
from env.objectives.returned import FAILED

NO_DRIVER = -1


class FailedSlots:
    """Rolls out slots in which every evaluation fails.

    Args:
        job: what drivers run.
    """

    def __init__(self, job: Job):
        self._job = dataclasses.replace(job, problem=dataclasses.replace(job.problem, evaluation_cost_ms=0.0))
        self._collector: Collector | None = None

    def trajectory(self, task: Task, snapshot: AnySnapshot) -> Trajectory:
        """Returns the trajectory of a task under the policy of a snapshot, with no value of f."""
        if self._collector is None:
            self._collector = Collector(self._job, NO_DRIVER, _Never(self._job))
        with threadpool_limits(1, "blas"):  # as in the drivers: more threads may change the last bits
            self._collector.update(snapshot)
            return self._collector.run(task)


class _Never(Objective):
    """Fails at once, wherever it is evaluated."""

    vectorised = True

    def __init__(self, job: Job):
        self.knobs = job.description.action_dim
        self.conditions = job.description.obs_dim - self.knobs
        self.take_coordinates(job.description.coordinates)
        self.constraints = job.description.constraints

    def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        failed = np.full(len(x), FAILED)
        return (failed, [failed] * self.constraints) if self.constraints else failed
