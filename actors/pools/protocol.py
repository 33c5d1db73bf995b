"""The messages between the learner and a driver process: bytes, of which nothing is unpickled.

The first byte says what a message is:

    learner -> driver   T task [block]       slots to run; before them, a new policy in this block of shared memory
                        P block              a new policy alone
    driver -> learner   R                    ready for the first snapshot, or the answer to P
                        F times trajectory   the trajectory of a task; when its snapshot was held, and its seconds
                        E text               the traceback of an exception; the driver then ends

A block is named by the snapshot's length and the name of the shared memory that holds it.
"""

import struct

from actors.job import Kind, Task

READY, TASK, FINISHED, ERROR, POLICY = b"R", b"T", b"F", b"E", b"P"
_TASK = struct.Struct("<cBQII")
_FINISHED = struct.Struct("<c7xdd")  # 24 bytes, so that the trajectory behind it is aligned
_BLOCK = struct.Struct("<Q")


def pack_task(task: Task, block: bytes) -> bytes:
    """Packs a task; ``block`` says where the policy lies, and is empty where the driver holds it already."""
    return _TASK.pack(TASK, task.kind, task.step, task.start, task.stop) + block


def unpack_task(message: bytes) -> tuple[Task, bytes]:
    """Returns the task of a message, and the block of its policy.

    Raises:
        ValueError: it is no such message, as with the two below.
    """
    _, kind, step, start, stop = _unpack(_TASK, message)
    return Task(Kind(kind), step, start, stop), message[_TASK.size :]


def pack_finished(held_at: float, seconds: float, trajectory: bytes | bytearray | memoryview) -> bytes:
    """Packs the answer to a task: when its snapshot was held, how long it took, and its trajectory."""
    return _FINISHED.pack(FINISHED, held_at, seconds) + trajectory


def unpack_finished(message: bytes) -> tuple[float, float, memoryview]:
    """Returns what ``pack_finished`` packed; the trajectory is a view of the message."""
    _, held_at, seconds = _unpack(_FINISHED, message)
    return held_at, seconds, memoryview(message)[_FINISHED.size :]


def pack_block(length: int, name: str) -> bytes:
    """Packs where a snapshot lies: its length and the name of the shared memory."""
    return _BLOCK.pack(length) + name.encode()


def unpack_block(block: bytes) -> tuple[int, str]:
    """Returns the length of a snapshot and the name of the shared memory."""
    (length,) = _unpack(_BLOCK, block)
    return length, block[_BLOCK.size :].decode()


def _unpack(layout: struct.Struct, message: bytes) -> tuple:
    if len(message) < layout.size:
        raise ValueError(f"a message of {len(message)} bytes, of which at least {layout.size} are needed")
    return layout.unpack_from(message)
