"""Figures of GPUs are those that NVML gives, of the one that a run uses or of all; without a driver there are none.

NVML itself is asked where it answers; else the functions of ``pynvml`` that are called are stood in for by an object.
"""

import types

import pynvml
import pytest

from ppo.training import resources as module
from ppo.training.resources import Resources

GPUS = {"GPU-a": (20, 1_000_000_000), "GPU-b": (80, 3_000_000_000)}


class FakeNVML:
    """What ``pynvml`` would answer on a machine with two GPUs; those in ``silent`` do not answer."""

    NVMLError = pynvml.NVMLError

    def __init__(self, silent=()):
        self.silent = silent

    def nvmlDeviceGetCount(self):  # noqa: N802, as in pynvml
        return len(GPUS)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return list(GPUS)[index]

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        if uuid not in GPUS:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        if handle in self.silent:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return types.SimpleNamespace(gpu=GPUS[handle][0])

    def nvmlDeviceGetMemoryInfo(self, handle):  # noqa: N802
        return types.SimpleNamespace(used=GPUS[handle][1])


@pytest.mark.parametrize(
    ("gpu", "silent", "percent", "memory", "words"),
    [
        (None, (), 50, 3000, ""),
        ("GPU-a", (), 20, 1000, "20 % GPU, 1,000 MB on it"),
        ("GPU-b", (), 80, 3000, "80 % GPU, 3,000 MB on it"),
        (None, ("GPU-b",), 20, 1000, ""),
    ],
)
def test_figures_of_gpus(gpu, silent, percent, memory, words, monkeypatch):
    monkeypatch.setattr(module, "_open_nvml", lambda: FakeNVML(silent))
    resources = Resources(gpu)
    summary = resources.summary()
    assert (summary["gpu_percent"], summary["gpu_peak_memory_mb"]) == (percent, memory)
    assert resources.gpu_words == words


@pytest.mark.parametrize(("gpu", "silent"), [("GPU-c", ()), ("GPU-a", ("GPU-a",)), (None, tuple(GPUS))])
def test_of_what_does_not_answer_there_are_none(gpu, silent, monkeypatch):
    monkeypatch.setattr(module, "_open_nvml", lambda: FakeNVML(silent))
    resources = Resources(gpu)
    assert "gpu_percent" not in resources.summary()
    assert resources.gpu_words == ""


def test_without_a_driver_nothing_breaks():
    resources = Resources()
    if resources._nvml is not None:
        pytest.skip("NVML answers on this machine")
    summary = resources.summary()
    assert summary["processes"] >= 1 and "gpu_percent" not in summary
