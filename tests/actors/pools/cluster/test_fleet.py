"""Nodes that are lost, silent, of other versions, that join and leave, change no result; what is sent is as little."""

import dataclasses
import pickle
import types
import weakref

import numpy as np
import pytest

from actors.job import Kind
from actors.pools import protocol
from actors.pools.base import DriverError
from actors.pools.cluster import agent, fleet, node
from actors.pools.cluster.fleet import INLINE_BYTES, MOST_FAILURES, UNSURE_SECONDS, RayFleet, RayPool
from actors.pools.factory import make_pool
from actors.pools.processes import CLOSE_SECONDS
from env import UsageError
from tests.actors.pools.cluster.fake_ray import (
    ActorDiedError,
    ActorUnavailableError,
    FakeRay,
    LocalFleet,
    ObjectLostError,
    RayError,
)
from tests.actors.pools.rounds import copy_of, job, run, same, snapshot
from tests.actors.pools.test_dealing import FakeHandle
from tests.actors.pools.test_record import Kept

TIMEOUT = 60.0


@pytest.fixture
def cluster(monkeypatch):
    """Returns a maker of clusters that pools then join; drivers of their agents are in this process."""

    def make(*cpus):
        ray = FakeRay(*cpus)
        clock = types.SimpleNamespace(monotonic=lambda: ray.time, sleep=ray.pass_time)
        for module in (agent, fleet, node):
            monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(fleet, "connect", lambda address, environment: ray)
        monkeypatch.setattr(agent, "ProcessFleet", LocalFleet)
        monkeypatch.setattr(agent, "ProcessHandle", FakeHandle)
        return ray

    return make


def pool_of(drivers, a_job=None):
    return RayPool(a_job or job(), drivers, None, TIMEOUT)


def per_node(pool):
    """Returns how many drivers there are on each node."""
    return {one.identifier: len(one._handles) for one in pool._fleet._nodes.values()}


def rest(pool, ray, seconds):
    """Lets time pass in which the pool does no more than look around."""
    until = ray.time + seconds
    while ray.time < until:
        for event in pool._fleet.wait(until - ray.time):
            pool._handle(event)
        pool._fill()


@pytest.mark.parametrize("drivers", [1, 3, 4, 16])
def test_the_same_trajectories_as_in_this_process(drivers, cluster, expected):
    cluster(2, 2)
    with pool_of(drivers) as pool:
        assert pool.cores == 4
        for step in range(4):
            assert same(run(pool, step)[0], expected[step])
        assert same(run(pool, 4, Kind.EVALUATE)[0], expected[4])
        assert sum(per_node(pool).values()) == min(drivers, 10) == pool.drivers
        assert pool.restarts == 0


def test_real_drivers_of_two_agents_in_this_process(monkeypatch, expected):
    ray = FakeRay(1, 1)
    monkeypatch.setattr(fleet, "connect", lambda address, environment: ray)
    with pool_of(2) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert per_node(pool) == {"a": 1, "b": 1}


def test_an_exception_of_the_users_arrives_with_its_own_traceback(monkeypatch):
    ray = FakeRay(2)
    monkeypatch.setattr(fleet, "connect", lambda address, environment: ray)
    with pool_of(2, job("tests.problems:RaisesRowByRow")) as pool, pytest.raises(DriverError) as caught:
        run(pool, 2)
    assert str(caught.value).endswith("failed: ValueError: the probe lost contact")
    assert caught.value.slot.start in (1, 7)
    assert 'raise ValueError("the probe lost contact")' in str(caught.value.__cause__)


def test_agents_are_asked_for_with_nothing_that_ray_would_do_by_itself(cluster):
    ray = cluster(4, 2, 0)
    with pool_of(9):
        pass
    options = [[one.options for one in found.agents] for found in ray.found]
    never = {"max_restarts": 0, "max_task_retries": 0}
    assert options == [[{"num_cpus": 4} | never], [{"num_cpus": 2} | never], []]  # the third has no processors
    assert [len(ray.found[i].agent._fleet.handles) for i in range(2)] == [6, 3]


