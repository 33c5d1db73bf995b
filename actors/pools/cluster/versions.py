"""What must be the same on all machines of a run, so that a message and a last bit mean the same everywhere."""

import importlib.metadata
import os
import platform
import sys

PACKAGES = ("numpy", "scipy", "gymnasium")
CHOOSING = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "NPY_ENABLE_CPU_FEATURES",
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "OPENBLAS_CORETYPE",
)
KERNELS = (*CHOOSING, "NPY_DISABLE_CPU_FEATURES")
"""Environment variables by which numerical libraries choose their kernels; ``ppo.processor`` sets all but the last."""


def kernel_variables() -> dict[str, str]:
    """Returns those of the variables that are set here, which are to be set on the nodes too."""
    return {name: os.environ[name] for name in KERNELS if name in os.environ}


def versions() -> dict[str, str]:
    """Returns the versions of Python and of what a driver computes with, and what the kernels are chosen by.

    Where the environment does not choose them, the libraries do by the processor, which must be the same model then.
    """
    found = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}", "machine": platform.machine()}
    found["C library"] = " ".join(platform.libc_ver())  # its functions differ in the last bits too
    found |= {name: importlib.metadata.version(name) for name in PACKAGES}
    found |= {name: os.environ.get(name, "unset") for name in KERNELS}
    chosen = all(name in os.environ for name in CHOOSING)
    return found | ({} if chosen else {"processor": _model()})


def _model() -> str:
    """Returns the processor's name; that of its architecture where the system does not tell it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            line = next((line for line in file if line.startswith("model name")), "")
    except OSError:
        line = ""
    return line.partition(":")[2].strip() or platform.processor() or platform.machine()


def difference(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Returns how another machine's versions differ from ours, in words; empty where they are the same."""
    return ", ".join(
        f"{name} {theirs.get(name)} instead of {ours[name]}" for name in ours if theirs.get(name) != ours[name]
    )
