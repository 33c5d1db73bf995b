"""The messages between the learner and a driver: bytes, of which nothing is unpickled.

The first byte says what a message is:

    learner -> driver   S                          start the environments
                        T task round [block]       slots to run; before them, a new policy in this block
                        P block                    a new policy alone
                        C                          close the environments and end
    driver -> learner   R                          ready for a task; the answer to S and to P
                        F task round trajectory    the answer to a task, or a part of it, some of its slots; when its
                                                   snapshot was held, and its seconds
                        N text                     why an evaluation of f failed that is kept; no answer to anything
                        E slot text                the traceback of an exception; the driver then ends

A task names the edition of the snapshot that it is to be run under. A block is the snapshot's edition, its length and
the name of the shared memory that holds it; or, without a name, the snapshot.
"""

import struct
from dataclasses import dataclass

from actors.job import Kind, Task

START, TASK, POLICY, CLOSE = b"S", b"T", b"P", b"C"
READY, FINISHED, NOTE, ERROR = b"R", b"F", b"N", b"E"
_TASK = struct.Struct("<cBQIIQQ")
_FINISHED = struct.Struct("<cB?xIQIIQdd")  # 48 bytes, so that the trajectory behind it is aligned
_ERROR = struct.Struct("<cq")
_BLOCK = struct.Struct("<QQH")


class MessageError(ValueError):
    """A message is damaged."""


@dataclass(frozen=True)
class Answer:
    """The answer to a task, or a part of it.

    Attributes:
        task: the task.
        round: the number that came with it.
        held_at: when its snapshot was held.
        seconds: how long its slots took after that.
        trajectory: the bytes of the trajectory of all its slots, or of some in ascending order.
        slots: how many these are.
        last: whether no other part follows.
    """

    task: Task
    round: int
    held_at: float
    seconds: float
    trajectory: bytes | bytearray | memoryview
    slots: int
    last: bool = True


def pack_task(task: Task, number: int, edition: int, block: bytes) -> bytes:
    """Packs a task of round ``number``, to be run under the snapshot of this edition.

    ``block`` holds the snapshot, and is empty where the driver holds it already.
    """
    return _TASK.pack(TASK, task.kind, task.step, task.start, task.stop, number, edition) + block


def unpack_task(message: bytes) -> tuple[Task, int, int, bytes]:
    """Returns the task of a message, the number of its round, the edition of its snapshot, and the snapshot's block.

    Raises:
        MessageError: the message is damaged.
    """
    if len(message) < _TASK.size or message[:1] != TASK:
        raise MessageError(f"no task in {len(message)} bytes")
    _, kind, step, start, stop, number, edition = _TASK.unpack_from(message)
    return _task(kind, step, start, stop), number, edition, message[_TASK.size :]


def pack_finished(answer: Answer) -> bytes:
    """Packs the answer to a task."""
    task = answer.task
    of_task = task.step, task.start, task.stop, answer.round
    head = _FINISHED.pack(FINISHED, task.kind, answer.last, answer.slots, *of_task, answer.held_at, answer.seconds)
    return head + answer.trajectory


def unpack_finished(message: bytes) -> Answer:
    """Returns what ``pack_finished`` packed; the trajectory is a view of the message.

    Raises:
        MessageError: the message is damaged.
    """
    if len(message) < _FINISHED.size or message[:1] != FINISHED:
        raise MessageError(f"no answer in {len(message)} bytes")
    _, kind, last, slots, step, start, stop, number, held_at, seconds = _FINISHED.unpack_from(message)
    trajectory = memoryview(message)[_FINISHED.size :]
    return Answer(_task(kind, step, start, stop), number, held_at, seconds, trajectory, slots, last)


def others_follow(message: bytes) -> bool:
    """Returns whether a driver sends something else after a message, before it waits for one; no if it is damaged."""
    if message[:1] == FINISHED and len(message) >= _FINISHED.size:
        return not unpack_finished(message).last
    return message[:1] == NOTE


def pack_error(slot: int | None, text: str) -> bytes:
    """Packs the traceback of an exception, and the slot that raised it; None where that is not known."""
    return _ERROR.pack(ERROR, -1 if slot is None else slot) + text.encode(errors="replace")


def unpack_error(message: bytes) -> tuple[int | None, str]:
    """Returns what ``pack_error`` packed.

    Raises:
        MessageError: the message is damaged.
    """
    if len(message) < _ERROR.size or message[:1] != ERROR:
        raise MessageError(f"no error in {len(message)} bytes")
    _, slot = _ERROR.unpack_from(message)
    return None if slot < 0 else slot, message[_ERROR.size :].decode(errors="replace")


def pack_block(edition: int, length: int, name: str) -> bytes:
    """Packs where a snapshot lies: its length and the name of the shared memory; without a name, it comes behind."""
    encoded = name.encode()
    return _BLOCK.pack(edition, length, len(encoded)) + encoded


def unpack_block(block: bytes) -> tuple[int, int, str, memoryview]:
    """Returns the edition of a snapshot, its length, the name of the shared memory, and what comes behind.

    Raises:
        MessageError: the block is damaged.
    """
    if len(block) < _BLOCK.size:
        raise MessageError(f"no block in {len(block)} bytes")
    edition, length, size = _BLOCK.unpack_from(block)
    name = block[_BLOCK.size : _BLOCK.size + size]
    try:
        if len(name) == size:
            return edition, length, name.decode(), memoryview(block)[_BLOCK.size + size :]
    except UnicodeDecodeError:
        pass
    raise MessageError(f"a block without the name of {size} bytes that it should have")


def _task(kind: int, step: int, start: int, stop: int) -> Task:
    try:
        return Task(Kind(kind), step, start, stop)
    except ValueError:
        raise MessageError(f"a task of unknown kind {kind}") from None