@pytest.mark.parametrize("sampler", ["random", "env"])
def test_the_job_is_sent_with_its_description_and_without_directories(sampler, cluster):
    ray = cluster(2, 2)
    a_job = dataclasses.replace(job(sampler=sampler), profile="/home/me/profiles")
    with pool_of(4, a_job):
        for found in ray.found:
            method, (_, content, *_) = found.calls[0]
            sent = pickle.loads(content)
            assert method == "begin" and sent.profile is None and "description" in vars(sent)
    assert ray.stored == []


def test_a_large_job_is_put_once(cluster, expected):
    ray = cluster(2, 2)
    with pool_of(4, dataclasses.replace(job(), eval_starts=np.zeros((INLINE_BYTES // 16, 3)))) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert len(ray.stored) == 1 and pickle.loads(ray.stored[0]).episodes == 10


def test_a_mistake_in_the_job_is_told_before_anything_is_joined(monkeypatch):
    monkeypatch.setattr(fleet, "connect", lambda *arguments: pytest.fail("a cluster was joined"))
    with pytest.raises(UsageError, match="cannot be set"):
        pool_of(2, job("tests.problems:CountdownEnv", sampler="lhs"))


def run_one_by_one(pool, step, snap=None):
    """Runs a round whose slots are tasks of their own, so that all drivers have one."""
    pool.submit(step, snap or snapshot(step), Kind.COLLECT, Kept(slot_by_slot=True))
    return copy_of(pool.result().trajectory)


def orders(ray):
    """Returns orders, edition and snapshot of each call of any agent."""
    return [
        arguments for found in ray.found for one in found.agents for name, arguments in one.calls if name == "exchange"
    ]


def snapshots(ray):
    """Returns what came with the calls as the snapshot, unless nothing did."""
    return [sent for _, _, sent, _ in orders(ray) if not isinstance(sent, bytes) or sent]


def test_a_small_snapshot_goes_with_the_call_itself(cluster):
    ray = cluster(2, 2)
    with pool_of(4) as pool:
        rest(pool, ray, 2)
        run_one_by_one(pool, 0)
        run_one_by_one(pool, 1)
        assert snapshots(ray) == [snapshot(0).to_bytes(), snapshot(1).to_bytes()] * 2  # once to each of the nodes
        assert ray.stored == []


def test_a_large_snapshot_is_put_once_a_step_and_let_go_of_after_it(cluster):
    large = [snapshot(step, hidden=(120, 120)) for step in range(3)]
    assert len(large[0].to_bytes()) > INLINE_BYTES
    ray = cluster(2, 2)
    with make_pool(job(), 0, "process", 0) as here, pool_of(4) as pool:
        rest(pool, ray, 2)
        for step, snap in enumerate(large):
            assert same(run_one_by_one(pool, step, snap), run(here, step, snap=snap)[0])
            assert pool._fleet._reference is None
        assert ray.stored == [snap.to_bytes() for snap in large]
        sent = snapshots(ray)
        assert len(sent) == 6 and len(set(map(id, sent))) == 3
        references = [weakref.ref(one) for one in sent]
        del sent
        for found in ray.found:
            found.calls.clear()
        assert not any(one() for one in references)


def test_the_limit_of_what_goes_with_a_call(cluster):
    ray = cluster(2)
    with pool_of(1) as pool:
        for size, stored in ((INLINE_BYTES, 0), (INLINE_BYTES + 1, 1)):
            pool._fleet.share(bytes(size))
            pool._roster.idle[0].handle.send(protocol.POLICY)
            pool._fleet._call(pool._fleet._nodes["a"])
            assert len(ray.stored) == stored
            pool._fleet._nodes["a"].pending = None


def test_a_snapshot_that_takes_the_place_of_another_is_the_one_that_is_sent(cluster):
    """A broadcast is not followed by a merge, after which the snapshot is let go of."""
    cluster(2)
    first, second = (snapshot(version, hidden=(120, 120)) for version in range(2))
    with make_pool(job(), 0, "process", 0) as here, pool_of(2) as pool:
        pool.broadcast(first)
        assert same(run(pool, 1, snap=second)[0], run(here, 1, snap=second)[0])


def test_a_broadcast_snapshot_is_not_sent_again(cluster, expected):
    ray = cluster(2, 2)
    with pool_of(4) as pool:
        rest(pool, ray, 2)
        assert pool.broadcast(snapshot(0)) >= 0
        assert same(run(pool, 0)[0], expected[0])
        assert len(snapshots(ray)) == 2


def test_when_drivers_of_another_clock_held_the_snapshot(cluster, monkeypatch):
    ray = cluster(2)
    ahead = types.SimpleNamespace(monotonic=lambda: ray.time + 5000.0)
    monkeypatch.setattr(agent, "time", ahead)
    with pool_of(2) as pool:
        run(pool, 0)
        assert pool._roster.drivers[0].handle.clock_ahead == pytest.approx(5000.0, abs=0.01)


LOSSES = {
    "its process died": (ActorDiedError("killed"), True, 2),
    "its node is gone": (ActorDiedError("its node has died"), False, 0),
    "nobody knows why": (ActorUnavailableError("socket closed"), True, 0),
    "its answer is lost": (ObjectLostError("owner died"), True, 0),
    "another error": (RayError("out of memory"), True, 2),
}


@pytest.mark.parametrize(("error", "alive", "restarts"), LOSSES.values(), ids=LOSSES)
def test_an_agent_that_is_lost_in_a_step(error, alive, restarts, cluster, expected):
    """Only where its node is there, and Ray knows that, what the drivers ran may be to blame."""
    ray = cluster(2, 2)
    record = Kept()
    with pool_of(4) as pool:
        rest(pool, ray, 2)
        assert per_node(pool) == {"a": 2, "b": 2}
        pool.submit(0, snapshot(0), Kind.COLLECT, record)
        lost = ray.found[1]
        lost.error, lost.alive = error, alive
        assert same(pool.result().trajectory, expected[0])
        assert (pool.restarts, per_node(pool).get("b", 0)) == (restarts, 0)
        assert sorted(record.arrived_slots) == list(range(10))
        lost.error = None
        rest(pool, ray, 3)
        assert per_node(pool) == ({"a": 2, "b": 2} if restarts else {"a": 4})  # it is not asked yet whether it is there
        rest(pool, ray, UNSURE_SECONDS)
        assert per_node(pool) == ({"a": 2, "b": 2} if alive else {"a": 4})
        assert len(lost.agents) == 1 + alive and lost.agents[0].killed
        assert same(run(pool, 1)[0], expected[1])


def test_the_only_agent_lost_again_and_again(cluster, expected):
    """Its slots are not blamed, however often: nobody knows that its node is there."""
    ray = cluster(2)
    with pool_of(2) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        for _ in range(8):
            ray.found[0].error = ActorUnavailableError("socket closed")
            pool._deal(pool._round)
            pool._handle_events()
            ray.found[0].error = None
            while not len(pool._roster) or not pool._roster.all_ready:
                pool._handle_events()
        assert same(pool.result().trajectory, expected[0])
        assert pool.restarts == 0 and len(ray.found[0].agents) == 9


def test_a_slot_that_ends_every_agent_ends_the_run(cluster):
    ray = cluster(1)
    with pool_of(1) as pool, pytest.raises(DriverError, match=r"died in slot \d of step 0, and 4 before it did"):
        pool.submit(0, snapshot(0), Kind.COLLECT)
        while True:
            pool._deal(pool._round)
            at_work = len(pool._roster) and pool._roster.drivers[0].task
            ray.found[0].error = ActorDiedError("out of memory") if at_work else None
            pool._handle_events()


@pytest.mark.parametrize("drivers", [4, 24])
def test_a_silent_agent_costs_the_time_limit(drivers, cluster):
    """And no driver is started on its node in the meantime, of which a few that never start would end the run."""
    a_job, each = job(episodes=24), drivers // 2
    with make_pool(a_job, 0, "process", 0) as here:
        expected = [run(here, step)[0] for step in range(2)]
    ray = cluster(2, 2)
    with pool_of(drivers, a_job) as pool:
        rest(pool, ray, 2)
        pool.submit(0, snapshot(0), Kind.COLLECT)
        silent, began = ray.found[1], ray.time
        silent.silent = True
        assert same(pool.result().trajectory, expected[0])
        assert TIMEOUT <= ray.time - began < TIMEOUT + 3
        assert silent.agents[0].killed
        assert pool.restarts == each
        assert per_node(pool)["a"] == each
        silent.silent = False
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": each, "b": each}
        assert same(run(pool, 1)[0], expected[1])


@pytest.mark.parametrize("error", [ActorDiedError("its node has died"), ActorUnavailableError("socket closed")])
def test_a_node_that_leaves_as_its_drivers_start(error, cluster):
    """No driver has failed to start, however many there were."""
    a_job = job(episodes=24)
    with make_pool(a_job, 0, "process", 0) as here:
        expected = run(here, 0)[0]
    ray = cluster(2, 2)
    leaving = ray.found[1]
    leaving.silent = True
    with pool_of(24, a_job) as pool:
        leaving.silent = False
        while per_node(pool)["b"] == 0:
            pool._handle_events()
        leaving.error, leaving.alive = error, False
        assert same(run(pool, 0)[0], expected)
        assert (pool.restarts, per_node(pool)) == (0, {"a": 12})


def test_drivers_that_take_too_long_are_replaced_on_their_node(cluster, expected):
    ray = cluster(2)
    with pool_of(2) as pool:
        pool.submit(0, snapshot(0), Kind.COLLECT)
        slow = ray.found[0].agent._fleet
        slow.slow = True
        ray.plan(TIMEOUT + 1, lambda: setattr(slow, "slow", False))
        assert same(pool.result().trajectory, expected[0])
        assert pool.restarts == 2
        assert [one.ended for one in slow.handles] == [True, True, False, False]
        assert len(ray.found[0].agents) == 1


def test_an_agent_that_never_begins_blocks_nothing(cluster, expected):
    """Such as where another job has all processors of its node: others have their share, and one that joins as well."""
    ray = cluster(2, 2)
    ray.found[1].silent = True
    with pool_of(4) as pool:
        assert same(run(pool, 0)[0], expected[0])
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 2, "b": 0}
        rest(pool, ray, 2 * TIMEOUT)
        assert per_node(pool) == {"a": 4, "b": 0}
        ray.join(2)
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 2, "b": 0, "c": 2}
        assert same(run(pool, 1)[0], expected[1])
        ray.found[1].silent = False  # it begins after all, and has its share then
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 2, "b": 1, "c": 1}
        ray.found[2].alive, ray.found[2].error = False, ActorDiedError("its node has died")
        assert same(run_one_by_one(pool, 2), expected[2])
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 2, "b": 2}
        assert pool.restarts == 0


