"""The kernels of the numerical libraries: the same ones on every x86-64 processor of the last ten years.

OpenBLAS, MKL, NumPy and torch choose, by the processor that they find, among kernels that differ in the last bits. Here
they are told to take those of the level x86-64-v3 (System V ABI, AMD64 supplement, section 3.1.1) wherever there are
better ones too, so that a run ends in the same bits on all of them. Each library reads that once, as it is loaded.

Nothing but the standard library may be imported here, since all else may load NumPy.
"""

import importlib.metadata
import os
import platform
import sys


def _numpy() -> tuple[int, ...]:
    """Returns NumPy's version, two numbers: since 2.4 it names groups of instructions, and each by itself before."""
    return tuple(int(number) for number in importlib.metadata.version("numpy").split(".")[:2])


LEVEL = "x86-64-v3"
VARIABLES = {
    "OPENBLAS_CORETYPE": "Haswell",  # the BLAS of NumPy, and that of SciPy
    "NPY_ENABLE_CPU_FEATURES": "X86_V3" if _numpy() >= (2, 4) else "AVX F16C FMA3 AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "MKL_CBWR": "COMPATIBLE",  # the BLAS of torch; on processors that are not Intel's it has no other branch of a name
    "NUMBA_CPU_NAME": LEVEL,  # what is compiled, and that it is kept for all of them
    "NUMBA_CPU_FEATURES": "",
}
"""Environment variables that choose the kernels, and what they are set to."""
CONTRARY = "NPY_DISABLE_CPU_FEATURES"
"""Variable beside which NumPy does not take the one that is set here."""
NEEDED = {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
"""What Linux calls the instructions that the level adds."""
LIBRARIES = ("numpy", "scipy", "torch")


def fix_kernels() -> None:
    """Chooses the kernels of this process and of all that it starts, unless a library has chosen by itself before."""
    if loaded() or not has_level():
        return
    os.environ.update(VARIABLES)
    os.environ.pop(CONTRARY, None)


def are_fixed() -> bool:
    """Returns whether the environment fixes the kernels."""
    return all(os.environ.get(name) == value for name, value in VARIABLES.items())


def kernels() -> str:
    """Returns, for a summary, which kernels a run has had."""
    return LEVEL if are_fixed() else "this processor's"


def remark() -> str:
    """Returns what to say where the kernels could have been fixed and are not; empty where there is nothing to say."""
    if are_fixed() or not has_level():
        return ""
    return f"{loaded()} was loaded before tuninglaw: bits are this processor's; import tuninglaw first for any one's"


def loaded() -> str:
    """Returns the library that was loaded first; empty where there is none."""
    return next((name for name in sys.modules if name in LIBRARIES), "")


def has_level() -> bool:
    """Returns whether this processor has what the level needs; no where nothing tells, as on other systems."""
    if platform.machine() != "x86_64":
        return False
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return set(flags.split()) >= NEEDED
