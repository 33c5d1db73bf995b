"""A snapshot in shared memory is read as it was written; one block serves until a snapshot does not fit."""

import os
import types

import pytest

from actors.pools.protocol import unpack_block
from actors.pools.shared_snapshot import SharedSnapshot, SnapshotReader
from tests.actors.pools.rounds import snapshot


def test_snapshots_are_read_as_written_from_a_reused_block():
    held = []
    collector = types.SimpleNamespace(
        update=lambda received: held.append(received.to_bytes()), policies=["views of it"]
    )
    shared, reader = SharedSnapshot(), SnapshotReader(collector)
    sent = [snapshot(0), snapshot(1, hidden=(4,)), snapshot(2, hidden=(300, 300))]
    names = []
    for each in sent:
        block = shared.write(each.to_bytes())
        names.append(unpack_block(block)[2])
        reader.read(block)
    assert held == [each.to_bytes() for each in sent]
    assert names[0] == names[1] != names[2]  # the third one is larger than the block
    reader.close()
    assert not collector.policies
    shared.close()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="shared memory is no file here")
def test_shared_memory_is_freed_when_outgrown_and_when_closed():
    shared = SharedSnapshot()
    small, large = (unpack_block(shared.write(bytes(size)))[2] for size in (100, 1_000_000))
    assert not os.path.exists(f"/dev/shm/{small}")
    assert os.path.exists(f"/dev/shm/{large}")
    shared.close()
    assert not os.path.exists(f"/dev/shm/{large}")
