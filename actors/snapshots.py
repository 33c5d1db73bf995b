"""The snapshots of runs that share their rounds, broadcast together.

Their bytes are a magic number, their number, the length of each, and then the snapshots; see ``actors.snapshot``.
"""

import struct
from dataclasses import dataclass

from actors.snapshot import Snapshot

MAGIC = b"TLM1"
_COUNT, _LENGTH = struct.Struct("<4sI"), struct.Struct("<Q")


@dataclass(frozen=True)
class Snapshots:
    """The snapshots of several runs.

    Attributes:
        parts: that of each run, all of one version. Where a run takes no part in a round, it is any: nobody uses it.
    """

    parts: tuple[Snapshot, ...]

    @property
    def version(self) -> int:
        """Version of the policies."""
        return self.parts[0].version

    def to_bytes(self) -> bytes:
        """Returns the snapshots as one message."""
        messages = [part.to_bytes() for part in self.parts]
        lengths = b"".join(_LENGTH.pack(len(message)) for message in messages)
        return _COUNT.pack(MAGIC, len(messages)) + lengths + b"".join(messages)


AnySnapshot = Snapshot | Snapshots
"""What is broadcast: the snapshot of a single run, or those of several."""


def parts_of(snapshot: AnySnapshot) -> tuple[Snapshot, ...]:
    """Returns the snapshot of each run."""
    return snapshot.parts if isinstance(snapshot, Snapshots) else (snapshot,)


def read_snapshots(message: bytes | memoryview) -> AnySnapshot:
    """Rebuilds what was broadcast, the snapshot of a single run or several; its arrays are views of the message.

    Raises:
        ValueError: the message is none, or damaged.
    """
    if bytes(message[: len(MAGIC)]) != MAGIC:
        return Snapshot.from_bytes(message)
    if len(message) < _COUNT.size:
        raise ValueError(f"snapshots of {len(message)} bytes are cut short")
    _, count = _COUNT.unpack_from(message)
    at = _COUNT.size + count * _LENGTH.size
    if len(message) < at:
        raise ValueError(f"{count} snapshots in {len(message)} bytes are cut short")
    lengths = [_LENGTH.unpack_from(message, _COUNT.size + i * _LENGTH.size)[0] for i in range(count)]
    if not count or len(message) != at + sum(lengths):
        raise ValueError(f"{count} snapshots of {sum(lengths)} bytes in {len(message)}")
    parts = []
    for length in lengths:
        parts.append(Snapshot.from_bytes(message[at : at + length]))
        at += length
    return Snapshots(tuple(parts))
