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
        _serve(connection, job, index)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the learner is gone, or has had enough
    except BaseException:
        connection.send_bytes(ERROR + traceback.format_exc().encode())


def _serve(connection: Connection, job: Job, index: int) -> None:
    with contextlib.closing(Collector(job, index)) as collector:
        connection.send_bytes(READY)
        _answer(connection, collector)


def _answer(connection: Connection, collector: Collector) -> None:
    held_at = 0.0
    while True:
        message = connection.recv_bytes()
        if message[:1] == SNAPSHOT:
            collector.update(Snapshot.from_bytes(memoryview(message)[1:]))
            held_at = time.monotonic()  # the same clock in every process of a machine
            continue
        facts = collector.run(unpack_task(message))
        connection.send_bytes(FACTS_STRUCT.pack(FACTS, held_at) + facts.buffer)
