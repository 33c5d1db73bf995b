"""The learner's side of a node: its share of the drivers, its clock, and which calls of its agent are of use."""

import random
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.job import Kind, Task
from actors.pools import protocol
from actors.pools.cluster import node as nodes
from actors.pools.cluster.agent import END, Exchanged, Order
from actors.pools.cluster.node import POLL_SECONDS, Node, places_of

TASK = protocol.pack_task(Task(Kind.COLLECT, 0, 0, 1), 1, 1, b"")


@pytest.mark.parametrize(
    ("drivers", "cpus", "places"),
    [
        (0, [2, 2], [0, 0]),
        (1, [2, 2], [1, 0]),
        (3, [2, 2], [2, 1]),
        (4, [2, 2], [2, 2]),
        (4, [1, 3], [1, 3]),
        (5, [8], [5]),
        (10, [4, 4, 2], [4, 4, 2]),
        (100, [64, 32, 4], [64, 32, 4]),
        (7, [1, 1, 1], [3, 2, 2]),
        (6, [10, 1], [5, 1]),
        (1, [10, 1], [1, 0]),
    ],
)
def test_drivers_are_spread_by_processors(drivers, cpus, places):
    assert places_of(drivers, cpus) == places


@given(st.integers(0, 10_000), st.lists(st.integers(1, 500), min_size=1, max_size=40))
def test_shares_add_up_and_are_within_one_of_the_proportion(drivers, cpus):
    places = places_of(drivers, cpus)
    assert sum(places) == drivers
    assert all(abs(one - drivers * mine / sum(cpus)) < 1 for one, mine in zip(places, cpus, strict=True))


class FakeAgent:
    """Keeps what it is called with; ``exchange.remote`` is how Ray calls a method."""

    def __init__(self):
        self.calls = []
        self.exchange = types.SimpleNamespace(remote=self._call)

    def _call(self, *arguments):
        self.calls.append(arguments)
        return object()


@pytest.fixture
def clock(monkeypatch):
    """Returns a clock that stands still until it is set."""
    clock = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(nodes.time, "monotonic", lambda: clock.now)
    return clock


def ready(places=3):
    node = Node("a", "10.0.0.7", places, FakeAgent(), "beginning")
    node.pending, node.ready = None, True
    return node


def told(node, *messages):
    return node.told(Exchanged(list(messages), 0.0, 0.0))


def test_a_node_has_room_once_its_agent_has_begun():
    node = Node("a", "10.0.0.7", 2, FakeAgent(), "beginning")
    assert (node.pending, node.free) == ("beginning", 0)
    node.pending, node.ready = None, True
    assert node.free == 2
    handles = [node.start(number, number) for number in (5, 6)]
    assert node.free == 0
    node.end(handles[0])
    assert node.free == 1
    node.lose()
    assert node.free == 0


def test_orders_go_with_the_next_call_in_their_sequence():
    node = ready()
    first, second = node.start(5, 0), node.start(6, 1)
    node.call(0, b"")
    assert node.agent.calls == [([Order(5, protocol.START, 0), Order(6, protocol.START, 1)], 0, b"", POLL_SECONDS)]
    assert told(node, (5, protocol.READY)) == [(first, protocol.READY)]
    node.call(0, b"")  # for the other one
    first.send(TASK)
    second.end()
    node.call(1, b"policy")  # one is under way
    assert node.agent.calls[1:] == [([], 0, b"", POLL_SECONDS)] and node.needs(1)
    told(node)
    node.call(1, b"policy")
    assert node.agent.calls[2:] == [([Order(5, TASK), Order(6, END)], 1, b"policy", POLL_SECONDS)]
    assert not node.needs(1)


def test_a_snapshot_is_needed_once_and_only_for_what_is_run_under_it():
    node = ready()
    handle = node.start(5, 0)
    assert not node.needs(1)
    handle.send(protocol.POLICY)
    assert node.needs(1)
    node.call(1, b"policy")
    told(node, (5, protocol.READY))
    handle.send(TASK)
    assert not node.needs(1) and node.needs(2)


def test_no_call_is_made_that_nobody_waits_for():
    node = ready()
    node.call(0, b"")
    handle = node.start(5, 0)
    node.call(0, b"")
    told(node, (5, protocol.READY))
    node.call(0, b"")
    assert len(node.agent.calls) == 1
    handle.send(TASK)
    for _ in range(3):
        node.call(0, b"")
        told(node)  # not yet
    assert len(node.agent.calls) == 4 and node.working == {5}
    node.call(0, b"")
    told(node, (5, protocol.NOTE + b"failed"))
    assert node.working == {5}  # the answer follows
    node.call(0, b"")
    assert told(node, (5, protocol.FINISHED)) == [(handle, protocol.FINISHED)]
    node.call(0, b"")
    assert len(node.agent.calls) == 6 and node.working == set()


@pytest.mark.parametrize("last", [None, protocol.pack_error(None, "oh")])
def test_a_driver_that_is_gone_is_not_waited_for(last):
    node = ready()
    handle = node.start(5, 0)
    node.call(0, b"")
    assert told(node, (5, last)) == [(handle, last)]
    assert node.working == set()


def test_an_end_is_ordered_without_waiting_for_anything():
    node = ready()
    handle = node.start(5, 0)
    node.call(0, b"")
    handle.end()
    handle.end()  # is ended once
    assert told(node) == []
    node.call(0, b"")
    assert told(node, (5, protocol.READY)) == []  # which nobody wants to know any more
    node.call(0, b"")
    assert node.agent.calls[1:] == [([Order(5, END)], 0, b"", 0.0)]


def test_a_lost_node_tells_its_drivers_and_takes_no_orders():
    node = ready()
    handles = [node.start(5, 0), node.start(6, 1)]
    handles.pop(0).end()
    node.call(0, b"")
    assert node.lose() == handles and node.pending is None
    with pytest.raises(BrokenPipeError):
        handles[0].send(TASK)
    handles[0].end()
    assert len(node.agent.calls) == 1


def call(node, clock, ahead, there, work, back):
    """Makes a call that is ``there`` seconds on its way, ``work`` there and ``back`` on its way home."""
    node.start(int(clock.now * 1000), 0)
    node.call(0, b"")
    arrived = clock.now + there + ahead
    clock.now += there + work + back
    node.told(Exchanged([], arrived, arrived + work))


@pytest.mark.parametrize("ahead", [0.0, 5000.0, -0.25])
def test_the_clocks_difference_comes_from_the_quickest_call(ahead, clock):
    node = ready(99)
    call(node, clock, ahead, 0.03, 7.0, 0.01)
    assert node.clock_ahead == pytest.approx(ahead + 0.01)
    call(node, clock, ahead, 0.001, 0.1, 0.001)
    assert node.clock_ahead == pytest.approx(ahead)
    call(node, clock, ahead, 0.5, 0.0, 0.001)
    assert node.clock_ahead == pytest.approx(ahead)
    assert node.start(1, 0).clock_ahead == node.clock_ahead


def test_clocks_that_drift_apart_are_followed(clock):
    dice, node = random.Random(0), ready(9999)
    for _ in range(300):
        clock.now += 3600
        call(node, clock, 1e-5 * clock.now, 0.01 * dice.random(), 0.1, 0.01 * dice.random())
    assert node.clock_ahead == pytest.approx(1e-5 * clock.now, abs=64 * 3600e-5 + 0.01)
