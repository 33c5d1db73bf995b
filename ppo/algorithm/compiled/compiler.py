"""Numba, set so that a compiled function gives the same bits everywhere and is compiled once on a machine.

There is no fast-math: an operation is rounded as it is written. What is compiled is kept in the user's cache directory,
by the text of these modules. Numba's own way to keep it would look at the text of the function alone, and not at those
that it calls, and would end a run where a file is damaged or cannot be written; here it is compiled again then.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import caching

from actors import policy

SETTINGS: dict[str, Any] = {"error_model": "numpy"}  # a division by zero gives infinity, and loops become vectors


def part(function: Callable[..., Any]) -> Any:
    """Compiles a function that compiled functions alone call."""
    return numba.njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **SETTINGS)


def entry(function: Callable[..., Any]) -> Any:
    """Compiles a function that Python calls, once on a machine for each kind of arguments."""
    dispatcher = numba.njit(function, **SETTINGS)
    if directory() is not None:
        dispatcher._cache = _Kept(function)  # what njit(cache=True) sets to a cache of Numba's own
    return dispatcher


@functools.cache
def directory() -> pathlib.Path | None:
    """Returns where compiled functions are kept; None where this user has no home directory."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        return pathlib.Path(given or pathlib.Path.home() / ".cache", f"tuninglaw-{_digest()}").absolute()
    except RuntimeError:  # nobody knows this user, as in some containers
        return None


def _digest() -> str:
    """Returns what stands for the texts of these modules, and of the one whose constants they take."""
    modules = [*sorted(pathlib.Path(__file__).parent.glob("*.py")), pathlib.Path(policy.__file__)]
    return hashlib.sha256(b"\0".join(module.read_bytes() for module in modules)).hexdigest()[:16]


class _Place(caching._CacheLocator):
    """Tells Numba where to keep a function: the name of the directory says of which text it is."""

    def get_cache_path(self) -> str:
        return str(directory())

    def get_source_stamp(self) -> str:
        return _digest()

    def get_disambiguator(self) -> str:
        return ""


class _Files(caching.CompileResultCacheImpl):
    """Names the files of a function."""

    def __init__(self, function: Callable[..., Any]):
        self._locator = _Place()
        self._filename_base = self.get_filename_base(function.__name__, getattr(sys, "abiflags", ""))


class _Kept(caching.FunctionCache):
    """A cache that is one at best: a file that cannot be read or written is as if it were not there."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged pickle raises
            with contextlib.suppress(Exception):
                self.flush()  # else nothing would be kept here any more
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)
