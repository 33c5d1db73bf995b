"""Drivers whose evaluations wait run all their slots at once, and send each as it ends: none is lost after that."""

import dataclasses
import itertools
import os
import time

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools import protocol
from actors.pools.base import DriverError
from actors.pools.dealing import DealingPool
from actors.pools.factory import make_pool
from actors.pools.fleet import Event
from actors.trajectory import Trajectory
from env.randomness import GLOBAL
from tests.actors.pools.rounds import job, run, same, snapshot
from tests.actors.pools.test_dealing import FakeFleet, FakeHandle
from tests.actors.pools.test_record import Kept

BACKENDS = [("thread", 0), ("thread", 1), ("thread", 3), ("process", 1), ("process", 3)]


def named(name, **changes):
    return job(f"tests.waiting:{name}", **changes)


@pytest.fixture(scope="module")
def expected():
    """Returns the trajectory of a round in which nothing waits."""
    with make_pool(named("Plain"), 0, "process", 0) as pool:
        return run(pool, 0)[0]


@pytest.mark.parametrize("name", ["Waits", "WaitsInThread"])
@pytest.mark.parametrize(("backend", "drivers"), BACKENDS)
def test_the_bits_are_those_of_a_plain_function(backend, drivers, name, expected):
    for slot_by_slot in (True, False):
        record = Kept(slot_by_slot=slot_by_slot)
        with make_pool(named(name), drivers, backend, 30) as pool:
            pool.submit(0, snapshot(0), Kind.COLLECT, record)
            done = pool.result()
            assert same(done.trajectory, expected)
            assert len(np.unique(done.trajectory.drivers)) == max(drivers, 1)  # whatever is dealt, each has its share
        assert record.arrived_slots == list(range(10))
        assert sum(done.shares) == 10


def test_without_a_number_of_drivers_there_are_none():
    with make_pool(named("Waits"), "auto", "process", 30) as pool:
        assert (pool.drivers, pool.choice) == (
            0,
            "no drivers, since evaluations that wait run side by side in this process",
        )


@pytest.mark.parametrize(("backend", "drivers"), [("thread", 0), ("thread", 2), ("process", 2)])
def test_a_coroutine_that_nothing_awaits_is_told(backend, drivers):
    with (
        make_pool(job("tests.env.objectives.test_under_way:ForgetsToAwait"), drivers, backend, 30) as pool,
        pytest.raises(DriverError) as caught,
    ):
        run(pool, 0)
    assert "ForgetsToAwait.__call__ returned a coroutine, which nothing awaits" in caught.value.mistake


@pytest.fixture
def trouble(tmp_path, expected):
    """Returns a maker of jobs in which the slot of the least condition does something once, and counts evaluations."""
    path = tmp_path / "evaluations"

    def make(what, **changes):
        least = float(expected.obs[:, 0, 2].min())
        made = named("Trouble", env_kwargs={"trouble": what, "path": str(path), "most": least})
        return dataclasses.replace(made, **changes), int(expected.obs[:, 0, 2].argmin()), lambda: os.path.getsize(path)

    return make


@pytest.mark.parametrize(("what", "timeout"), [("kill", 30), ("hang", 1.0)])
def test_of_a_driver_that_is_lost_only_what_has_not_ended_is_run_again(what, timeout, trouble, expected):
    a_job, slot, evaluations = trouble(what)
    record = Kept(slot_by_slot=True)
    with make_pool(a_job, 1, "process", timeout) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        assert same(pool.result().trajectory, expected)
        assert pool.restarts == 1
    assert record.lost == [Task(Kind.COLLECT, 0, slot, slot + 1)]
    assert record.arrived_slots == list(range(10))
    assert evaluations() == 3 * 10 + 1


@pytest.fixture
def as_it_was():
    """Checks that in the end ``np.random`` draws again what it would have drawn for the caller."""
    before = GLOBAL.get_bit_generator()
    yield
    ends = time.monotonic() + 10
    while GLOBAL.get_bit_generator() is not before and time.monotonic() < ends:
        time.sleep(0.01)
    assert GLOBAL.get_bit_generator() is before


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.timeout(60, method="thread")  # the other one takes the alarm
@pytest.mark.parametrize(("backend", "drivers"), [("thread", 0), ("thread", 2)])
def test_in_threads_a_slot_that_hangs_has_failed_and_the_others_are_kept(backend, drivers, trouble, expected):
    a_job, slot, evaluations = trouble("hang", keep_failures=True)
    with make_pool(a_job, drivers, backend, 1.0) as pool:
        found = run(pool, 0)[0]
        assert pool.failure == f"slot {slot} of step 0 took longer than --driver-timeout 1 s"
    assert np.isnan(found.objectives[slot]).all()
    others = np.arange(10) != slot
    assert np.array_equal(found.objectives[others], expected.objectives[others])
    assert evaluations() == 3 * 9 + 1


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.timeout(60, method="thread")  # the other one takes the alarm
@pytest.mark.parametrize(("backend", "drivers"), [("thread", 0), ("thread", 2)])
def test_in_threads_a_slot_that_hangs_ends_the_round_where_none_may_fail(backend, drivers, trouble):
    a_job, slot, _ = trouble("hang")
    with make_pool(a_job, drivers, backend, 1.0) as pool, pytest.raises(DriverError) as caught:
        run(pool, 0)
    assert str(caught.value) == f"slot {slot} of step 0 took longer than --driver-timeout 1 s"
    assert caught.value.slot == Task(Kind.COLLECT, 0, slot, slot + 1)


