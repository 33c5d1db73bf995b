"""What runs on each node: starts driver processes there, and carries messages between them and the learner."""

import os
import pickle
import time
import traceback
from collections import deque
from typing import NamedTuple

from actors.job import Job
from actors.pools import protocol
from actors.pools.cluster.versions import versions
from actors.pools.driver import ProcessHandle
from actors.pools.processes import ProcessFleet

LINGER_SECONDS = 0.01
"""How long an agent waits for more to tell, while all who have told it something have the next task already."""
AWAY_SECONDS, PAUSE_SECONDS = 10.0, 0.01
"""How long the working directory may be away while Ray makes it anew, and after how long it is looked for again."""
END = b""
"""The message of an order to end a driver at once."""


class Order(NamedTuple):
    """What an agent is to do with one driver.

    Attributes:
        number: of the driver, which no other one of the run has.
        message: for it; ``START`` to start it, ``END`` to end it.
        place: index with which it is to start.
    """

    number: int
    message: bytes
    place: int = 0


class Exchanged(NamedTuple):
    """What an agent has to tell.

    Attributes:
        messages: number of a driver and what it has sent, None where it is gone.
        arrived: when the orders arrived, by this machine's clock, s.
        left: when this left, s.
    """

    messages: list[tuple[int, bytes | None]]
    arrived: float
    left: float


class Agent:
    """The drivers of one node. One call runs at a time."""

    def __init__(self) -> None:
        self._handles: dict[int, ProcessHandle] = {}
        self._numbers: dict[ProcessHandle, int] = {}
        self._directory = os.getcwd()
        self._block = b""
        self._working: set[int] = set()
        self._ahead: dict[int, deque[bytes]] = {}  # what drivers get after what they are working at

    def begin(self, learners: dict[str, str], job: bytes, timeout: float, patience: float) -> dict[str, str]:
        """Takes the job that all drivers are to run, pickled, unless the versions here are not the learner's.

        ``timeout`` and ``patience`` are those of ``ProcessFleet``.

        Returns:
            The versions here.

        Raises:
            Exception: whatever loading the user's modules raises.
        """
        ours = versions()
        if ours == learners:
            loaded: Job = pickle.loads(job)
            self._fleet = ProcessFleet(loaded, timeout, patience)
        return ours

    def exchange(self, orders: list[Order], edition: int, snapshot: bytes, patience: float) -> Exchanged:
        """Carries out orders, and waits for at most ``patience`` seconds until a driver has something to tell.

        Args:
            orders: in their sequence.
            edition: of the snapshot.
            snapshot: the policy for tasks among the orders; empty where it is here already, or there are none.
            patience: s.
        """
        arrived = time.monotonic()
        if snapshot:
            self._take(edition, snapshot)
        messages = [told for order in orders if (told := self._carry_out(order)) is not None]
        messages += self._heard(0.0 if messages else patience)
        until = time.monotonic() + LINGER_SECONDS
        while messages and all(number in self._working for number, _ in messages) and time.monotonic() < until:
            messages += self._heard(until - time.monotonic())
        return Exchanged(messages, arrived, time.monotonic())

    def _heard(self, patience: float) -> list[tuple[int, bytes | None]]:
        """Waits for at most ``patience`` seconds for messages of drivers; who is done gets what is ahead."""
        messages = list[tuple[int, bytes | None]]()
        for event in self._fleet.wait(patience):
            assert isinstance(event.handle, ProcessHandle), "this fleet has no other"
            number = self._numbers[event.handle]
            messages.append((number, event.message))
            if event.message is None:
                self._end(event.handle)
            elif not protocol.others_follow(event.message):
                self._working.discard(number)
                if self._ahead.get(number) and (lost := self._send(number, self._ahead[number].popleft())):
                    messages.append(lost)
        return messages

    def _take(self, edition: int, snapshot: bytes) -> None:
        """Shares a snapshot with the drivers here, under the learner's number of its edition."""
        block, _ = self._fleet.share(snapshot)
        _, length, name, content = protocol.unpack_block(block)
        self._block = protocol.pack_block(edition, length, name) + content

    def _carry_out(self, order: Order) -> tuple[int, bytes | None] | None:
        """Carries out an order; returns what is to be told at once of its driver, None for nothing."""
        number, message, place = order
        if message == protocol.START:
            return self._start(number, place)
        handle = self._handles.get(number)
        if handle is None:  # it is gone, which has been told
            return None
        if message == END:
            self._end(handle)
            return None
        message = self._with_block(message)
        if number in self._working:
            self._ahead.setdefault(number, deque()).append(message)
            return None
        return self._send(number, message)

    def _send(self, number: int, message: bytes) -> tuple[int, None] | None:
        """Sends a driver a message; returns what is to be told where it is gone."""
        try:
            self._handles[number].send(message)
        except OSError:
            self._end(self._handles[number])
            return number, None
        self._working.add(number)
        return None

    def _start(self, number: int, place: int) -> tuple[int, bytes | None] | None:
        try:
            self._return()
            handle = self._fleet.start(place)
        except Exception:  # such as no memory
            return number, protocol.pack_error(None, traceback.format_exc())
        self._handles[number], self._numbers[handle] = handle, number
        return None

    def _return(self) -> None:
        """Goes to the working directory that has its name now: a node that joins on this machine makes it anew.

        Raises:
            FileNotFoundError: there is none.
        """
        until = time.monotonic() + AWAY_SECONDS
        while not os.path.isdir(self._directory) and time.monotonic() < until:
            time.sleep(PAUSE_SECONDS)
        os.chdir(self._directory)

    def _with_block(self, message: bytes) -> bytes:
        """Returns a message in which the learner's block, if it has one, is that of the snapshot here."""
        if message[:1] == protocol.POLICY:
            return protocol.POLICY + self._block
        task, number, edition, block = protocol.unpack_task(message)
        return protocol.pack_task(task, number, edition, self._block) if block else message

    def _end(self, handle: ProcessHandle) -> None:
        number = self._numbers.pop(handle)
        del self._handles[number]
        self._working.discard(number)
        self._ahead.pop(number, None)
        handle.end()

    def close(self, busy: set[int]) -> None:
        """Ends all drivers, after they had time to close their environments; those of ``busy`` run a task."""
        self._fleet.close([(handle, number in busy) for number, handle in self._handles.items()])
