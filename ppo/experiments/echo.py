"""Drivers that are none: each answers a task at once, so that what a pool costs is measured alone, for any number."""

import time
from collections.abc import Iterable, Iterator

from actors.pools import protocol
from actors.pools.fleet import Event
from actors.trajectory import Trajectory


class EchoHandle:
    """Answers a task of one slot with the slot's part of a trajectory.

    Args:
        answers: the bytes of each slot's trajectory.
        events: what is to be told.
    """

    clock_ahead = 0.0

    def __init__(self, answers: list[bytes], events: list[Event]):
        self._answers, self._events = answers, events

    def send(self, message: bytes) -> None:
        task, number, _, _ = protocol.unpack_task(message)
        answer = protocol.Answer(task, number, 0.0, 1.0, self._answers[task.start], 1)
        self._events.append(Event(self, protocol.pack_finished(answer)))

    def end(self) -> None:
        """Ends nothing."""


class EchoFleet:
    """A fleet of them.

    Args:
        answers: the bytes of each slot's trajectory.
    """

    cores, far = 1, False

    def __init__(self, answers: list[bytes]):
        self._answers, self._events = answers, list[Event]()
        self._edition, self._content = 0, b""

    def start(self, index: int) -> EchoHandle:
        handle = EchoHandle(self._answers, self._events)
        self._events.append(Event(handle, protocol.READY))
        return handle

    def wait(self, timeout: float | None) -> Iterator[Event]:
        due = self._events[:]
        self._events.clear()
        yield from due

    def now(self) -> float:
        return time.monotonic()

    def share(self, snapshot: bytes) -> tuple[bytes, int]:
        self._edition += snapshot != self._content
        self._content = snapshot
        return protocol.pack_block(self._edition, len(snapshot), ""), self._edition

    def rest(self) -> None:
        """Keeps the snapshot."""

    def close(self, drivers: Iterable[tuple[EchoHandle, bool]]) -> None:
        """Ends nothing."""


class OneByOne:
    """A record that keeps nothing, for whose sake each slot is a task of its own."""

    trajectories: tuple[Trajectory, ...] = ()
    slot_by_slot = True

    def arrived(self, trajectory: Trajectory) -> None:
        """Lets go of it."""

    def lost_task(self, task: object) -> None:
        """Counts nothing."""
