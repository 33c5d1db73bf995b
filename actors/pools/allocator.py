"""The memory that a driver keeps between two evaluations of f."""

import contextlib
import ctypes

KEPT = 2**24
"""Bytes that were freed and are kept at the most; blocks of up to half of it are taken from them."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def keep_freed_memory() -> None:
    """Lets glibc's allocator keep what f has freed, up to ``KEPT`` bytes, for the next evaluation.

    It gives blocks of 128 KiB and more back to the kernel as they are freed, until a process has freed a large one.
    The learner has, by loading torch; a driver has not, and an f with matrices of 100 x 100 would spend a fifth of its
    time on fetching the same pages again. Other libraries of C have no such setting.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)
        library.mallopt(M_MMAP_THRESHOLD, KEPT // 2)
