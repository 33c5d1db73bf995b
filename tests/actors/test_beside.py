"""Runs that share their rounds get the slots that each would have alone."""

import dataclasses
import itertools

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import PLANNED, Job, Kind, Task
from actors.rollout import Collector
from actors.snapshots import Snapshots, parts_of, read_snapshots
from env import Problem
from tests.actors.mixtures import mixture, random_plan
from tests.actors.test_rollout import FIELDS, JOBS, KINDS, job

SEEDS = (3, 11, 4)


def beside(a_job):
    """Returns jobs of runs that differ by their seed, and by the states of a check, which follow from it."""
    starts = a_job.check_starts
    checks = [None if starts is None else np.roll(starts, i, axis=0) for i in range(len(SEEDS))]
    return [dataclasses.replace(a_job, seed=seed, check_starts=c) for seed, c in zip(SEEDS, checks, strict=True)]


def policies(a_job, kind=Kind.COLLECT):
    """Returns a random policy for each run, with a plan of its own where the kind is planned."""
    described = a_job.description
    head = "categorical" if described.choices else "gaussian"
    spec = NetworkSpec(described.obs_dim, (8,), "tanh", head, described.action_dim, described.choices, a_job.components)
    made = []
    for seed in range(len(SEEDS)):
        theta = 0.5 * np.random.default_rng(seed).normal(size=spec.size)
        plan = None
        if kind in PLANNED:
            plan = random_plan(a_job.run_slots(kind))
            plan = dataclasses.replace(plan, starts=plan.starts * (1 - 0.1 * seed))
        live = np.arange(a_job.components) != seed if a_job.components > 1 else None
        made.append(Snapshot(4, spec, theta, 1e-3, live=live, plan=plan))
    return made


def alone(a_job, snapshot, task):
    made = Collector(a_job)
    made.update(snapshot)
    return made.run(task)


EVALUATED = np.random.default_rng(0).uniform(-1, 1, (5, 3))
CONTROL_FROM = Job(
    Problem("TempControl-v1", env_kwargs={"load_rounds": 0}, time_steps=5),
    "lhs",
    8,
    0,
    7,
    5,
    eval_episodes=2,
    eval_time_steps=5,
)
MIXED = [
    *JOBS,
    job(sampler="heterogeneous"),
    job("tests.waiting:Waits", eval_starts=EVALUATED, check_starts=EVALUATED),
    job("tests.problems:Quadratic", eval_starts=EVALUATED, check_starts=EVALUATED, components=4, planned=(7, 3)),
    CONTROL_FROM,
]


@pytest.mark.parametrize(
    ("a_job", "kind"),
    [
        (a_job, kind)
        for a_job in MIXED
        for kind in [*KINDS[a_job.problem.family], *(PLANNED if a_job.planned[0] else ())]
        if not (a_job.check_starts is None and kind in (Kind.CHECK, Kind.CHECK_CONSTANT, Kind.CHECK_MEAN))
    ],
    ids=lambda value: f"{value.problem.env}-{value.sampler}" if isinstance(value, Job) else value.name,
)
def test_every_slot_has_the_bits_of_its_run_alone(a_job, kind):
    jobs, snapshots = beside(a_job), policies(a_job, kind)
    together, own = dataclasses.replace(jobs[0], beside=tuple(jobs[1:])), a_job.slots(kind)
    assert together.slots(kind) == len(SEEDS) * own
    expected = [alone(one, snapshot, Task(kind, 6, 0, own)) for one, snapshot in zip(jobs, snapshots, strict=True)]
    made = Collector(together)
    made.update(read_snapshots(Snapshots(tuple(snapshots)).to_bytes()))
    edges = [0, 1, own + 2, 2 * own, 3 * own]  # tasks of one run, of two, and of all
    tasks = [Task(kind, 6, a, b) for a, b in itertools.pairwise(edges)] + [Task(kind, 6, 0, 3 * own)]
    for task in tasks:
        found = made.run(task)
        assert found.slots.tolist() == list(range(task.start, task.stop))
        for row, slot in enumerate(found.slots):
            for name in FIELDS[1:]:
                a, b = getattr(found, name)[row], getattr(expected[slot // own], name)[slot % own]
                if kind == Kind.EVALUATE and a_job.problem.family != "tuning":
                    a, b = until_the_end(found, row, a), until_the_end(found, row, b)
                assert np.array_equal(a, b, equal_nan=True), (name, task, slot)


def until_the_end(trajectory, row, values):
    """Returns what belongs to the first episode of an evaluation, after which a task may stop or go on."""
    ends = np.flatnonzero((trajectory.terminations | trajectory.truncations)[row])
    return values[: ends[0] + 1] if len(ends) and np.ndim(values) and len(values) > 1 else values[:1]


def test_a_single_snapshot_is_read_as_it_was_and_damage_is_told():
    one, two = mixture(seed=0), mixture(seed=1)
    assert parts_of(read_snapshots(one.to_bytes()))[0].sha256 == one.sha256
    message = Snapshots((one, two)).to_bytes()
    assert [part.sha256 for part in parts_of(read_snapshots(message))] == [one.sha256, two.sha256]
    assert Snapshots((one, two)).version == 4
    for damaged in (message[:6], message[:20], message[:-1], message + b"x", b"TLM1" + bytes(4)):
        with pytest.raises(ValueError, match=r"cut short|snapshots of"):
            read_snapshots(damaged)


def test_a_task_is_split_where_the_slots_of_a_run_end():
    jobs = beside(job())
    together = dataclasses.replace(jobs[0], beside=tuple(jobs[1:]))
    shares = together.shares(Task(Kind.COLLECT, 0, 5, 30))
    assert [(share.number, share.job.seed, share.rows, share.own) for share in shares] == [
        (0, 3, slice(0, 7), slice(5, 12)),
        (1, 11, slice(7, 19), slice(0, 12)),
        (2, 4, slice(19, 25), slice(0, 6)),
    ]
