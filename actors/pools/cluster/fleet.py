"""Drivers on the nodes of a Ray cluster, as the pool sees them."""

import itertools
import pickle
import time
from collections.abc import Iterable, Iterator
from typing import Any

from actors.draws import job_sampler
from actors.job import Job
from actors.pools import protocol
from actors.pools.base import DriverError
from actors.pools.cluster.agent import Agent
from actors.pools.cluster.connection import connect
from actors.pools.cluster.node import Node, NodeHandle, places_of
from actors.pools.cluster.travel import runtime_env, sent
from actors.pools.cluster.versions import difference, kernel_variables, versions
from actors.pools.dealing import DealingPool, RemoteError
from actors.pools.fleet import Event
from actors.pools.processes import CLOSE_SECONDS, fewer
from env.errors import UsageError

LOOK_SECONDS = 1.0
"""How often the learner looks which nodes there are."""
INLINE_BYTES = 100_000
"""Up to here Ray sends bytes with the call itself; above, they are put into its store once for all nodes."""
UNSURE_SECONDS = 20.0
"""For so long a node gets no other agent after one could not be reached: by then Ray knows whether the node is there.

Until then an agent on one that is gone would hold up those of others in Ray's scheduler.
"""
MOST_FAILURES = 5
"""How often the agent of a node may fail as it begins, before the node is left out."""