@pytest.mark.usefixtures("as_it_was")
def test_a_slot_that_hangs_in_one_thread_ends_the_round_while_others_are_at_work(expected):
    a_job = named("HangsBesideOthers", env_kwargs={"most": float(expected.obs[:, 0, 2].min())})
    slot = int(expected.obs[:, 0, 2].argmin())
    with make_pool(a_job, 2, "thread", 0.5) as pool, pytest.raises(DriverError) as caught:
        run(pool, 0)
    assert f"slot {slot} " in f"{caught.value} " and caught.value.slot is not None
    assert str(caught.value).endswith("of step 0 took longer than --driver-timeout 0.5 s")


class Fleet(FakeFleet):
    """Drivers that answer a task in two parts."""

    def start(self, index):
        self.handles.append(InParts(index, named("Plain")))
        return self.handles[-1]


class InParts(FakeHandle):
    """Cuts its answer in two."""

    def send(self, message):
        super().send(message)
        whole = protocol.unpack_finished(self.answers.pop())
        layout = named("Plain").layout(whole.task.kind)
        trajectory = Trajectory.over(layout, whole.slots, whole.trajectory)
        parts = ((slice(None, None, 2), False), (slice(1, None, 2), True))
        for rows, last in parts if len(trajectory) > 1 else ((slice(None), True),):
            chosen = np.zeros(len(trajectory), bool)
            chosen[rows] = True
            part = trajectory.rows(layout, chosen)
            cut = dataclasses.replace(whole, trajectory=part.buffer, slots=len(part), last=last)
            self.answers.append(protocol.pack_finished(cut))


def in_order(*actions):
    """Returns a script that plays these, one each time that the first driver has something of a task to tell."""
    left = list(actions)

    def script(fleet, timeout):
        first = fleet.handles[0]
        if left and first.answers and first.answers[0] != protocol.READY:
            return left.pop(0)(fleet, first)
        return None

    return script


def arrives(fleet, first):
    return [Event(first, first.answers.pop(0))]


def dies(fleet, first):
    return [Event(first, None)]


def is_cut(fleet, first):
    return [Event(first, first.answers.pop(0)[:-8])]


def lacks_the_first_part(fleet, first):
    del first.answers[0]
    return arrives(fleet, first)


def takes_longer(fleet, first):
    fleet.time += 40.0
    return [Event(one, one.answers.pop(0)) for one in fleet.handles if one.answers]


@pytest.mark.parametrize(
    ("actions", "restarts"),
    [
        ([], 0),
        ([dies], 1),
        ([arrives, dies], 1),
        ([arrives, is_cut], 1),
        ([is_cut], 1),
        ([lacks_the_first_part], 1),
        ([takes_longer, takes_longer], 0),  # 60 s for each part
    ],
    ids=lambda value: " ".join(one.__name__ for one in value) if isinstance(value, list) else str(value),
)
def test_trouble_with_parts_of_an_answer_changes_no_result(actions, restarts, expected):
    fleet, record = Fleet(in_order(*actions)), Kept()
    with DealingPool(named("Plain"), fleet, 2, 60.0) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        assert same(pool.result().trajectory, expected)
        assert pool.restarts == restarts
        assert same(run(pool, 0)[0], expected)
    assert record.arrived_slots == list(range(10))
    lost = list(itertools.chain(*(range(task.start, task.stop) for task in record.lost)))
    first, second = [0, 2, 4], [1, 3]  # parts of the answer to slots 0 to 4
    missing = {"dies": first + second, "arrives dies": second, "arrives is_cut": second, "is_cut": first + second}
    assert sorted(lost) == sorted(missing.get(" ".join(one.__name__ for one in actions), first if restarts else []))


def test_a_driver_rests_after_the_last_part_alone():
    parts = [protocol.Answer(Task(Kind.COLLECT, 1, 2, 4), 1, 0.0, 0.0, b"", 0, last) for last in (False, True)]
    messages = [protocol.pack_finished(part) for part in parts]
    follow = [protocol.others_follow(one) for one in (*messages, protocol.READY, protocol.NOTE + b"x")]
    assert follow == [True, False, False, True]
