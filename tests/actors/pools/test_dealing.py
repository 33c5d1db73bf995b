"""Answers that come late, twice, damaged or not at all, of drivers that join and leave, change no result."""

import contextlib
import dataclasses

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools import protocol
from actors.pools.base import DriverError
from actors.pools.dealing import DealingPool
from actors.pools.driver_process import Worker
from actors.pools.fleet import Event
from actors.rollout import Collector
from tests.actors.pools.rounds import job, run, same, snapshot
from tests.actors.pools.test_record import Kept


class FakeHandle:
    """A driver that answers at once; what it is sent, and answers, is kept."""

    clock_ahead = 0.0

    def __init__(self, index, a_job=None):
        self.worker = Worker(Collector(a_job or job(), index), clock=lambda: 0.0)
        self.sent, self.answers, self.ended = [], [protocol.READY], False

    def send(self, message):
        self.sent.append(message)
        self.answers.extend(self.worker.answers(message))

    def end(self):
        assert not self.ended
        self.ended = True


class FakeFleet:
    """Drivers whose messages come in the order in which ``script`` puts them; by itself, each once and in turn."""

    cores, far = 1, False

    def __init__(self, script=None, room=99):
        self.handles, self.script, self.time, self.room, self.current = [], script, 0.0, room, b""
        self.edition, self.closed = 0, None

    def start(self, index):
        if self.room == 0:
            return None
        self.room -= 1
        self.handles.append(FakeHandle(index))
        return self.handles[-1]

    def wait(self, timeout):
        events = self.script(self, timeout) if self.script else None
        if events is None:
            events = [Event(one, one.answers.pop(0)) for one in self.handles if one.answers and not one.ended]
            assert events, "a pool that waits for nothing"
        yield from events

    def now(self):
        return self.time

    def share(self, content):
        self.edition += content != self.current
        self.current = content
        return protocol.pack_block(self.edition, len(content), "") + content, self.edition

    def rest(self):
        self.current = b""

    def close(self, drivers):
        self.closed = list(drivers)


def once(then):
    """Returns a script that plays ``then`` the first time that there is an answer to a task, and no more."""
    left = [then]

    def script(fleet, timeout):
        if left and any(one.answers and one.answers[0] != protocol.READY for one in fleet.handles):
            return left.pop()(fleet)
        return None

    return script


def lost(fleet, left=False):
    return [Event(fleet.handles[0], None, left)]


def damaged(fleet):
    return [Event(fleet.handles[0], fleet.handles[0].answers.pop(0)[:-8])]


def headless(fleet):
    return [Event(fleet.handles[0], b"F")]


def of_another_task(fleet):
    answer = protocol.unpack_finished(fleet.handles[0].answers.pop(0))
    moved = Task(answer.task.kind, answer.task.step, answer.task.start + 1, answer.task.stop + 1)
    return [Event(fleet.handles[0], protocol.pack_finished(dataclasses.replace(answer, task=moved)))]


def twice(fleet):
    message = fleet.handles[0].answers.pop(0)
    return [Event(fleet.handles[0], message), Event(fleet.handles[0], message)]


def too_late(fleet):
    """The first driver is past its time; its answer comes after it was replaced."""
    fleet.time += 100.0
    return []


