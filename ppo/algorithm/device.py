"""Arrays where an update is computed: NumPy's in the processor's memory, or torch's on a device, which may be a GPU.

What works on both kinds alike, such as ``Adam``, takes either.
"""

from typing import Any

import numpy as np
import torch

Array = Any
"""A NumPy array, or a tensor on some device."""


def sent(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """Returns an array as a tensor on a device; on the processor the same memory.

    To a GPU it goes by way of page-locked memory, so that nothing waits for the copy but what uses it.
    """
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def fetched(array: Array) -> np.ndarray:
    """Returns a copy of an array of either kind as NumPy's."""
    return array.copy() if isinstance(array, np.ndarray) else array.cpu().numpy().copy()


def fill(array: Array, values: np.ndarray) -> None:
    """Sets the values of an array of either kind, in place."""
    if isinstance(array, np.ndarray):
        array[:] = values
    else:
        array.copy_(torch.from_numpy(values))


def gpu_of(name: str) -> torch.device | None:
    """Returns the device of a configuration where it is a GPU; None for the processor, where NumPy computes."""
    return None if name == "cpu" else torch.device(name)
