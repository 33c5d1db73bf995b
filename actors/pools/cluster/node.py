"""The learner's side of one node: its agent, the call of it that is under way, and its drivers."""

import time
from collections import Counter, deque
from typing import Any

from actors.pools import protocol
from actors.pools.cluster.agent import END, Exchanged, Order

POLL_SECONDS = 0.1
"""How long an agent waits for its drivers before it looks whether there are new orders."""
SLOW_SECONDS = 1.0
"""After so long without an answer to a call its node gets no more drivers."""
CLOCK_CALLS = 64
"""From so many calls the clocks' difference is estimated: over some seconds, in which they do not drift apart."""


class NodeHandle:
    """The learner's end of one driver of a node."""

    def __init__(self, node: "Node", number: int):
        self.node, self.number = node, number

    @property
    def clock_ahead(self) -> float:
        """Seconds by which the node's clock is ahead of the learner's."""
        return self.node.clock_ahead

    def send(self, message: bytes) -> None:
        """Orders to send a message.

        Raises:
            BrokenPipeError: the node is gone.
        """
        if self.node.lost:
            raise BrokenPipeError
        self.node.order(self, message)

    def end(self) -> None:
        """Orders to end the driver at once."""
        self.node.end(self)


class Node:
    """A machine of the cluster.

    Args:
        identifier: by which Ray knows it.
        name: its address, for messages.
        places: how many drivers it may have.
        agent: handle of its agent, an actor.
        beginning: reference of the call with which the agent begins.

    Attributes:
        most: how many drivers it may keep.
        pending: reference of the call that is under way; None for none.
        since: when it was made, s.
        ready: whether the agent has begun.
        lost: whether the agent is gone.
        clock_ahead: seconds by which its clock is ahead of the learner's.
    """

    def __init__(self, identifier: str, name: str, places: int, agent: Any, beginning: Any):
        self.identifier, self.name, self.agent = identifier, name, agent
        self.places = self.most = places
        self.pending, self.since = beginning, time.monotonic()
        self.ready = self.lost = False
        self.clock_ahead = 0.0
        self._clocks: deque[tuple[float, float]] = deque(maxlen=CLOCK_CALLS)  # round trip and difference of each call
        self._edition = 0
        self._orders: list[Order] = []
        self._handles: dict[int, NodeHandle] = {}
        self._awaited: Counter[int] = Counter()  # what drivers are to answer

    @property
    def silence(self) -> float:
        """Seconds for which the agent has not answered a call."""
        return 0.0 if self.pending is None else time.monotonic() - self.since

    @property
    def free(self) -> int:
        """How many more drivers it may have now."""
        takes_more = self.ready and not self.lost and self.silence < SLOW_SECONDS
        return max(0, self.places - len(self._handles)) if takes_more else 0

    def surplus(self) -> list[NodeHandle]:
        """Returns drivers above the most that it may keep, of those that have nothing to do."""
        above = len(self._handles) - self.most
        if not self.ready or above <= 0:
            return []
        return [handle for number, handle in self._handles.items() if number not in self._awaited][-above:]

    def start(self, number: int, index: int) -> NodeHandle:
        """Orders to start a driver."""
        handle = self._handles[number] = NodeHandle(self, number)
        self.order(handle, protocol.START, index)
        return handle

    def order(self, handle: NodeHandle, message: bytes, index: int = 0) -> None:
        """Takes an order, which goes with the next call."""
        self._orders.append(Order(handle.number, message, index))
        self._awaited[handle.number] += 1

    def end(self, handle: NodeHandle) -> None:
        """Gives up a driver."""
        if self._handles.pop(handle.number, None) and not self.lost:
            self._orders.append(Order(handle.number, END))
            del self._awaited[handle.number]

    def needs(self, edition: int) -> bool:
        """Returns whether the snapshot of this edition is to go with the next call."""
        return edition != self._edition and any(
            order.message[:1] in (protocol.TASK, protocol.POLICY) for order in self._orders
        )

    def call(self, edition: int, snapshot: Any) -> None:
        """Makes the next call of the agent, if there is none and it is of any use.

        Args:
            edition: of the snapshot.
            snapshot: its bytes, or a reference to them; empty where it does not go with this call.
        """
        if self.pending is not None or not (self._orders or self._awaited):
            return
        if snapshot:
            self._edition = edition
        patience = POLL_SECONDS if self._awaited else 0.0
        self.since = time.monotonic()
        self.pending = self.agent.exchange.remote(self._orders, edition, snapshot, patience)
        self._orders = []

    def told(self, exchanged: Exchanged) -> list[tuple[NodeHandle, bytes | None]]:
        """Takes in the answer to a call; returns what came from which driver."""
        self._set_clock(exchanged)
        self.pending, found = None, []
        for number, message in exchanged.messages:
            if message is None:
                del self._awaited[number]
            elif not protocol.others_follow(message):
                self._awaited[number] -= 1
                if self._awaited[number] <= 0:
                    del self._awaited[number]
            if (handle := self._handles.get(number)) is not None:
                found.append((handle, message))
        return found

    def _set_clock(self, exchanged: Exchanged) -> None:
        """Estimates the clocks' difference, from the quickest of the last calls (as NTP does: Mills 1991, eq. 1)."""
        now = time.monotonic()
        round_trip = (now - self.since) - (exchanged.left - exchanged.arrived)
        self._clocks.append((round_trip, ((exchanged.arrived - self.since) + (exchanged.left - now)) / 2))
        self.clock_ahead = min(self._clocks)[1]

    def lose(self) -> list[NodeHandle]:
        """Notes that the agent is gone; returns the drivers that are gone with it."""
        self.lost, self.pending = True, None
        return list(self._handles.values())

    @property
    def working(self) -> set[int]:
        """Numbers of the drivers that are to answer something."""
        return set(self._awaited)


def places_of(drivers: int, cpus: list[int]) -> list[int]:
    """Spreads drivers over nodes by their numbers of processors, the largest remainders first."""
    exact = [drivers * one / sum(cpus) for one in cpus]
    places = [int(one) for one in exact]
    by_remainder = sorted(range(len(cpus)), key=lambda i: (places[i] - exact[i], i))
    for i in by_remainder[: drivers - sum(places)]:
        places[i] += 1
    return places
