"""A round deals lost tasks again in halves, counts the losses of each slot, and times broadcast and collection."""

import pytest

from actors.job import Kind, Task
from actors.pools.round import Round, tasks_worth_dealing
from actors.trajectory import MergeError, Merger
from tests.actors.test_trajectory import LAYOUT, check_identity, trajectory


def task(start, stop):
    return Task(Kind.COLLECT, 4, start, stop)


def begun(slots, *tasks, started=5.0):
    """Returns a round of ``slots`` slots under policy version 5."""
    merger = Merger(LAYOUT, slots)
    merger.begin(5)
    return Round(1, Kind.COLLECT, 5, b"", merger, tasks, started)


def add(current, start, stop, held_at=0.0, seconds=1.0):
    current.add(task(start, stop), trajectory(start, stop), held_at, seconds)


def test_a_lost_task_goes_back_to_the_head_in_halves():
    current = begun(12, task(7, 12))
    current.retry(task(0, 7))
    halves = [current.tasks.popleft(), current.tasks.popleft()]
    assert sorted(halves, key=lambda half: half.start) == [task(0, 3), task(3, 7)]
    assert list(current.tasks) == [task(7, 12)]


def test_a_lost_slot_goes_back_alone():
    current = begun(12)
    current.retry(task(6, 7))
    assert list(current.tasks) == [task(6, 7)]


def test_losses_are_counted_by_slot():
    current = begun(12)
    assert current.retry(task(0, 8)) == 1
    assert current.retry(task(8, 12)) == 1  # slots that had lost no driver
    assert current.retry(task(0, 4)) == 2
    assert current.retry(task(4, 8)) == 2
    assert current.retry(task(3, 4)) == 3


def test_broadcast_ends_with_the_tasks_dealt_at_once():
    current = begun(7, started=5.0)
    current.began([task(0, 2), task(2, 5)])
    add(current, 2, 5, held_at=6.5)
    add(current, 5, 7, held_at=9.0)  # dealt later, to a driver that was busy before
    add(current, 0, 2, held_at=6.0)
    result = current.result(11.0)
    assert result.broadcast == 1.5
    assert result.collect == 4.5
    assert result.shares == [3, 2, 2]  # in the order in which they came back


def test_a_round_is_complete_with_its_last_slot():
    current = begun(5)
    add(current, 2, 5)
    assert not current.complete
    with pytest.raises(MergeError, match="slot 0: its trajectory is missing"):
        current.result(1.0)
    add(current, 0, 2)
    assert current.complete
    check_identity(current.result(1.0).trajectory, 5)


@pytest.mark.parametrize(
    ("drivers", "cost", "spread", "tasks"),
    [
        (6, 0.0, 0.0, 1),
        (6, 0.0001, 0.0, 2),  # sqrt(12 * 0.1 / 0.5) = 1.5
        (6, 0.001, 0.0, 5),  # sqrt(12 * 1 / 0.5) = 4.9
        (6, 0.005, 0.05, 6),  # slow, but evenly so
        (6, 0.005, 0.5, 6),  # 60 ms in all are worth six tasks
        (6, 0.1, 0.5, 12),
        (1, 0.1, 0.5, 1),
        (16, 0.1, 0.0, 16),
    ],
)
def test_tasks_by_the_cost_of_slots(drivers, cost, spread, tasks):
    assert tasks_worth_dealing(12, drivers, cost, spread) == tasks


def test_cost_of_a_slot_by_hand():
    current = begun(5)
    add(current, 0, 2, seconds=2.0)
    add(current, 2, 5, seconds=9.0)
    assert current.slot_cost() == (2.0, 0.5)  # 1 and 3 seconds a slot