def test_a_node_that_is_too_small_for_a_driver_changes_no_shares(cluster):
    """Of 10 drivers they are 1.4 and 8.6; with 3 processors more 1.36, 8.35 and 0.29, which round to 2, 8 and 0."""
    ray = cluster(14, 86)
    with pool_of(10) as pool:
        rest(pool, ray, 2)
        ray.join(3)
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 1, "b": 9}
        assert [one.places for one in pool._fleet._nodes.values()] == [1, 9]


def test_no_node_has_room_for_a_driver_that_it_could_not_keep(cluster):
    """Of 13 drivers it has 1 of 2 nodes, and would have 2 of 3, of which the third has not begun."""
    ray = cluster(7, 54)
    with pool_of(13, job(episodes=13)) as pool:
        rest(pool, ray, 2)
        ray.join(7)
        ray.found[2].silent = True
        rest(pool, ray, 3)
        assert [(one.places, one.most) for one in pool._fleet._nodes.values()] == [(1, 1), (10, 12), (1, 1)]


def test_without_any_node_the_run_ends_after_the_time_limit(cluster):
    ray = cluster(0)
    with pytest.raises(DriverError, match="there has been no driver for longer than --driver-timeout 60 s"):
        pool_of(2)
    assert ray.time < 100 + TIMEOUT + 2


