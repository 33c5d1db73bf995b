"""Numba, set so that a compiled function gives the same bits everywhere and is compiled once on a machine.

There is no fast-math: an operation is rounded as it is written. What is compiled is kept in a directory of its own for
each version of these modules, since Numba itself looks only at the module of the function that is kept.
"""

import hashlib
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numba

SETTINGS: dict[str, Any] = {"error_model": "numpy"}  # a division by zero gives infinity, and loops become vectors


def part(function: Callable[..., Any]) -> Any:
    """Compiles a function that compiled functions alone call."""
    return numba.njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **SETTINGS)


def entry(function: Callable[..., Any]) -> Any:
    """Compiles a function that Python calls, once on a machine for each kind of arguments."""
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(pathlib.Path(given or _default_directory(), f"tuninglaw-{_digest()}"))
    try:
        return numba.njit(function, cache=True, **SETTINGS)
    finally:
        numba.config.CACHE_DIR = given


def _default_directory() -> pathlib.Path:
    """Returns where programs of this user keep what they can make again."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def _digest() -> str:
    """Returns what stands for the texts of these modules."""
    modules = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(module.read_bytes() for module in modules)).hexdigest()[:16]
