"""Arrays go to a device and come back as they were; what is fetched is a copy. The device here is the processor."""

import dataclasses

import numpy as np
import pytest
import torch

from ppo.algorithm.device import fetched, fill, gpu_of, sent
from tests.ppo.algorithm.batches import SPECS, batch_for, gate_batch_for

CPU = torch.device("cpu")
ARRAYS = [np.arange(6.0).reshape(2, 3), np.array([True, False]), np.arange(8)[::2], np.zeros((0, 3))]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_what_was_sent_is_fetched_as_a_copy(array):
    tensor = sent(array, CPU)
    for held in (array, tensor):
        back = fetched(held)
        assert back.dtype == array.dtype and np.array_equal(back, array)
        assert not np.shares_memory(back, array)


def test_either_kind_is_filled_in_place():
    for held in (np.zeros(3), torch.zeros(3, dtype=torch.float64)):
        part = held[1:]
        fill(part, np.array([4.0, 5.0]))
        assert fetched(held).tolist() == [0, 4, 5]


def arrays_of(batch):
    """Returns the arrays of a batch, those of its gate among them, as NumPy's."""
    gate = {} if batch.gate is None else {f"gate.{name}": a for name, a in vars(batch.gate).items()}
    own = {name: a for name, a in vars(batch).items() if name != "gate" and a is not None}
    return {name: fetched(array) for name, array in (own | gate).items()}


@pytest.mark.parametrize("several", [False, True])
def test_a_batch_is_sent_whole_and_has_the_same_rows_on_a_device(several):
    spec = dataclasses.replace(SPECS[0], components=3) if several else SPECS[0]
    batch, index = (gate_batch_for if several else batch_for)(spec), np.array([7, 2, 2])
    there = batch.sent(CPU)
    assert isinstance(there.obs, torch.Tensor) and (there.gate is None) == (batch.gate is None)
    for ours, theirs in ((batch, there), (batch.rows(index), there.rows(sent(index, CPU)))):
        expected, found = arrays_of(ours), arrays_of(theirs)
        assert expected.keys() == found.keys()
        assert all(np.array_equal(found[name], array) for name, array in expected.items())


def test_numpy_computes_unless_the_device_is_a_gpu():
    assert gpu_of("cpu") is None
    assert gpu_of("cuda") == torch.device("cuda")