def test_nodes_join_and_leave(cluster, expected):
    ray = cluster(2)
    with pool_of(6) as pool:  # six on two processors
        rest(pool, ray, 2)
        assert per_node(pool) == {"a": 6}
    ray = cluster(2, 2, 2)
    with pool_of(6) as pool:
        rest(pool, ray, 2)
        assert same(run(pool, 0)[0], expected[0])
        for gone in ray.found[:2]:
            gone.alive, gone.error = False, ActorDiedError("its node has died")
        assert same(run(pool, 1)[0], expected[1])
        rest(pool, ray, 2)
        assert per_node(pool) == {"c": 6}
        ray.join(1)
        ray.join(8)
        rest(pool, ray, 3)
        assert per_node(pool) == {"c": 1, "d": 1, "e": 4}
        assert same(run(pool, 2)[0], expected[2])
        assert pool.restarts == 0


def test_drivers_move_to_a_node_that_joins_when_they_have_nothing_to_do(cluster, expected):
    ray = cluster(2)
    with pool_of(4) as pool:
        rest(pool, ray, 2)
        assert per_node(pool) == {"a": 4}
        pool.submit(0, snapshot(0), Kind.COLLECT, Kept(slot_by_slot=True))
        ray.found[0].agent._fleet.slow = True
        ray.join(2)
        rest(pool, ray, 3)
        assert per_node(pool) == {"a": 4, "b": 0}  # which works
        ray.found[0].agent._fleet.slow = False
        assert same(pool.result().trajectory, expected[0])
        rest(pool, ray, 1)
        assert per_node(pool) == {"a": 2, "b": 2}
        assert same(run(pool, 1)[0], expected[1])
        assert pool.restarts == 0