@pytest.mark.parametrize(
    ("trouble", "restarts"),
    [(lost, 1), (damaged, 1), (headless, 1), (of_another_task, 1), (twice, 0), (lambda fleet: lost(fleet, True), 0)],
    ids=["lost", "damaged", "headless", "of another task", "twice", "left"],
)
def test_trouble_with_one_answer_changes_no_result(trouble, restarts, expected):
    fleet, record = FakeFleet(once(trouble)), Kept()
    with DealingPool(job(), fleet, 2, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        assert same(pool.result().trajectory, expected[0])
        for step in (1, 2):
            assert same(run(pool, step)[0], expected[step])
        assert pool.restarts == restarts
    assert record.arrived_slots == list(range(10))  # each is recorded, and paid for, once
    assert [one.ended for one in fleet.handles[:2]] == [trouble is not twice, False]


@pytest.fixture
def far(monkeypatch):
    """Makes fleets far, and returns a function that tells of each driver how many slots it has run."""
    monkeypatch.setattr(FakeFleet, "far", True)
    return lambda fleet: [sum(1 for one in handle.sent if one[:1] == protocol.TASK) for handle in fleet.handles]


def test_a_driver_that_is_far_has_the_next_task_while_it_runs_one(far, expected):
    """The last tasks, as many as there are drivers, are kept for who is free first."""
    fleet = FakeFleet()
    with DealingPool(job(), fleet, 3, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, Kept(slot_by_slot=True))
        assert (far(fleet), len(pool._round.tasks)) == ([2, 2, 2], 4)
        pool._take(pool._roster.of(fleet.handles[1]), fleet.handles[1].answers.pop(0))
        pool._deal(pool._round)
        assert (far(fleet), len(pool._round.tasks)) == ([2, 3, 2], 3)
        for _ in range(2):
            pool._take(pool._roster.of(fleet.handles[1]), fleet.handles[1].answers.pop(0))
        assert [driver.index for driver in pool._roster.idle] == [1]
        assert same(pool.result().trajectory, expected[0])
        assert pool._roster.without_next(pool._round.number) is None
        assert same(run(pool, 1)[0], expected[1])


@pytest.mark.parametrize("left", [False, True])
def test_both_tasks_of_a_driver_that_is_lost_are_dealt_again(left, far, expected):
    fleet, record = FakeFleet(once(lambda fleet: lost(fleet, left))), Kept(slot_by_slot=True)
    with DealingPool(job(), fleet, 2, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        assert same(pool.result().trajectory, expected[0])
        assert same(run(pool, 1)[0], expected[1])
        assert (pool.restarts, sorted(record.arrived_slots)) == (1 - left, list(range(10)))


def test_the_time_of_the_next_task_begins_when_the_first_is_done(far):
    fleet = FakeFleet()
    with DealingPool(job(), fleet, 1, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, Kept(slot_by_slot=True))
        driver, answers = pool._roster.of(fleet.handles[0]), fleet.handles[0].answers
        fleet.time = 50.0
        assert driver.ahead is not None and driver.deadline == 60.0
        pool._take(driver, answers.pop(0))
        assert driver.ahead is None and driver.deadline == 110.0


@contextlib.contextmanager
def replaced_before_it_answers():
    """Yields a pool in a round, its record, the driver of all slots that was too late, and the one in its place."""
    fleet, record = FakeFleet(once(too_late)), Kept()
    with DealingPool(job(), fleet, 1, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        while pool.restarts == 0:
            pool._handle_events()
        yield pool, record, *fleet.handles


def test_an_answer_that_comes_after_its_driver_was_replaced_is_used(expected):
    """The slots that are not there yet are taken, and no driver gets them again."""
    with replaced_before_it_answers() as (pool, record, slow, fresh):
        pool._handle(Event(slow, slow.answers.pop(0)))
        assert pool._round.complete
        assert same(pool.result().trajectory, expected[0])
        assert [message[:1] for message in fresh.sent] == []
        assert record.arrived_slots == list(range(10))
        assert same(run(pool, 1)[0], expected[1])


def test_of_a_late_answer_only_what_is_missing_is_used(expected):
    with replaced_before_it_answers() as (pool, record, slow, fresh):
        pool._handle(Event(fresh, fresh.answers.pop(0)))  # ready
        pool._deal(pool._round)
        pool._handle(Event(fresh, fresh.answers.pop(0)))  # one half
        assert len(record.arrived_slots) == 5
        pool._handle(Event(slow, slow.answers.pop(0)))
        assert record.arrived_slots == list(range(10))
        assert same(pool.result().trajectory, expected[0])


def test_an_answer_to_an_earlier_round_is_not_used(expected):
    """A straggler's round is completed by others; its answer frees it, and no more."""
    fleet = FakeFleet()
    with DealingPool(job(), fleet, 2, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        straggler, other = fleet.handles
        held_back = straggler.answers.pop(0)
        pool._handle(Event(other, other.answers.pop(0)))
        (copy,) = other.worker.answers(straggler.sent[0])
        replaced = FakeHandle(9)
        pool._replaced.add(replaced)
        pool._handle(Event(replaced, copy))
        assert same(pool.result().trajectory, expected[0])
        pool.submit(1, snapshot(1), Kind.COLLECT)
        pool._handle(Event(straggler, held_back))
        assert same(pool.result().trajectory, expected[1])
        assert pool.restarts == 0


def test_drivers_join_and_leave(expected):
    fleet = FakeFleet(room=1)
    with DealingPool(job(), fleet, 2, 60.0) as pool:
        assert len(fleet.handles) == 1
        fleet.room = 1  # a machine joins
        assert same(run(pool, 0)[0], expected[0])
        _, newcomer = fleet.handles
        pool.submit(1, snapshot(1), Kind.COLLECT, Kept(slot_by_slot=True))
        assert newcomer.sent
        pool._handle(Event(fleet.handles[0], None, left=True))  # there is no room for another
        assert same(pool.result().trajectory, expected[1])
        assert (len(pool._roster), pool.restarts) == (1, 0)


def joins_after(seconds):
    """Returns a script in which time passes while no driver answers, and there is room for more after so long."""

    def script(fleet, timeout):
        if any(one.answers and not one.ended for one in fleet.handles):
            return None
        fleet.time += timeout / 2
        fleet.room += fleet.time > seconds
        return []

    return script


def test_a_pool_without_any_driver_waits_for_one_as_long_as_for_an_answer(expected):
    script = joins_after(100)
    fleet = FakeFleet(script, room=1)
    with DealingPool(job(), fleet, 1, 60.0) as pool:
        fleet.time = 80.0
        pool.submit(0, snapshot(0), Kind.COLLECT)
        pool._handle(Event(fleet.handles[0], None, left=True))
        assert same(pool.result().trajectory, expected[0])
        assert len(fleet.handles) == 2
    with pytest.raises(DriverError, match="there has been no driver for longer than --driver-timeout 5 s"):
        DealingPool(job(), FakeFleet(script, room=0), 1, 5.0)


def test_when_a_driver_of_another_clock_held_the_snapshot():
    fleet = FakeFleet()
    with DealingPool(job(), fleet, 1, 60.0) as pool:
        fleet.handles[0].clock_ahead = -7.0
        assert run(pool, 0)[1].broadcast == 7.0


def test_a_slot_is_not_to_blame_for_drivers_that_leave(expected):
    def script(fleet, timeout):
        if sum(one.ended for one in fleet.handles) < 20 and any(one.sent for one in fleet.handles if not one.ended):
            return [Event(next(one for one in fleet.handles if one.sent and not one.ended), None, left=True)]
        return None

    with DealingPool(job(), FakeFleet(script), 1, 60.0) as pool:
        assert same(run(pool, 0)[0], expected[0])


def test_a_replacement_that_cannot_start_tells_why_and_leaves_none_alive():
    def full(fleet):
        fleet.start = lambda index: (_ for _ in ()).throw(OSError(12, "Cannot allocate memory"))
        return lost(fleet)

    fleet = FakeFleet(once(full))
    why = r"driver 0 died in slot 0 to 4 of step 0, and cannot be replaced: \[Errno 12\] Cannot allocate memory"
    with DealingPool(job(), fleet, 2, 60.0) as pool, pytest.raises(DriverError, match=why) as caught:
        run(pool, 0)
    assert isinstance(caught.value.__cause__, OSError)
    assert fleet.handles[0].ended
    assert [handle for handle, _ in fleet.closed] == [fleet.handles[1]]


def test_a_driver_whose_every_message_is_damaged_ends_the_run():
    def script(fleet, timeout):
        return [Event(one, b"F") for one in fleet.handles if one.answers and not one.ended][:1]

    with pytest.raises(DriverError, match=r"sent a damaged message \(no answer in 1 bytes\) as it started, and 4"):
        DealingPool(job(), FakeFleet(script), 1, 60.0)


def test_an_error_keeps_the_drivers_traceback():
    fleet = FakeFleet(once(lambda fleet: [Event(fleet.handles[0], b"E" + bytes(8) + b"Traceback\n\xff ValueError: x")]))
    with DealingPool(job(), fleet, 1, 60.0) as pool, pytest.raises(DriverError, match="ValueError: x") as caught:
        run(pool, 0)
    assert "Traceback" in str(caught.value.__cause__)


def test_no_more_drivers_are_started_than_a_round_has_slots():
    from actors.pools.processes import ProcessPool

    with ProcessPool(job(episodes=3), 16, 30) as pool:  # an evaluation has six
        assert pool.drivers == len(pool._roster.drivers) == 6
        assert pool.choice == "6 drivers instead of 16, since no round has more slots"
        assert np.array_equal(run(pool, 0)[0].slots, np.arange(3))


def test_a_replaced_driver_that_starts_late_does_not_join(expected):
    fleet = FakeFleet(lambda fleet, timeout: too_late(fleet) if len(fleet.handles) == 1 else None)
    with DealingPool(job(), fleet, 1, 60.0) as pool:
        assert [one.ended for one in fleet.handles] == [True, False]
        pool._handle(Event(fleet.handles[0], protocol.READY))
        assert [driver.handle for driver in pool._roster.drivers] == fleet.handles[1:]
        assert same(run(pool, 0)[0], expected[0])


def test_a_cluster_may_take_a_while_until_it_has_a_first_driver(expected):
    script = joins_after(40)
    fleet = FakeFleet(script, room=0)
    fleet.far = True
    with DealingPool(job(), fleet, 1, 5.0) as pool:
        assert 40 < fleet.time < 60
        assert same(run(pool, 0)[0], expected[0])
        pool._handle(Event(fleet.handles[0], None, left=True))
        fleet.room = -1  # no room any more
        fleet.start = lambda index: None
        with pytest.raises(DriverError, match="there has been no driver for longer than --driver-timeout 5 s"):
            run(pool, 1)
    fleet = FakeFleet(script, room=-100)
    fleet.far, fleet.start = True, lambda index: None
    with pytest.raises(DriverError, match="there has been no driver for longer than --driver-timeout 5 s"):
        DealingPool(job(), fleet, 1, 5.0)


SHORT, WAITS = "tests.problems:Quadratic", "tests.waiting:Waits"


@pytest.mark.parametrize(("far", "env", "held"), [(False, SHORT, 2), (True, SHORT, 4), (True, WAITS, 10)])
def test_how_many_slots_drivers_hold(far, env, held):
    fleet = FakeFleet()
    fleet.far = far
    with DealingPool(job(env), fleet, 2, 60.0) as pool:
        assert pool.held == held
