"""Small archives for the tests of ppo.data: rows of the problem tests.problems:Quadratic, and files of them."""

import dataclasses
import os

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import Job, Kind, Task
from actors.rollout import Collector
from env import Problem, UsageError
from ppo.data.archive import Archive, new_archive
from ppo.data.rows import row_type, rows_of
from ppo.data.run_archive import signature
from tests.actors.pools.rounds import job as pool_job
from tests.actors.pools.rounds import snapshot

EVAL_STARTS = np.array([[0.0, 0.0, -0.5], [0.25, -0.25, 0.0], [0.5, 0.5, 0.75]])
_CONTROL = NetworkSpec(2, (8,), "tanh", "categorical", 1, (3,))
CONTROL_SNAPSHOT = Snapshot(0, _CONTROL, np.zeros(_CONTROL.size))
PER_SLOT = 3  # evaluations of a slot: of its start, and of two time steps


def job(**changes):
    """Returns a job of ten slots of two time steps; changes are those of the job's fields."""
    return dataclasses.replace(pool_job(), **{"eval_starts": EVAL_STARTS, "check_starts": -EVAL_STARTS} | changes)


def control_job():
    """Returns a job over an environment that is no tuning problem: episodes of 3 to 6 time steps, slots of 8."""
    problem = Problem("tests.problems:CountdownEnv", time_steps=8)
    return Job(problem, "env", 8, 0, 4, 8, eval_episodes=2, eval_time_steps=8)


def collected(a_job, kind=Kind.COLLECT, step=0, start=0, stop=None, snap=None, driver=0):
    """Returns the trajectory of slots ``start`` .. ``stop`` - 1, run here."""
    collector = Collector(a_job, driver)
    collector.update(snap or snapshot(step))
    return collector.run(Task(kind, step, start, a_job.slots(kind) if stop is None else stop))


def rows_from(a_job, trajectory, kind=Kind.COLLECT, step=0):
    """Returns the rows of a trajectory of a round."""
    return rows_of(trajectory, kind, step, row_type(a_job), a_job.evaluate_starts)


def round_rows(a_job, kind=Kind.COLLECT, step=0):
    """Returns the rows of a whole round."""
    return rows_from(a_job, collected(a_job, kind, step), kind, step)


def written(path, a_job, parts, reused=None, killed=False):
    """Writes an archive with a record for each array of rows; returns where each record begins, and the end.

    Who writes it is killed before the end, or says there that all is durable.
    """
    path.write_bytes(new_archive(signature(a_job), np.empty(0, row_type(a_job)) if reused is None else reused))
    archive, places = Archive(path), [path.stat().st_size]
    for rows in parts:
        archive.add_rows(rows)
        places.append(path.stat().st_size)
    archive._broken = killed  # so that nothing more is written
    archive.close()
    return places


def same_rows(a, b):
    """Returns whether two arrays of rows hold the same bits."""
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def refusal(call, *arguments):
    """Returns the message of the mistake that a call must raise, which must be one line."""
    with pytest.raises(UsageError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


def without_sync(monkeypatch):
    """Leaves out waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