class RayFleet:
    """Driver processes on the nodes of a cluster, of which an agent each starts its share, by its processors.

    Nothing is retried by Ray: an agent that is lost is ended, and begun anew where its node is there.

    Args:
        job: what the drivers run.
        drivers: how many there are to be.
        address: as in ``connect``.
        timeout: seconds after which an agent that does not answer is given up, and as in ``ProcessFleet``; 0 for no
            limit.
        patience: seconds that all drivers together may take to close their environments.

    Attributes:
        left_out: why nodes are not used, by their identifiers.

    Raises:
        UsageError: the job cannot work, or there is no such cluster.
    """

    far = True

    def __init__(self, job: Job, drivers: int, address: str | None, timeout: float, patience: float):
        job_sampler(job)  # what cannot work is told before anything is started
        travelling = sent(job)
        _ = travelling.description  # is pickled with it, so that no agent makes an environment to learn its shapes
        self._ray = connect(address, runtime_env(job) | {"env_vars": kernel_variables()})
        self._drivers, self._timeout, self._patience = drivers, timeout, patience
        self._job = self._parcel(pickle.dumps(travelling))
        self._nodes: dict[str, Node] = {}
        self._failures: dict[str, int] = {}
        self._left: dict[str, float] = {}  # when nodes have left
        self.left_out: dict[str, str] = {}
        self._looked = -LOOK_SECONDS
        self._numbers = itertools.count()
        self._content, self._edition, self._reference = b"", 0, None

    @property
    def cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def now(self) -> float:
        return time.monotonic()

    def share(self, snapshot: bytes) -> tuple[bytes, int]:
        if snapshot != self._content:
            self._content, self._edition, self._reference = snapshot, self._edition + 1, None
        return protocol.pack_block(self._edition, len(snapshot), ""), self._edition

    def _parcel(self, content: bytes) -> Any:
        """Returns content as it is sent: itself where it is small, else a reference to it in Ray's store.

        From there a node may have to wait for 10 s, where Ray would have it from one that is gone.
        """
        return self._ray.put(content) if len(content) > INLINE_BYTES else content

    def rest(self) -> None:
        """Lets go of the snapshot in Ray's store."""
        self._reference = None

    def start(self, index: int) -> NodeHandle | None:
        node = max(self._nodes.values(), key=lambda one: one.free, default=None)
        return node.start(next(self._numbers), index) if node is not None and node.free else None

    def wait(self, timeout: float | None) -> Iterator[Event]:
        until = float("inf") if timeout is None else self.now() + timeout
        while True:
            self._look_for_nodes()
            for node in self._nodes.values():
                self._call(node)
            pending = {node.pending: node for node in self._nodes.values() if node.pending is not None}
            seconds = max(0.0, min(until - self.now(), LOOK_SECONDS))
            if not pending:
                time.sleep(seconds)
            answered = self._ray.wait(list(pending), num_returns=1, timeout=seconds)[0] if pending else []
            if len(pending) > 1 and answered:
                answered = self._ray.wait(list(pending), num_returns=len(pending), timeout=0)[0]
            events, room = [], False
            for reference in answered:
                found = self._answer(pending[reference], reference)
                room |= found is None
                events += found or []
            events += [event for node in list(pending.values()) if self._silent(node) for event in self._lose(node)]
            events += [Event(handle, None, True) for node in self._nodes.values() for handle in node.surplus()]
            yield from events
            if events or room or self.now() >= until:
                return

    def _call(self, node: Node) -> None:
        """Makes the next call of a node's agent, if there is one to make."""
        if not node.ready or node.pending is not None:
            return
        snapshot: Any = b""
        if node.needs(self._edition):
            snapshot = self._reference = self._reference or self._parcel(self._content)
        node.call(self._edition, snapshot)

    def _answer(self, node: Node, reference: Any) -> list[Event] | None:
        """Takes in what came of a call; None where a node has room for drivers now.

        Raises:
            DriverError: the agent raised an exception.
        """
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(reference)
        except errors.RayTaskError as error:
            last = str(error).strip().splitlines()[-1]
            raise DriverError(f"node {node.name} failed: {last}") from RemoteError(str(error))
        except errors.RayError as error:
            return self._lose(node, error)
        if node.ready:
            return [Event(handle, message) for handle, message in node.told(answer)]
        node.pending = None
        if reason := difference(answer, versions()):
            self._leave_out(node, f"has {reason}")
            return []
        node.ready = True
        self._failures.pop(node.identifier, None)
        self._look_for_nodes(due=True)  # the others have less from now on
        return None

    def _silent(self, node: Node) -> bool:
        """Returns whether an agent has not answered for too long."""
        return bool(self._timeout) and node.ready and node.silence > self._timeout

    def _lose(self, node: Node, error: Exception | None = None) -> list[Event]:
        """Gives up an agent that is gone or silent; its node gets another one when it is looked for again."""
        del self._nodes[node.identifier]
        self._ray.kill(node.agent)
        if not node.ready:
            failures = self._failures[node.identifier] = self._failures.get(node.identifier, 0) + 1
            if failures >= MOST_FAILURES:
                self._leave_out(node, f"failed {failures} times: {' '.join(str(error).split())}")
        if left := error is not None and self._has_left(node, error):
            self._left[node.identifier] = self.now()
        return [Event(handle, None, left) for handle in node.lose()]

    def _has_left(self, node: Node, error: Exception) -> bool:
        """Returns whether an agent is gone with its node, for which nothing that ran there is to blame.

        Of an agent that has ended alone Ray knows at once. Of a node it knows only later, some 15 s after its processes
        were killed; until then it says that the agent cannot be reached, or that what it has answered is lost.
        """
        errors = self._ray.exceptions
        unknown = errors.ActorUnavailableError, errors.ObjectLostError
        there = {one["NodeID"] for one in self._ray.nodes() if one["Alive"]}
        return isinstance(error, unknown) or node.identifier not in there

    def _leave_out(self, node: Node, reason: str) -> None:
        """Uses a node no more.

        Raises:
            UsageError: there is no other one.
        """
        self.left_out[node.identifier] = f"{node.name} {reason}"
        self._ray.kill(node.agent)
        self._nodes.pop(node.identifier, None)
        if not self._usable():
            words = "; ".join(self.left_out.values())
            raise UsageError(f"--backend ray: no node of the cluster can be used: {words}")

    def _usable(self) -> list[tuple[dict[str, Any], int]]:
        """Returns the nodes that can be used, as Ray describes them, and their numbers of processors."""
        found = [(one, int(one["Resources"].get("CPU", 0))) for one in self._ray.nodes() if one["Alive"]]
        return [(one, cpus) for one, cpus in found if cpus and one["NodeID"] not in self.left_out]

    def _look_for_nodes(self, due: bool = False) -> None:
        """Spreads the drivers over the nodes that there are, and begins agents on those that have none.

        The share of a node whose agent is beginning is kept for it for a while; but others give up no driver for it
        before it has begun, which it may never.
        """
        if not due and self.now() - self._looked < LOOK_SECONDS:
            return
        self._looked = self.now()
        usable = {one["NodeID"]: (one, cpus) for one, cpus in self._usable()}
        unsure = {key for key, left in self._left.items() if self._looked - left < UNSURE_SECONDS}
        there = {key: node for key, node in self._nodes.items() if key in usable}
        ready = [key for key, node in there.items() if node.ready]
        beginning = [key for key, node in there.items() if not node.ready and node.silence < UNSURE_SECONDS]
        new = [key for key in usable if key not in there and key not in unsure]
        now, soon = (self._shares(keys, usable) for keys in (ready, [*ready, *beginning, *new]))
        if not all(soon[key] for key in new):  # those that are too small for a driver leave the shares as they are
            new = [key for key in new if soon[key]]
            soon = self._shares([*ready, *beginning, *new], usable)
        for key in ready:
            # One more node may raise the rounded share of another one, which could not keep that driver until then.
            there[key].places, there[key].most = min(soon[key], now[key]), now[key]
        for key in new:
            if soon[key]:
                self._nodes[key] = self._begin(usable[key][0], soon[key], usable[key][1])

    def _shares(self, keys: list[str], usable: dict[str, tuple[dict[str, Any], int]]) -> dict[str, int]:
        """Spreads the drivers over some nodes."""
        cpus = [usable[key][1] for key in keys]
        return dict(zip(keys, places_of(self._drivers, cpus), strict=True)) if keys else {}

    def _begin(self, found: dict[str, Any], places: int, cpus: int) -> Node:
        """Begins the agent of a node."""
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(found["NodeID"], soft=False)
        actor = self._ray.remote(
            num_cpus=min(places, cpus),
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=there,
        )(Agent)
        agent = actor.remote()
        beginning = agent.begin.remote(versions(), self._job, self._timeout, self._patience)
        return Node(found["NodeID"], found["NodeManagerAddress"], places, agent, beginning)

    def close(self, drivers: Iterable[tuple[NodeHandle, bool]]) -> None:
        """Ends all drivers, after they had time to close their environments; of each, whether it is busy."""
        busy = {handle.number for handle, works in drivers if works}
        nodes = list(self._nodes.values())
        ends = {}
        for node in nodes:
            if node.ready:
                node.agent.close.remote(busy)
                ends[node.agent.__ray_terminate__.remote()] = node  # it removes its temporary directory as it ends
        limit = self._patience + CLOSE_SECONDS
        ended = self._ray.wait(list(ends), num_returns=len(ends), timeout=limit)[0] if ends else []
        for node in set(nodes) - {ends[one] for one in ended}:
            self._ray.kill(node.agent)
        self._nodes, self._reference, self._job = {}, None, None


class RayPool(DealingPool):
    """``drivers`` processes on the nodes of a Ray cluster; no more of them than there are slots.

    The arguments are those of ``RayFleet``.

    Raises:
        UsageError: the job cannot work, there is no such cluster, or no node of it can be used.
        DriverError: a driver cannot make its environments, or cannot be started.
    """

    def __init__(self, job: Job, drivers: int, address: str | None, timeout: float, patience: float = CLOSE_SECONDS):
        started = min(drivers, job.most_slots)
        self._fewer, self._nodes = fewer(started, drivers), RayFleet(job, started, address, timeout, patience)
        super().__init__(job, self._nodes, started, timeout)

    @property
    def choice(self) -> str:  # type: ignore[override]
        """How many drivers were started and why, and which nodes are not used."""
        left_out = [f"a node is not used: {words}" for words in self._nodes.left_out.values()]
        return "; ".join(filter(None, [self._fewer, *left_out]))
