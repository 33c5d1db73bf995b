"""The child process of a driver: takes a snapshot, runs tasks, sends their trajectories.

It ends when the learner says so, closes its end of the pipe, or is gone.
"""

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from actors.job import Job
from actors.pools import protocol
from actors.pools.allocator import keep_freed_memory
from actors.pools.environment import restore
from actors.pools.keeper import end_with_parent
from actors.pools.run_queue import RunQueue
from actors.pools.shared_snapshot import SnapshotReader
from actors.profiling import profiled
from actors.rollout import Collector


def main(connection: Connection, job: Job, index: int) -> None:
    """Runs a driver until the learner ends it."""
    restore()
    _leave_signals_to_the_learner()
    _stand_alone()
    keep_freed_memory()
    try:
        if _receive(connection) != protocol.START:
            return
        path = f"{job.profile}/profile-driver-{index}.txt" if job.profile else None
        with contextlib.closing(Collector(job, index)) as collector, profiled(path):
            _serve(connection, collector)
    except LearnerGoneError:
        pass
    except BaseException:
        with contextlib.suppress(LearnerGoneError):
            _send(connection, protocol.pack_error(None, traceback.format_exc()))
    connection.close()  # so that the learner sees at once that the environments are closed


class LearnerGoneError(Exception):
    """The pipe's other end is closed: the learner ended it, or died."""


class Worker:
    """Answers the messages of the learner, whatever brings them.

    Args:
        collector: runs the slots.
        clock: returns seconds, by a clock that the learner shares.
        queue: says how long this thread waited for a core, which is no part of what a slot costs; None for never.
    """

    def __init__(
        self, collector: Collector, clock: Callable[[], float] = time.monotonic, queue: RunQueue | None = None
    ):
        self._collector, self._clock = collector, clock
        self._reader = SnapshotReader(collector)
        self._queue, self._held_at = queue, 0.0

    def answers(self, message: bytes) -> Iterator[bytes]:
        """Does what a message asks for, and yields the messages to send back: one, or several of a task whose f waits.

        Raises:
            MessageError: the message is damaged.
            Exception: whatever the environment raises.
        """
        if message[:1] == protocol.POLICY:
            self._take(message[1:])
            yield protocol.READY
            return
        task, number, edition, block = protocol.unpack_task(message)
        if block:
            self._take(block)
        if self._reader.edition != edition:
            raise protocol.MessageError(f"a task for snapshot {edition}, which is not the one held")
        started, left = self._working(), task.stop - task.start
        for part in self._collector.parts(task):
            left -= len(part)
            seconds = max(0.0, self._working() - started)
            answer = protocol.Answer(task, number, self._held_at, seconds, part.buffer, len(part), not left)
            yield protocol.pack_finished(answer)

    def _take(self, block: bytes) -> None:
        self._reader.read(block)
        self._held_at = self._clock()

    def _working(self) -> float:
        """Returns the seconds of the clock without those in which the thread waited for a core."""
        return self._clock() - (self._queue.seconds() if self._queue is not None else 0.0)

    def close(self) -> None:
        """Releases the snapshot."""
        self._reader.close()
        if self._queue is not None:
            self._queue.close()


def _serve(connection: Connection, collector: Collector) -> None:
    _send(connection, protocol.READY)
    told = False
    with contextlib.closing(Worker(collector, queue=RunQueue())) as worker:
        while (message := _receive(connection))[:1] != protocol.CLOSE:
            for answer in _answers(worker, collector, message):
                if not told and collector.failures and collector.failures.first:
                    _send(connection, protocol.NOTE + collector.failures.first.encode(errors="replace"))
                    told = True
                _send(connection, answer)
                if answer[:1] == protocol.ERROR:
                    return


def _answers(worker: Worker, collector: Collector, message: bytes) -> Iterator[bytes]:
    """Yields the answers to a message, the error in place of the last one if there is one.

    The exception ends here: its traceback has views of the shared memory, which is closed next.
    """
    try:
        yield from worker.answers(message)
    except BaseException:
        yield protocol.pack_error(collector.slot, traceback.format_exc())


def _receive(connection: Connection) -> bytes:
    try:
        return connection.recv_bytes()
    except (EOFError, OSError):
        raise LearnerGoneError from None


def _send(connection: Connection, message: bytes) -> None:
    """Sends a message. A pipe that broke is told apart from an error that the user's own connections may raise."""
    try:
        connection.send_bytes(message)
    except OSError:
        raise LearnerGoneError from None


def _leave_signals_to_the_learner() -> None:
    """Lets signals pass that all processes of a run get: the learner ends its drivers, or else their keeper does.

    They are handled, not ignored or blocked, which what an environment starts would inherit.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _stand_alone() -> None:
    """Gives this process a session of its own, with whatever it will start, and ties its life to the fork server's.

    A driver that blocks never learns from its pipe that the learner is gone. The fork server ends with the learner,
    unless a driver holds the descriptor that keeps it alive; and Linux then ends the driver. Where the learner started
    the driver itself, no such signal is asked for: it would come as soon as the thread that started it ends.
    """
    if hasattr(os, "setsid"):
        os.setsid()
    parent = multiprocessing.parent_process()
    server: Any = forkserver._forkserver
    if parent is None or parent.pid == os.getppid() or server._forkserver_alive_fd is None:
        return
    before = os.getppid()
    os.close(server._forkserver_alive_fd)
    server._forkserver_alive_fd = None
    end_with_parent(before)
