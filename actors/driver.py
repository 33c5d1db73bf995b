"""The child process: takes a snapshot, runs tasks, sends facts.

Messages are bytes, the first of which says what they are; nothing in them is unpickled.

    learner -> driver   S snapshot        a new policy
                        T task            slots to run with it
    driver -> learner   R                 ready for the first snapshot
                        F times, facts    the facts of the task, and when the snapshot was held
                        E text            the traceback of an exception; the driver then ends

The driver ends when the learner closes its end of the pipe, or is gone.
"""

import contextlib
import signal
import struct
import time
import traceback
from multiprocessing.connection import Connection

from actors.rollout import Collector, Job, Kind, Task
from actors.snapshot import Snapshot

READY, SNAPSHOT, TASK, FACTS, ERROR = b"R", b"S", b"T", b"F", b"E"
SNAPSHOT_OFFSET = 8  # the kind and filling, so that the arrays behind it are aligned
TASK_STRUCT = struct.Struct("<cBQII")
FACTS_STRUCT = struct.Struct("<c7xd")  # 16 bytes, so that the facts behind it are aligned


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
        with contextlib.closing(Collector(job, index)) as collector:
            _serve(connection, collector)
    except LearnerGoneError:
        return
    except BaseException:
        with contextlib.suppress(LearnerGoneError):
            _send(connection, ERROR + traceback.format_exc().encode())


class LearnerGoneError(Exception):
    """The pipe's other end is closed: the learner died, or has had enough."""


def _serve(connection: Connection, collector: Collector) -> None:
    _send(connection, READY)
    held_at = 0.0
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            raise LearnerGoneError from None
        if message[:1] == SNAPSHOT:
            collector.update(Snapshot.from_bytes(memoryview(message)[SNAPSHOT_OFFSET:]))
            held_at = time.monotonic()  # the same clock in every process of a machine
            continue
        facts = collector.run(unpack_task(message))
        _send(connection, FACTS_STRUCT.pack(FACTS, held_at) + facts.buffer)


def _send(connection: Connection, message: bytes) -> None:
    """Sends a message. A pipe that broke is told apart from an error that the user's own connections may raise."""
    try:
        connection.send_bytes(message)
    except OSError:
        raise LearnerGoneError from None
