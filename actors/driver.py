"""The child process: takes a snapshot, runs tasks, sends facts.

Messages are bytes, the first of which says what they are; nothing in them is unpickled.

    learner -> driver   S block           a new policy lies in this block of shared memory
                        T task            slots to run with it
                        P                 are you there?
    driver -> learner   R                 ready for the first snapshot, or the answer to P
                        F times, facts    the facts of the task, when the snapshot was held, and how long the task took
                        E text            the traceback of an exception; the driver then ends

The driver ends when the learner closes its end of the pipe, or is gone.
"""

import contextlib
import signal
import struct
import time
import traceback
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory

from actors.profiling import profiled
from actors.rollout import Collector, Job, Kind, Task
from actors.snapshot import Snapshot

READY, SNAPSHOT, TASK, FACTS, ERROR, PING = b"R", b"S", b"T", b"F", b"E", b"P"
SNAPSHOT_STRUCT = struct.Struct("<cQ")
TASK_STRUCT = struct.Struct("<cBQII")
FACTS_STRUCT = struct.Struct("<c7xdd")  # 24 bytes, so that the facts behind it are aligned


def pack_task(task: Task) -> bytes:
    """A task as a message."""
    return TASK_STRUCT.pack(TASK, task.kind, task.step, task.start, task.stop)


def unpack_task(message: bytes) -> Task:
    """The task of a message."""
    _, kind, step, start, stop = TASK_STRUCT.unpack(message)
    return Task(Kind(kind), step, start, stop)


def main(connection: Connection, job: Job, index: int) -> None:
    """Runs a driver until its pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the learner's to handle
    try:
        path = f"{job.profile}/profile-driver-{index}.txt" if job.profile else None
        with contextlib.closing(Collector(job, index)) as collector, profiled(path):
            _serve(connection, collector)
    except LearnerGoneError:
        return
    except BaseException:
        with contextlib.suppress(LearnerGoneError):
            _send(connection, ERROR + traceback.format_exc().encode())


class LearnerGoneError(Exception):
    """The pipe's other end is closed: the learner died, or has had enough."""


class Holder:
    """The policy that a collector holds, in shared memory that the learner writes.

    Views of the block, not a copy: it is not written to again before the tasks of all drivers are done.
    """

    def __init__(self, collector: Collector):
        self.collector = collector
        self.held_at = 0.0
        self._block: SharedMemory | None = None

    def take(self, message: bytes) -> None:
        """Takes over the snapshot that a message tells of."""
        _, length = SNAPSHOT_STRUCT.unpack_from(message)
        name = message[SNAPSHOT_STRUCT.size :].decode()
        if self._block is None or self._block.name != name:
            self.close()
            self._block = SharedMemory(name)
        assert self._block.buf is not None, "it is open"
        self.collector.update(Snapshot.from_bytes(self._block.buf[:length]))
        self.held_at = time.monotonic()  # the same clock in every process of a machine

    def close(self) -> None:
        """Lets go of the block."""
        self.collector.policy = None  # which has views of it
        if self._block is not None:
            self._block.close()


def _serve(connection: Connection, collector: Collector) -> None:
    _send(connection, READY)
    with contextlib.closing(Holder(collector)) as holder:
        while True:
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                raise LearnerGoneError from None
            if message[:1] == SNAPSHOT:
                holder.take(message)
                continue
            if message == PING:
                _send(connection, READY)
                continue
            started = time.monotonic()
            facts = collector.run(unpack_task(message))
            header = FACTS_STRUCT.pack(FACTS, holder.held_at, time.monotonic() - started)
            _send(connection, header + facts.buffer)


def _send(connection: Connection, message: bytes) -> None:
    """Sends a message. A pipe that broke is told apart from an error that the user's own connections may raise."""
    try:
        connection.send_bytes(message)
    except OSError:
        raise LearnerGoneError from None
