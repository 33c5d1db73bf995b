"""What a run uses of the machine: the whole process tree, not the learner alone."""

import time
from typing import Any

import psutil

INTERVAL = 0.5  # seconds between two samples of the process tree
SHARE = 0.005  # of the time may go into sampling: with many drivers a sample takes tens of milliseconds


class Resources:
    """Samples CPU and memory of this process and its descendants, and use of GPUs where NVML answers.

    Args:
        gpu: the GPU that the run computes on, by NVML's name for it; None for none, and figures of all of the machine.

    Attributes:
        gpu_words: use and memory of the run's GPU in the last sample, in words; empty where it has none.
    """

    gpu_words = ""

    def __init__(self, gpu: str | None = None) -> None:
        self._cpu_seconds: dict[int, float] = {}
        self._peak_memory = 0
        self._peak_processes = 0
        self._started = time.monotonic()
        self._nvml, self._gpu_name = _open_nvml(), gpu
        self._gpu: list[tuple[float, float]] = []
        self.sample()
        self._before = sum(self._cpu_seconds.values())  # what importing torch took, say, is not the run's

    def sample_if_due(self) -> None:
        """Takes a sample unless the last one is recent."""
        if time.monotonic() >= self._next:
            self.sample()

    def sample(self) -> None:
        """Takes a sample."""
        started = time.monotonic()
        this = psutil.Process()
        memory, processes = 0, [this, *this.children(recursive=True)]
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory += _memory(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            self._cpu_seconds[process.pid] = times.user + times.system
        self._peak_memory = max(self._peak_memory, memory)
        self._peak_processes = max(self._peak_processes, len(processes))
        if self._nvml:
            self._sample_gpu()
        now = time.monotonic()
        self._next = now + max(INTERVAL, (now - started) / SHARE)

    def _sample_gpu(self) -> None:
        found = _gpu_use(self._nvml, self._gpu_name)
        self._gpu += found
        if self._gpu_name and found:
            self.gpu_words = f"{found[0][0]:.0f} % GPU, {found[0][1]:,.0f} MB on it"

    def summary(self) -> dict[str, Any]:
        """Returns what ``summary.json`` holds."""
        self.sample()
        elapsed = max(time.monotonic() - self._started, 1e-9)
        cpu = sum(self._cpu_seconds.values()) - self._before
        summary: dict[str, Any] = {
            "processes": self._peak_processes,
            "cpu_seconds": cpu,
            "cpu_percent": 100 * cpu / elapsed,
            "peak_memory_mb": self._peak_memory / 1e6,
        }
        if self._gpu:
            summary["gpu_percent"] = sum(use for use, _ in self._gpu) / len(self._gpu)
            summary["gpu_peak_memory_mb"] = max(memory for _, memory in self._gpu)
        return summary


def _memory(process: psutil.Process) -> int:
    """Returns bytes; pages that processes share count once in all where the system tells, else once for each."""
    full = process.memory_full_info()
    return getattr(full, "pss", 0) or full.rss


def _open_nvml() -> Any:
    """Returns the module ``pynvml``, initialised; None where there is no NVIDIA driver to answer."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _gpu_use(nvml: Any, name: str | None) -> list[tuple[float, float]]:
    """Returns (use in percent, memory in MB) of the GPU of this name, or of each one, that answers."""
    found: list[tuple[float, float]] = []
    try:
        handles = [nvml.nvmlDeviceGetHandleByUUID(name)] if name else _all_gpus(nvml)
    except nvml.NVMLError:
        return found
    for handle in handles:
        try:
            use, memory = nvml.nvmlDeviceGetUtilizationRates(handle), nvml.nvmlDeviceGetMemoryInfo(handle)
        except nvml.NVMLError:
            continue
        found.append((float(use.gpu), memory.used / 1e6))
    return found


def _all_gpus(nvml: Any) -> list[Any]:
    """Returns handles of the machine's GPUs."""
    return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
