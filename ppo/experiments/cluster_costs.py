"""What drivers that are processes cost, over pipes and on two nodes of a Ray cluster, in seconds of a core."""

import statistics
import time
from typing import Any

import psutil

from actors.pools.cluster.connection import connect
from actors.pools.dealing import DealingPool
from actors.pools.factory import make_pool
from ppo.experiments.costs import cpu, play, waiting_job
from ppo.experiments.ray_nodes import AGENT, RAYLET, nodes_of

TIMEOUT = 600.0
WAIT_MS = 5.0
CALLS = 20
Figures = dict[str, float]


def over_pipes(drivers: int, rounds: int) -> Figures:
    """Measures a task of one slot of one evaluation, over pipes: seconds of the learner, and of the driver."""
    with make_pool(waiting_job(drivers, WAIT_MS), drivers, "process", TIMEOUT) as pool:
        assert isinstance(pool, DealingPool), "processes are"
        play(pool, 10)
        before = _seconds()
        learner = cpu([lambda: play(pool, 1)] * rounds) / drivers
        after = _seconds()
    return {"learner": learner, "driver": (after["driver"] - before["driver"]) / (drivers * rounds)}


def over_ray(drivers: int, rounds: int) -> Figures:
    """Measures the same on two nodes; also the seconds of agents and raylets, and how many calls there are a task."""
    with nodes_of([drivers // 2] * 2) as nodes:
        job = waiting_job(drivers, WAIT_MS)
        with make_pool(job, drivers, "ray", TIMEOUT, address=nodes.address) as pool:
            assert isinstance(pool, DealingPool), "drivers on nodes are"
            play(pool, 10)
            calls = _counted(pool._fleet)
            before = _seconds()
            learner = cpu([lambda: play(pool, 1)] * rounds) / drivers
            after = _seconds()
    shares = {part: (after[part] - before[part]) / (drivers * rounds) for part in ("driver", "agent", "raylet")}
    return {"learner": learner, "calls": len(calls) / (drivers * rounds), **shares}


def _counted(fleet: Any) -> list[None]:
    """Returns a list that grows with each answer of an agent."""
    answer, calls = fleet._answer, list[None]()

    def counted(*arguments: Any) -> Any:
        calls.append(None)
        return answer(*arguments)

    fleet._answer = counted
    return calls


def _seconds() -> Figures:
    """Returns the seconds of drivers, agents and raylets that this process has started.

    Over pipes all that it has started counts as drivers: the fork server and the keeper do nothing meanwhile.
    """
    found = {"driver": 0.0, "agent": 0.0, "raylet": 0.0}
    every = psutil.Process().children(recursive=True)
    over_pipes = not any(one.name() == RAYLET for one in every)
    for process in every:
        try:
            name, above = process.name(), [one.name() for one in process.parents()]
            part = {AGENT: "agent", RAYLET: "raylet"}.get(name, "driver" if over_pipes or AGENT in above else None)
            if part:
                found[part] += _spent(process)
        except psutil.Error:  # it has ended
            continue
    return found


class Silence:
    """An actor whose calls take as long as they are told to."""

    def wait(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def take(self, content: bytes) -> float:
        """Takes bytes; returns the seconds of its process so far."""
        return time.process_time()

    def give(self, count: int, size: int) -> list[bytes]:
        """Gives so many times so many bytes."""
        return [bytes(size) for _ in range(count)]


def on_nodes(snapshots: dict[str, bytes], answer: int, silent: int, rounds: int) -> Figures:
    """Measures what bytes, and nodes that are silent, cost over Ray.

    Args:
        snapshots: what is to be put and fetched, by name.
        answer: bytes of a slot of which 64 come at once.
        silent: number of nodes that are silent.
        rounds: how often.

    Returns:
        Seconds: ``call`` of this process for a call that does nothing, ``look`` for one silent node, ``receive`` of
        this process for a byte of answers, ``store`` of its node's raylet and ``send`` of the others; ``put NAME`` of
        this process for a snapshot and ``fetch NAME`` of an agent.
    """
    with nodes_of([2, 2]) as nodes:
        ray = connect(nodes.address, {})
        (node, *_) = [one["NodeID"] for one in ray.nodes() if one["Resources"].get("CPU")]
        there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        actor = ray.remote(num_cpus=1, max_concurrency=1, scheduling_strategy=there)(_by_value(Silence)).remote()
        many = ray.remote(num_cpus=1, max_concurrency=silent, scheduling_strategy=there)(_by_value(Silence)).remote()
        ray.get([actor.wait.remote(0.0), many.wait.remote(0.0)])

        def call() -> None:
            for _ in range(CALLS):
                reference = actor.wait.remote(0.0)
                ray.wait([reference], num_returns=1, timeout=1.0)
                ray.get(reference)

        found = {"call": cpu([call] * rounds) / CALLS}
        found["look"] = _look(ray, many, silent, rounds)
        found |= _received(ray, actor, answer, rounds)
        for name, content in snapshots.items():
            found |= _fetched(ray, actor, name, content, rounds)
        return found


def _by_value(kind: type) -> type:
    """Returns a class that travels as it is, so that no node imports this module."""
    return type(kind.__name__, (), {name: function for name, function in vars(kind).items() if callable(function)})


def _look(ray: Any, actor: Any, silent: int, rounds: int) -> float:
    """Measures what one more node costs a wait."""

    def looking(references: list[Any]) -> float:
        return cpu([lambda: [ray.wait(references, num_returns=1, timeout=0) for _ in range(10)]] * rounds) / 10

    references = [actor.wait.remote(5.0) for _ in range(silent)]
    time.sleep(1.0)
    seconds = (looking(references) - looking(references[:2])) / (silent - 2)
    ray.get(references)
    return seconds


def _received(ray: Any, actor: Any, answer: int, rounds: int) -> Figures:
    """Measures what a byte costs that comes through the object stores."""
    raylets = [one for one in psutil.Process().children(recursive=True) if one.name() == RAYLET]
    head, *others = sorted(raylets, key=psutil.Process.create_time)

    def get() -> None:
        assert len(ray.get(actor.give.remote(64, answer))) == 64, "what was asked for"

    get()
    before = [_spent(head), sum(map(_spent, others))]
    seconds = cpu([get] * rounds)
    after = [_spent(head), sum(map(_spent, others))]
    store, send = [(b - a) / rounds for a, b in zip(before, after, strict=True)]
    return {name: value / (64 * answer) for name, value in (("receive", seconds), ("store", store), ("send", send))}


def _fetched(ray: Any, actor: Any, name: str, content: bytes, rounds: int) -> Figures:
    """Measures what a snapshot costs that is put into the store and fetched by an agent."""
    spent, fetched = [], []

    def put() -> Any:
        started = time.process_time()
        reference = ray.put(content)
        spent.append(time.process_time() - started)
        return reference

    before = ray.get(actor.take.remote(b""))
    for _ in range(rounds):
        after = ray.get(actor.take.remote(put()))
        fetched.append(after - before)
        before = after
    return {f"put {name}": statistics.median(spent), f"fetch {name}": statistics.median(fetched)}


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
