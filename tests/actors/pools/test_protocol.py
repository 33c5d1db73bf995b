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
@pytest.mark.parametrize("block", [b"", protocol.pack_block(1, 4096, "psm_1a2b")], ids=["held", "new"])
def test_a_task_and_its_block(task, block):
    message = protocol.pack_task(task, 2**64 - 1, 2**64 - 2, block)
    assert message[:1] == protocol.TASK
    assert protocol.unpack_task(message) == (task, 2**64 - 1, 2**64 - 2, block)
    assert isinstance(protocol.unpack_task(message)[0].kind, Kind)


@pytest.mark.parametrize(("length", "name"), [(1, "psm_1a2b"), (2**40, "wnsm_ä"), (3, "")])
def test_a_block(length, name):
    for behind in (b"", b"a snapshot"):
        assert protocol.unpack_block(protocol.pack_block(7, length, name) + behind) == (7, length, name, behind)


def test_the_answer_to_a_task_holds_the_trajectory_unchanged():
    sent = trajectory(3, 7)
    message = protocol.pack_finished(protocol.Answer(Task(Kind.PLAN, 5, 3, 7), 9, 12.5, 0.1, sent.buffer, 4))
    assert message[:1] == protocol.FINISHED
    answer = protocol.unpack_finished(message)
    assert (answer.task, answer.round, answer.held_at, answer.seconds) == (Task(Kind.PLAN, 5, 3, 7), 9, 12.5, 0.1)
    buffer = answer.trajectory
    assert buffer.obj is message  # not copied
    received = Trajectory.over(LAYOUT, 4, buffer)
    for name in LAYOUT.fields:
        assert np.array_equal(getattr(received, name), getattr(sent, name)), name
    assert (len(message) - len(buffer)) % 8 == 0  # so that the arrays are aligned


@pytest.mark.parametrize("slot", [None, 0, 2**31 - 1])
def test_an_error_and_its_slot(slot):
    message = protocol.pack_error(slot, "ValueError: zu heiß")
    assert message[:1] == protocol.ERROR
    assert protocol.unpack_error(message) == (slot, "ValueError: zu heiß")
    assert protocol.unpack_error(protocol.pack_error(slot, "\udcff")) == (slot, "?")
    for length in range(len(protocol.pack_error(slot, ""))):
        with pytest.raises(protocol.MessageError):
            protocol.unpack_error(message[:length])


def test_first_bytes_are_single_and_distinct():
    kinds = ("READY", "TASK", "FINISHED", "ERROR", "POLICY", "START", "CLOSE")
    bytes_of = {getattr(protocol, kind) for kind in kinds}
    assert [len(kind) for kind in bytes_of] == [1] * 7


@pytest.mark.parametrize("unpack", [protocol.unpack_task, protocol.unpack_finished, protocol.unpack_block])
def test_a_message_that_was_cut_short_is_told(unpack):
    task = Task(Kind.COLLECT, 1, 2, 3)
    whole = {
        protocol.unpack_task: protocol.pack_task(task, 1, 2, b""),
        protocol.unpack_finished: protocol.pack_finished(protocol.Answer(task, 1, 0.0, 0.0, b"", 0)),
        protocol.unpack_block: protocol.pack_block(1, 4, "name"),
    }[unpack]
    unpack(whole)
    for length in range(len(whole)):
        with pytest.raises(protocol.MessageError):
            unpack(whole[:length])


def test_a_task_of_an_unknown_kind_is_told():
    message = bytearray(protocol.pack_task(Task(Kind.COLLECT, 1, 2, 3), 1, 2, b""))
    message[1] = 99
    with pytest.raises(protocol.MessageError, match="unknown kind 99"):
        protocol.unpack_task(bytes(message))
