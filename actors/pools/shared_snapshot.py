"""The snapshot in shared memory: the learner writes it once, however many drivers read it."""

import os
from multiprocessing.shared_memory import SharedMemory

from actors.pools.leftovers import make_shared_memory
from actors.pools.protocol import MessageError, pack_block, unpack_block
from actors.rollout import Collector
from actors.snapshots import read_snapshots


class SharedSnapshot:
    """The learner's side: a block of shared memory with the current snapshot.

    Attributes:
        edition: how often it was written with other bytes than before. Rounds of one version may have different
            snapshots, such as the plan of one and the critic of another.
    """

    def __init__(self) -> None:
        self.edition = 0
        self._memory: SharedMemory | None = None
        self._lock: int | None = None
        self._current = b""

    def write(self, snapshot: bytes) -> bytes:
        """Writes a snapshot, and returns the block that tells a driver where it lies.

        Where there is no room for it in shared memory, the block holds it.
        """
        if snapshot != self._current:
            self.edition, self._current = self.edition + 1, snapshot
        if self._memory is None or self._memory.size < len(snapshot):
            self.close()
            try:
                self._memory, self._lock = make_shared_memory(len(snapshot))
            except OSError:
                return pack_block(self.edition, len(snapshot), "") + snapshot
        assert self._memory.buf is not None, "it is open"
        self._memory.buf[: len(snapshot)] = snapshot
        return pack_block(self.edition, len(snapshot), self._memory.name)

    def close(self) -> None:
        """Frees the shared memory."""
        if self._memory is not None:
            self._memory.close()
            self._memory.unlink()
            self._memory = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class SnapshotReader:
    """A driver's side: hands the snapshot in a block to a collector.

    The policy is a view of the shared memory, not a copy: it is not written to again before the tasks of all drivers
    are done.

    Attributes:
        edition: edition of the snapshot that the collector has; 0 for none.
    """

    def __init__(self, collector: Collector):
        self.collector, self.edition = collector, 0
        self._memory: SharedMemory | None = None

    def read(self, block: bytes) -> None:
        """Takes over the snapshot in a block.

        Raises:
            MessageError: the block is damaged.
        """
        edition, length, name, content = unpack_block(block)
        if name:
            if self._memory is None or self._memory.name != name:
                self.close()
                self._memory = SharedMemory(name)
            assert self._memory.buf is not None, "it is open"
            self.collector.update(read_snapshots(self._memory.buf[:length]))
        elif len(content) == length:
            self.collector.update(read_snapshots(bytes(content)))
        else:
            raise MessageError(f"{len(content)} bytes of a snapshot of {length}")
        self.edition = edition

    def close(self) -> None:
        """Releases the shared memory."""
        self.collector.policies = []  # which have views of it
        if self._memory is not None:
            self._memory.close()
            self._memory = None
