"""A job says how many slots of which shapes a round has, and takes its description along when it is pickled."""

import pickle

import numpy as np
import pytest

import env.make
from actors.job import Job, Kind
from actors.trajectory import Layout
from env import Problem

TUNING = Job(Problem("tests.problems:Quadratic"), "random", 8, 0, 12, 2, eval_starts=np.zeros((5, 3)), pairs=9)
CONTROL = Job(
    Problem("tests.problems:TwoDialsEnv", time_steps=8), "env", 8, 0, 6, 8, eval_episodes=4, eval_time_steps=20
)


@pytest.mark.parametrize(
    ("job", "kind", "slots", "layout"),
    [
        (TUNING, Kind.COLLECT, 12, Layout(2, obs_dim=3, action_dim=2, objectives=True)),
        (TUNING, Kind.PAIR, 9, Layout(2, obs_dim=3, action_dim=2, objectives=True)),
        (TUNING, Kind.EVALUATE, 5, Layout(1, obs_dim=3, action_dim=2, objectives=True)),
        (CONTROL, Kind.COLLECT, 6, Layout(8, obs_dim=6, action_dim=2, objectives=False)),
        (CONTROL, Kind.EVALUATE, 4, Layout(20, obs_dim=6, action_dim=2, objectives=False)),
    ],
)
def test_slots_and_layout_of_each_kind(job, kind, slots, layout):
    assert job.slots(kind) == slots
    assert job.length(kind) == layout.time_steps
    assert job.layout(kind) == layout


def test_a_pickled_job_needs_no_environment_to_describe(monkeypatch):
    def make_batch(problem, num_envs, objective):
        raise AssertionError("an environment was built")

    job = Job(Problem("tests.problems:CountdownEnv"), "env", 8, 0, 6, 8)
    before_described = pickle.dumps(job)
    described = job.description
    after_described = pickle.dumps(job)
    env.make._describe.cache_clear()
    monkeypatch.setattr(Problem, "make_batch", make_batch)
    assert pickle.loads(after_described).description == described
    with pytest.raises(AssertionError, match="an environment was built"):
        _ = pickle.loads(before_described).description
