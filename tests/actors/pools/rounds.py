"""Jobs and snapshots for the tests of pools, and one round on a pool."""

import dataclasses

import numpy as np

from actors import NetworkSpec, Snapshot
from actors.job import Job, Kind
from env import Problem

EVAL_STARTS = np.zeros((6, 3))


def job(env="tests.problems:Quadratic", episodes=10, sampler="random", time_steps=2, **changes):
    return Job(Problem(env, time_steps=time_steps, **changes), sampler, 8, 0, episodes, time_steps, EVAL_STARTS)


def snapshot(version=0, obs_dim=3, action_dim=2, hidden=(8,)):
    spec = NetworkSpec(obs_dim, hidden, "tanh", "gaussian", action_dim)
    return Snapshot(version, spec, 0.1 * np.random.default_rng(version).normal(size=spec.size))


def run(pool, step, kind=Kind.COLLECT, snap=None):
    """Returns a copy of the trajectory of one round, and its result."""
    snap = snap or snapshot(step)
    pool.submit(step, snap, kind)
    done = pool.result()
    return copy_of(done.trajectory), done


def copy_of(trajectory):
    """Copies the arrays, which the next round of the same kind overwrites."""
    return dataclasses.replace(
        trajectory,
        **{field.name: getattr(trajectory, field.name).copy() for field in dataclasses.fields(trajectory)[:-1]},
    )


def same(a, b):
    """Returns whether two trajectories have the same observations, actions, log-probabilities and objectives."""
    return all(
        np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True)
        for n in ("obs", "actions", "logprobs", "objectives")
    )
