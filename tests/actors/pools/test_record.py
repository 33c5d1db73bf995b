"""Slots that are recorded are not run again, and whatever arrives is recorded before it is merged."""

import os
import signal

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools.base import DriverError, contiguous, shares
from actors.pools.factory import make_pool
from actors.rollout import Collector
from env import UsageError
from tests.actors.pools.rounds import copy_of, job, same, snapshot

BACKENDS = [("thread", 0), ("thread", 1), ("thread", 3), ("process", 1), ("process", 3)]


class Kept:
    """A record: holds trajectories of a round, and lists the slots that arrive and the tasks that are lost.

    One that ``refuses`` cannot keep the first trajectory.
    """

    def __init__(self, trajectories=(), slot_by_slot=False, refuses=False):
        self.trajectories, self.slot_by_slot, self.refuses = trajectories, slot_by_slot, refuses
        self.slots, self.lost = [], []

    def arrived(self, trajectory):
        self.slots.append(trajectory.slots.tolist())
        if self.refuses and len(self.slots) == 1:
            raise UsageError("archive.bin: cannot be written to")

    def lost_task(self, task):
        self.lost.append(task)

    @property
    def arrived_slots(self):
        return sorted(slot for slots in self.slots for slot in slots)


def recorded(kind, step, *runs):
    """Returns the trajectories of runs of slots, as if they had been played back."""
    collector = Collector(job(), 7)
    collector.update(snapshot(step))
    return [collector.run(Task(kind, step, start, stop)) for start, stop in runs]


def run(pool, step, record, kind=Kind.COLLECT):
    pool.submit(step, snapshot(step), kind, record)
    done = pool.result()
    return copy_of(done.trajectory), done


@pytest.mark.parametrize(("backend", "drivers"), BACKENDS)
def test_only_the_slots_that_are_not_recorded_are_run(backend, drivers, expected):
    collect, evaluate = Kind.COLLECT, Kind.EVALUATE
    rounds = [
        (0, collect, [(1, 3), (4, 5), (9, 10)], [0, 3, 5, 6, 7, 8]),
        (1, collect, [(0, 9)], [9]),
        (2, collect, [(0, 10)], []),
        (3, collect, [], list(range(10))),
        (4, evaluate, [(4, 6), (0, 1)], [1, 2, 3]),
    ]
    with make_pool(job(), drivers, backend, 30) as pool:
        for step, kind, held, missing in rounds:
            record = Kept(recorded(kind, step, *held))
            trajectory, done = run(pool, step, record, kind)
            assert same(trajectory, expected[step])
            assert trajectory.slots.tolist() == list(range(len(trajectory)))
            assert (trajectory.drivers == 7).tolist() == [slot not in missing for slot in range(len(trajectory))]
            assert record.arrived_slots == missing
            assert done.shares == [len(slots) for slots in record.slots]
            assert record.lost == []


@pytest.mark.parametrize(("backend", "drivers"), BACKENDS)
def test_slot_by_slot_gives_tasks_of_one_slot(backend, drivers, expected):
    with make_pool(job(), drivers, backend, 30) as pool:
        for step, held in ((0, []), (1, [(2, 4), (7, 8)])):
            record = Kept(recorded(Kind.COLLECT, step, *held), slot_by_slot=True)
            trajectory, done = run(pool, step, record)
            assert same(trajectory, expected[step])
            missing = [slot for slot in range(10) if not any(start <= slot < stop for start, stop in held)]
            assert done.shares == [1] * len(missing)
            assert record.arrived_slots == missing


@pytest.mark.parametrize(("backend", "drivers"), BACKENDS)
def test_what_cannot_be_recorded_ends_the_round(backend, drivers):
    record = Kept(slot_by_slot=True, refuses=True)
    raises = pytest.raises(UsageError, match=r"^archive\.bin: cannot be written to$")
    with make_pool(job(evaluation_cost_ms=3), drivers, backend, 30) as pool, raises:
        run(pool, 0, record)
    assert 1 <= len(record.slots) <= max(2 * drivers, 1) < 10  # what was under way, and no more


@pytest.mark.parametrize("slot_by_slot", [True, False])
def test_a_task_whose_driver_was_killed_is_noted_once(slot_by_slot, expected):
    record = Kept(slot_by_slot=slot_by_slot)
    with make_pool(job(), 3, "process", 30) as pool:
        killed = pool._roster.drivers[1].handle.process.pid
        os.kill(killed, signal.SIGSTOP)  # so that it cannot finish the task that it is given
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        task = pool._roster.drivers[1].task
        os.kill(killed, signal.SIGKILL)
        assert same(pool.result().trajectory, expected[0])
        assert pool.restarts == 1
    assert record.lost == [task]
    assert task.stop - task.start in ((1,) if slot_by_slot else (3, 4))
    assert record.arrived_slots == list(range(10))


SHARES = [
    (range(10), 3, [(0, 3), (3, 6), (6, 10)]),
    (range(10), 1, [(0, 10)]),
    (range(3), 5, [(0, 1), (1, 2), (2, 3)]),
    ([0, 1, 4, 5, 8], 2, [(0, 2), (4, 6), (8, 9)]),
    ([0, 1, 4, 5, 8, 9], 3, [(0, 2), (4, 6), (8, 10)]),
    ([2, 3, 9], 1, [(2, 4), (9, 10)]),
    ([2, 3, 9], 3, [(2, 3), (3, 4), (9, 10)]),
    ([5], 4, [(5, 6)]),
    ([], 3, []),
    ([], 0, []),
]


@pytest.mark.parametrize(("slots", "parts", "expected_runs"), SHARES)
def test_slots_are_dealt_in_contiguous_shares(slots, parts, expected_runs):
    tasks = shares(Kind.EVALUATE, 6, np.array(slots, int), parts)
    assert tasks == [Task(Kind.EVALUATE, 6, start, stop) for start, stop in expected_runs]


@pytest.mark.parametrize(
    ("slots", "runs"),
    [([], []), ([3], [(3, 4)]), ([0, 1, 2], [(0, 3)]), ([0, 2, 3, 7], [(0, 1), (2, 4), (7, 8)])],
)
def test_contiguous_runs_of_slots(slots, runs):
    assert contiguous(np.array(slots, int)) == [range(start, stop) for start, stop in runs]


def test_threads_that_are_at_work_as_another_fails_are_waited_for():
    record = Kept(slot_by_slot=True)
    with make_pool(job("tests.problems:RaisesAtOnceElseWaits"), 3, "thread", 30) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        with pytest.raises(DriverError, match="lost contact"):
            pool.result()
        arrived = list(record.slots)
    assert record.slots == arrived
