"""Every message between learner and driver comes back as it was packed, and its first byte says what it is."""

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools import protocol
from actors.trajectory import Trajectory
from tests.actors.test_trajectory import LAYOUT, trajectory


@pytest.mark.parametrize(
    "task", [Task(Kind.COLLECT, 0, 0, 1), Task(Kind.EVALUATE, 2**64 - 1, 2**32 - 2, 2**32 - 1)], ids=["least", "most"]
)
@pytest.mark.parametrize("block", [b"", protocol.pack_block(4096, "psm_1a2b")], ids=["held", "new"])
def test_a_task_and_its_block(task, block):
    message = protocol.pack_task(task, block)
    assert message[:1] == protocol.TASK
    assert protocol.unpack_task(message) == (task, block)
    assert isinstance(protocol.unpack_task(message)[0].kind, Kind)


@pytest.mark.parametrize(("length", "name"), [(1, "psm_1a2b"), (2**40, "wnsm_ä")])
def test_a_block(length, name):
    assert protocol.unpack_block(protocol.pack_block(length, name)) == (length, name)


def test_the_answer_to_a_task_holds_the_trajectory_unchanged():
    sent = trajectory(3, 7)
    message = protocol.pack_finished(12.5, 0.1, sent.buffer)
    assert message[:1] == protocol.FINISHED
    held_at, seconds, buffer = protocol.unpack_finished(message)
    assert (held_at, seconds) == (12.5, 0.1)
    assert buffer.obj is message  # not copied
    received = Trajectory.over(LAYOUT, 4, buffer)
    for name in LAYOUT.fields:
        assert np.array_equal(getattr(received, name), getattr(sent, name)), name
    assert (len(message) - len(buffer)) % 8 == 0  # so that the arrays are aligned


def test_first_bytes_are_single_and_distinct():
    kinds = (protocol.READY, protocol.TASK, protocol.FINISHED, protocol.ERROR, protocol.POLICY)
    assert [len(kind) for kind in kinds] == [1] * 5
    assert len(set(kinds)) == 5
