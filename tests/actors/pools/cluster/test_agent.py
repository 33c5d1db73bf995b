"""What runs on a node: an agent in this process, without Ray, and driver processes that are real."""

import dataclasses
import os
import pickle
import signal
import threading
import time

import psutil
import pytest

from actors.job import Kind, Task
from actors.pools import protocol
from actors.pools.cluster.agent import END, Agent, Order
from actors.pools.cluster.versions import difference, versions
from actors.trajectory import Trajectory
from tests.actors.pools.rounds import job, same, snapshot

POLL = 0.05
LENGTH = len(snapshot().to_bytes())


class Learner:
    """Gives orders to an agent, and keeps what drivers have told: lists of messages by their numbers."""

    def __init__(self, a_job=None, patience=10.0):
        self.agent, self.told = Agent(), {}
        assert self.agent.begin(versions(), pickle.dumps(a_job or job()), 30.0, patience) == versions()

    def exchange(self, *orders, edition=0, content=b"", patience=POLL):
        done = self.agent.exchange(list(orders), edition, content, patience)
        assert done.arrived <= done.left <= time.monotonic()
        for number, message in done.messages:
            self.told.setdefault(number, []).append(message)
        return done.messages

    def until(self, number, count):
        """Waits until a driver has told so many messages; returns the last of them."""
        deadline = time.monotonic() + 30
        while len(self.told.get(number, ())) < count:
            assert time.monotonic() < deadline, self.told
            self.exchange()
        return self.told[number][count - 1]

    def start(self, *numbers):
        self.exchange(*(Order(number, protocol.START, number % 4) for number in numbers))
        assert [self.until(number, 1) for number in numbers] == [protocol.READY] * len(numbers)

    def pid(self, number):
        return self.agent._handles[number].pid


@pytest.fixture
def learner():
    """Returns a maker of learners, whose agents are closed at the end."""
    made = []

    def make(*args):
        made.append(Learner(*args))
        return made[-1]

    yield make
    for one in made:
        one.agent.close(set())


def task(start, stop, step=0, edition=1, new=True, number=1):
    """Returns the message of a task; where the policy is new to the driver, with the learner's empty block."""
    block = protocol.pack_block(edition, LENGTH, "") if new else b""
    return protocol.pack_task(Task(Kind.COLLECT, step, start, stop), number, edition, block)


def trajectory_of(message, a_job=None):
    answer = protocol.unpack_finished(message)
    return Trajectory.over(
        (a_job or job()).layout(Kind.COLLECT), answer.task.stop - answer.task.start, answer.trajectory
    )


def rows(trajectory, start, stop):
    """Returns the slots of a range."""
    names = [field.name for field in dataclasses.fields(trajectory)[:-1]]
    return dataclasses.replace(trajectory, **{name: getattr(trajectory, name)[start:stop] for name in names})


