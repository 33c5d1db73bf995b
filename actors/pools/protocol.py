"""The messages between the learner and a driver: bytes, of which nothing is unpickled.

The first byte says what a message is:

    learner -> driver   S                          start the environments
                        T task round [block]       slots to run; before them, a new policy in this block
                        P block                    a new policy alone
                        C                          close the environments and end
    driver -> learner   R                          ready for a task; the answer to S and to P
                        F task round trajectory    the answer to a task; when its snapshot was held, and its seconds
                        N text                     why an evaluation of f failed that is kept; no answer to anything
                        E text                     the traceback of an exception; the driver then ends

A block is the snapshot's length and the name of the shared memory that holds it; or, without a name, the snapshot.
"""

import struct
from dataclasses import dataclass

from actors.job import Kind, Task

START, TASK, POLICY, CLOSE = b"S", b"T", b"P", b"C"
READY, FINISHED, NOTE, ERROR = b"R", b"F", b"N", b"E"
_TASK = struct.Struct("<cBQIIQ")
_FINISHED = struct.Struct("<cB6xQIIQdd")  # 48 bytes, so that the trajectory behind it is aligned
_BLOCK = struct.Struct("<QH")


class MessageError(ValueError):
    """A message is damaged."""


@dataclass(frozen=True)
class Answer:
    """The answer to a task.

    Attributes:
        task: the task.
        round: the number that came with it.
        held_at: when its snapshot was held.
        seconds: how long its slots took after that.
        trajectory: the bytes of its trajectory.
    """

    task: Task
    round: int
    held_at: float
    seconds: float
    trajectory: bytes | bytearray | memoryview


def pack_task(task: Task, number: int, block: bytes) -> bytes:
    """Packs a task of round ``number``; ``block`` holds the policy, and is empty where the driver holds it already."""
    return _TASK.pack(TASK, task.kind, task.step, task.start, task.stop, number) + block


def unpack_task(message: bytes) -> tuple[Task, int, bytes]:
    """Returns the task of a message, the number of its round, and the block of its policy.

    Raises:
        MessageError: the message is damaged.
    """
    if len(message) < _TASK.size or message[:1] != TASK:
        raise MessageError(f"no task in {len(message)} bytes")
    _, kind, step, start, stop, number = _TASK.unpack_from(message)
    return _task(kind, step, start, stop), number, message[_TASK.size :]


def pack_finished(answer: Answer) -> bytes:
    """Packs the answer to a task."""
    task = answer.task
    head = (FINISHED, task.kind, task.step, task.start, task.stop, answer.round, answer.held_at, answer.seconds)
    return _FINISHED.pack(*head) + answer.trajectory


def unpack_finished(message: bytes) -> Answer:
    """Returns what ``pack_finished`` packed; the trajectory is a view of the message.

    Raises:
        MessageError: the message is damaged.
    """
    if len(message) < _FINISHED.size or message[:1] != FINISHED:
        raise MessageError(f"no answer in {len(message)} bytes")
    _, kind, step, start, stop, number, held_at, seconds = _FINISHED.unpack_from(message)
    return Answer(_task(kind, step, start, stop), number, held_at, seconds, memoryview(message)[_FINISHED.size :])


def pack_block(length: int, name: str) -> bytes:
    """Packs where a snapshot lies: its length and the name of the shared memory; without a name, it comes behind."""
    encoded = name.encode()
    return _BLOCK.pack(length, len(encoded)) + encoded


def unpack_block(block: bytes) -> tuple[int, str, memoryview]:
    """Returns the length of a snapshot, the name of the shared memory, and what comes behind.

    Raises:
        MessageError: the block is damaged.
    """
    if len(block) < _BLOCK.size:
        raise MessageError(f"no block in {len(block)} bytes")
    length, size = _BLOCK.unpack_from(block)
    name = block[_BLOCK.size : _BLOCK.size + size]
    try:
        if len(name) == size:
            return length, name.decode(), memoryview(block)[_BLOCK.size + size :]
    except UnicodeDecodeError:
        pass
    raise MessageError(f"a block without the name of {size} bytes that it should have")


def _task(kind: int, step: int, start: int, stop: int) -> Task:
    try:
        return Task(Kind(kind), step, start, stop)
    except ValueError:
        raise MessageError(f"a task of unknown kind {kind}") from None