def test_a_node_that_joins_in_a_step_takes_part_in_it(cluster, expected):
    ray = cluster(1)
    lost = ray.found[0]

    def leave():
        lost.alive, lost.error = False, ActorDiedError("its node has died")

    with pool_of(2) as pool:
        lost.agent._fleet.slow = True
        ray.plan(2.0, leave)
        ray.plan(4.0, lambda: ray.join(2))
        assert same(run(pool, 0)[0], expected[0])
        assert (per_node(pool), pool.restarts) == ({"b": 2}, 0)


def test_a_node_with_another_numpy_is_left_out(cluster, expected):
    ray = cluster(2, 2)
    ray.found[0].versions = {"numpy": "1.26.0"}
    with pool_of(4) as pool:
        assert same(run(pool, 0)[0], expected[0])
        rest(pool, ray, 5)
        assert per_node(pool) == {"b": 4}
        assert pool.choice.startswith("a node is not used: 10.0.0.1 has numpy 1.26.0 instead of ")
        assert len(ray.found[0].agents) == 1 and ray.found[0].agents[0].killed


def test_where_the_last_node_has_another_numpy_the_run_ends_with_one_line(cluster):
    ray = cluster(2, 2)
    for one, version in zip(ray.found, ("1.26.0", "2.0.0"), strict=True):
        one.versions = {"numpy": version, "machine": "aarch64"}
    with pytest.raises(UsageError) as caught:
        pool_of(4)
    ours = agent.versions()
    other = "has machine aarch64 instead of {machine}, numpy {} instead of {numpy}"
    told = [f"10.0.0.{i} {other.format(version, **ours)}" for i, version in ((1, "1.26.0"), (2, "2.0.0"))]
    assert str(caught.value) == f"--backend ray: no node of the cluster can be used: {'; '.join(told)}"


def test_nodes_whose_agents_were_lost_a_moment_ago_can_be_used(cluster, expected):
    """As the last agent that is left turns out to have another NumPy."""
    ray = cluster(1, 1, 1)
    *lost, other = ray.found
    other.silent, other.versions = True, {"numpy": "1.26.0"}
    with pool_of(3) as pool:
        rest(pool, ray, 2)
        pool.submit(0, snapshot(0), Kind.COLLECT)
        for one in lost:
            one.error = ActorUnavailableError("socket closed")
        other.silent = False
        ray.plan(1.5, lambda: [setattr(one, "error", None) for one in lost])
        assert same(pool.result().trajectory, expected[0])
        rest(pool, ray, UNSURE_SECONDS)
        assert per_node(pool) == {"a": 2, "b": 1}