def test_two_drivers_run_slots_under_the_learners_edition(learner, expected):
    one = learner()
    one.start(7, 12)
    one.exchange(
        Order(7, task(0, 4, edition=31)), Order(12, task(4, 10, edition=31)), edition=31, content=snapshot(0).to_bytes()
    )
    assert same(trajectory_of(one.until(7, 2)), rows(expected[0], 0, 4))
    assert same(trajectory_of(one.until(12, 2)), rows(expected[0], 4, 10))
    drivers = {number: trajectory_of(one.told[number][1]).drivers.tolist() for number in (7, 12)}
    assert drivers == {7: [3] * 4, 12: [0] * 6}  # the places that they were started with


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Returns the working directory, which can be removed."""
    path = tmp_path / "there"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def test_drivers_start_in_a_working_directory_that_was_made_anew(learner, directory):
    one = learner()
    one.start(0)
    directory.rmdir()
    threading.Timer(0.3, directory.mkdir).start()  # Ray takes a while to bring what is in it
    one.start(1)
    assert psutil.Process(one.pid(1)).cwd() == str(directory)


def test_a_working_directory_that_stays_away_is_told(learner, directory, monkeypatch):
    monkeypatch.setattr("actors.pools.cluster.agent.AWAY_SECONDS", 0.1)
    one = learner()
    directory.rmdir()
    one.exchange(Order(0, protocol.START))
    assert protocol.unpack_error(one.until(0, 1))[1].rstrip().endswith(f"No such file or directory: '{directory}'")


def test_a_driver_that_works_gets_its_next_task_when_it_is_done(learner, expected):
    one = learner(job(evaluation_cost_ms=50))
    one.start(7)
    tasks = [Order(7, task(slot, slot + 1, new=not slot)) for slot in range(3)]
    one.exchange(*tasks, edition=1, content=snapshot(0).to_bytes(), patience=0.0)
    assert len(one.agent._ahead[7]) >= 1
    for slot in range(3):
        assert same(trajectory_of(one.until(7, slot + 2)), rows(expected[0], slot, slot + 1))


def test_what_a_driver_had_ahead_ends_with_it(learner):
    one = learner(job(evaluation_cost_ms=50))
    one.start(7)
    slow = Order(7, task(0, 10))
    one.exchange(slow, Order(7, task(0, 10, new=False)), edition=1, content=snapshot(0).to_bytes(), patience=0.0)
    one.exchange(Order(7, END))
    assert (one.agent._ahead, one.agent._working, one.agent._handles) == ({}, set(), {})


def test_a_snapshot_that_is_here_goes_to_drivers_that_do_not_have_it(learner, expected):
    one = learner()
    one.start(0, 1)
    one.exchange(Order(0, task(0, 5)), edition=1, content=snapshot(0).to_bytes())
    one.until(0, 2)
    one.exchange(Order(1, task(5, 10)), Order(0, task(5, 10, new=False)), edition=1)
    for number, count in ((1, 2), (0, 3)):
        assert same(trajectory_of(one.until(number, count)), rows(expected[0], 5, 10))


def test_another_snapshot_takes_its_place(learner, expected):
    one = learner()
    one.start(0)
    for step in range(3):
        message = task(0, 10, step, edition=step + 5)
        one.exchange(Order(0, message), edition=step + 5, content=snapshot(step).to_bytes())
        assert same(trajectory_of(one.until(0, step + 2)), expected[step])


def test_a_policy_alone_is_answered_and_held(learner, expected):
    one = learner()
    one.start(0)
    policy = protocol.POLICY + protocol.pack_block(4, LENGTH, "")
    one.exchange(Order(0, policy), edition=4, content=snapshot(0).to_bytes())
    assert one.until(0, 2) == protocol.READY
    one.exchange(Order(0, task(2, 3, edition=4, new=False)), edition=4)
    assert same(trajectory_of(one.until(0, 3)), rows(expected[0], 2, 3))


def test_a_driver_is_ended_at_once_and_what_it_is_sent_later_is_not_told(learner):
    one = learner(job(evaluation_cost_ms=60_000))
    one.start(0, 1)
    ended = psutil.Process(one.pid(0))
    one.exchange(Order(0, task(0, 10)), edition=1, content=snapshot(0).to_bytes())
    one.exchange(Order(0, END))
    assert not ended.is_running()
    one.exchange(Order(0, task(0, 1)), Order(0, END), edition=1)
    assert one.told == {0: [protocol.READY], 1: [protocol.READY]}
    assert list(one.agent._handles) == [1]


def test_a_driver_that_dies_is_told_once(learner):
    one = learner(job(evaluation_cost_ms=60_000))
    one.start(0, 1)
    one.exchange(Order(0, task(0, 10)), edition=1, content=snapshot(0).to_bytes())
    os.kill(one.pid(0), signal.SIGKILL)
    assert one.until(0, 2) is None
    one.exchange(Order(0, task(0, 10)), Order(0, END), edition=1)
    assert one.exchange() == []
    assert one.told[0] == [protocol.READY, None]


def test_an_order_to_a_driver_that_is_gone_tells_so(learner):
    one = learner()
    one.start(0, 1)
    handle = one.agent._handles[0]
    os.kill(handle.pid, signal.SIGKILL)
    handle.process.join()
    one.exchange(Order(0, task(0, 5)), Order(1, task(5, 10)), edition=1, content=snapshot(0).to_bytes())
    one.until(1, 2)
    assert one.told[0] == [protocol.READY, None]


def test_what_a_driver_said_before_it_died_comes_before_its_end(learner, expected):
    one = learner()
    one.start(0)
    handle = one.agent._handles[0]
    one.agent._take(1, snapshot(0).to_bytes())
    one.agent._carry_out(Order(0, task(0, 10)))  # an exchange might have brought its answer already
    assert handle.connection.poll(30)
    os.kill(handle.pid, signal.SIGKILL)
    handle.process.join()
    assert same(trajectory_of(one.until(0, 2)), expected[0])
    assert one.until(0, 3) is None


def test_a_start_that_fails_is_an_error_of_its_driver(learner, monkeypatch):
    one = learner()
    one.start(0)
    monkeypatch.setattr(
        one.agent._fleet, "start", lambda place: (_ for _ in ()).throw(OSError(12, "Cannot allocate memory"))
    )
    one.exchange(Order(1, protocol.START, 1), Order(0, task(0, 5)), edition=1, content=snapshot(0).to_bytes())
    slot, text = protocol.unpack_error(one.until(1, 1))
    assert slot is None and text.strip().endswith("OSError: [Errno 12] Cannot allocate memory")
    assert protocol.unpack_finished(one.until(0, 2)).task.stop == 5  # the others go on
    assert list(one.agent._handles) == [0]


def test_an_environment_that_cannot_be_made_is_an_error_with_its_traceback(learner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # and back at the end
    (tmp_path / "here").mkdir()
    a_job = job("tests.problems:GoesElsewhere", env_kwargs={"path": str(tmp_path / "here")})
    assert a_job.description  # made where the learner is
    os.chdir(tmp_path)
    (tmp_path / "here").rmdir()
    one = learner(a_job)
    one.exchange(Order(0, protocol.START))
    slot, text = protocol.unpack_error(one.until(0, 1))
    assert slot is None and "os.chdir(path)" in text and "FileNotFoundError" in text
    assert one.until(0, 2) is None  # a driver ends after its error


def test_an_exception_of_the_users_comes_with_its_slot_and_traceback(learner):
    one = learner(job("tests.problems:RaisesRowByRow"))
    one.start(0)
    one.exchange(Order(0, task(0, 10, step=2)), edition=1, content=snapshot(2).to_bytes())
    slot, text = protocol.unpack_error(one.until(0, 2))
    assert slot == 1 and 'raise ValueError("the probe lost contact")' in text and "tests/problems.py" in text


def test_a_note_comes_before_the_answer(learner):
    one = learner(dataclasses.replace(job("tests.problems:RaisesRowByRow"), keep_failures=True))
    one.start(0)
    one.exchange(Order(0, task(0, 10, step=2)), edition=1, content=snapshot(2).to_bytes())
    assert one.until(0, 2)[:1] == protocol.NOTE and b"the probe lost contact" in one.told[0][1]
    assert one.until(0, 3)[:1] == protocol.FINISHED


def test_a_call_waits_for_its_drivers_no_longer_than_it_should(learner):
    one = learner(job(evaluation_cost_ms=60_000), 0.1)
    one.start(0)
    one.exchange(Order(0, task(0, 10)), edition=1, content=snapshot(0).to_bytes())
    assert one.exchange(patience=0.0) == one.exchange(patience=0.3) == []


@pytest.mark.parametrize("name", sorted(versions()))
def test_other_versions_start_nothing(name):
    """The job is not even looked at, which other versions might not be able to."""
    learners = versions() | {name: "0.1"}
    agent = Agent()
    assert difference(agent.begin(learners, b"not a pickle", 30.0, 1.0), learners).startswith(f"{name} ")
    assert not hasattr(agent, "_fleet")


def test_differences_are_told_in_words():
    ours = {"Python": "3.11", "numpy": "2.4.6"}
    assert difference(ours, ours) == ""
    assert difference(ours | {"numpy": "1.26.0"}, ours) == "numpy 1.26.0 instead of 2.4.6"
    assert difference({}, ours) == "Python None instead of 3.11, numpy None instead of 2.4.6"


def test_drivers_in_a_task_do_not_hold_up_the_end(monkeypatch):
    """An idle driver has the patience that there is to close its environments, a busy one much less."""
    monkeypatch.setattr("actors.pools.processes.BUSY_SECONDS", 0.2)
    one = Learner(job(evaluation_cost_ms=3_600_000), 3600.0)
    one.start(0, 1, 2)
    drivers = [psutil.Process(one.pid(number)) for number in range(3)]
    one.exchange(Order(1, task(0, 10)), edition=1, content=snapshot(0).to_bytes())
    one.agent.close({1})
    assert not any(driver.is_running() for driver in drivers)
