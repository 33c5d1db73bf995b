"""The child process of a driver: takes a snapshot, runs tasks, sends their trajectories.

It ends when the learner closes its end of the pipe, or is gone.
"""

import contextlib
import signal
import time
import traceback
from multiprocessing.connection import Connection

from actors.job import Job
from actors.pools import protocol
from actors.pools.shared_snapshot import SnapshotReader
from actors.profiling import profiled
from actors.rollout import Collector


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
            _send(connection, protocol.ERROR + traceback.format_exc().encode())


class LearnerGoneError(Exception):
    """The pipe's other end is closed: the learner ended it, or died."""


def _serve(connection: Connection, collector: Collector) -> None:
    _send(connection, protocol.READY)
    with contextlib.closing(SnapshotReader(collector)) as reader:
        while True:
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                raise LearnerGoneError from None
            if message[:1] == protocol.POLICY:
                reader.read(message[1:])
                _send(connection, protocol.READY)
                continue
            task, block = protocol.unpack_task(message)
            if block:
                reader.read(block)
            started = time.monotonic()
            trajectory = collector.run(task)
            seconds = time.monotonic() - started
            _send(connection, protocol.pack_finished(reader.held_at, seconds, trajectory.buffer))


def _send(connection: Connection, message: bytes) -> None:
    """Sends a message. A pipe that broke is told apart from an error that the user's own connections may raise."""
    try:
        connection.send_bytes(message)
    except OSError:
        raise LearnerGoneError from None
