"""The child process: takes a snapshot, runs tasks, sends facts.

Messages are bytes, the first of which says what they are; nothing in them is unpickled.

    learner -> driver   T task [block]    slots to run; before them, a new policy in this block of shared memory
                        P block           a new policy alone
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

READY, TASK, FACTS, ERROR, POLICY = b"R", b"T", b"F", b"E", b"P"
BLOCK_STRUCT = struct.Struct("<Q")
TASK_STRUCT = struct.Struct("<cBQII")
FACTS_STRUCT = struct.Struct("<c7xdd")  # 24 bytes, so that the facts behind it are aligned


def pack_task(task: Task, block: bytes) -> bytes:
    """A task as a message; ``block`` says where the policy lies, and is empty where the driver holds it already."""
    return TASK_STRUCT.pack(TASK, task.kind, task.step, task.start, task.stop) + block


def unpack_task(message: bytes) -> tuple[Task, bytes]:
    """The task of a message, and where its policy lies."""
    _, kind, step, start, stop = TASK_STRUCT.unpack_from(message)
    return Task(Kind(kind), step, start, stop), message[TASK_STRUCT.size :]


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

    def take(self, block: bytes) -> None:
        """Takes over the snapshot in a block."""
        (length,) = BLOCK_STRUCT.unpack_from(block)
        name = block[BLOCK_STRUCT.size :].decode()
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
            if message[:1] == POLICY:
                holder.take(message[1:])
                _send(connection, READY)
                continue
            task, block = unpack_task(message)
            if block:
                holder.take(block)
            started = time.monotonic()
            facts = collector.run(task)
            header = FACTS_STRUCT.pack(FACTS, holder.held_at, time.monotonic() - started)
            _send(connection, header + facts.buffer)


def _send(connection: Connection, message: bytes) -> None:
    """Sends a message. A pipe that broke is told apart from an error that the user's own connections may raise."""
    try:
        connection.send_bytes(message)
    except OSError:
        raise LearnerGoneError from None