def test_a_node_whose_agents_cannot_begin_is_left_out(cluster, expected):
    ray = cluster(2, 2)
    ray.found[0].error = RayError("the runtime environment\ncannot be set up")
    with pool_of(4) as pool:
        assert same(run(pool, 0)[0], expected[0])
        rest(pool, ray, 20)
        assert len(ray.found[0].agents) == MOST_FAILURES
        assert same(run(pool, 1)[0], expected[1])
    ray = cluster(2)
    ray.found[0].error = RayError("the runtime environment\ncannot be set up")
    why = "10.0.0.1 failed 5 times: the runtime environment cannot be set up"
    with pytest.raises(UsageError, match=f"^--backend ray: no node of the cluster can be used: {why}$"):
        pool_of(4)


def test_an_agent_that_begins_at_last_is_used(cluster, expected):
    ray = cluster(2)
    ray.found[0].error = RayError("not yet")
    ray.plan(3.5, lambda: setattr(ray.found[0], "error", None))
    with pool_of(2) as pool:
        assert same(run(pool, 0)[0], expected[0])
        assert len(ray.found[0].agents) == MOST_FAILURES
        ray.found[0].error = RayError("no more")  # what was before is not held against it
        ray.plan(3.5, lambda: setattr(ray.found[0], "error", None))
        assert same(run(pool, 1)[0], expected[1])


def test_an_exception_in_an_agent_ends_the_run_with_its_node(cluster):
    ray = cluster(1)
    with pool_of(1) as pool:
        ray.found[0].agent._fleet.share = lambda snapshot: (_ for _ in ()).throw(OSError("no space left on device"))
        with pytest.raises(DriverError, match=r"^node 10\.0\.0\.1 failed: OSError: no space left on device$") as caught:
            run(pool, 0)
    assert "Traceback" in str(caught.value.__cause__)


def test_a_driver_is_started_where_there_is_most_room(cluster):
    ray = cluster(4, 2)
    for found in ray.found:
        found.silent = True
    fleet = RayFleet(job(), 6, None, TIMEOUT, 1.0)
    list(fleet.wait(0.0))
    assert fleet.start(0) is None  # no agent has begun
    for found in ray.found:
        found.silent = False
    list(fleet.wait(0.0))
    assert [fleet.start(index).node.identifier for index in range(6)] == ["a", "a", "a", "b", "a", "b"]
    assert fleet.start(6) is None


def test_at_the_end_agents_are_told_who_is_busy_and_end(cluster):
    ray = cluster(2, 2, 2, 2)
    never, late = ray.found[2:]
    never.silent = True
    pool = pool_of(8)
    rest(pool, ray, 2)
    pool.submit(0, snapshot(0), Kind.COLLECT)
    busy = {driver.handle.number for driver in pool._roster.drivers if driver.task}
    late.silent = True
    began = ray.time
    pool.close()
    assert CLOSE_SECONDS <= ray.time - began <= 2 * CLOSE_SECONDS  # the agents' own patience, and as much again
    for found in ray.found[:2]:
        assert [name for name, _ in found.calls[-2:]] == ["close", "__ray_terminate__"] and found.calls[-2][1] == (
            busy,
        )
        works = [works for _, works in found.agent._fleet.closed]
        assert works == [number in busy for number in found.agent._handles] and any(works)
    assert [name for name, _ in never.calls] == ["begin"]
    assert [(found.agents[0].ended, found.agents[0].killed) for found in ray.found] == [(True, 0)] * 2 + [
        (False, 1)
    ] * 2
    assert pool._fleet._job is None


def test_no_more_drivers_are_started_than_a_round_has_slots(cluster):
    ray = cluster(8)
    with pool_of(64) as pool:
        assert pool.drivers == 10
        assert len(ray.found[0].agent._fleet.handles) == 10
