"""Variables of the environment that children are started with, and that what they start does not get to see."""

import contextlib
import os
import pathlib
import threading
from collections.abc import Iterator

ROOT = str(pathlib.Path(__file__).parents[2])
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
PATH, SAFE, OURS = "PYTHONPATH", "PYTHONSAFEPATH", "tuninglaw"


@contextlib.contextmanager
def changed(values: dict[str, str]) -> Iterator[None]:
    """Sets variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _OneThread:
    """Sets ``THREAD_LIMITS`` for as long as anyone needs it, and others may need it longer than who came first."""

    def __init__(self) -> None:
        self._lock, self._users, self._open = threading.Lock(), 0, contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._users:
                self._open.enter_context(changed(dict.fromkeys(THREAD_LIMITS, "1")))
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._open.close()


one_thread = _OneThread()
"""Holds to one thread BLAS and OpenMP of what is started or loaded meanwhile: their last bits may depend on it."""


def packages_first() -> dict[str, str]:
    """Returns variables with which the fork server finds this program's packages before the working directory's.

    It loads modules before it is told the learner's path (CPython issue 126631), a user's own ``env.py`` for one.
    """
    path = os.environ.get(PATH)
    safe = {} if os.environ.get(SAFE) else {SAFE: OURS}
    return {PATH: ROOT if path is None else f"{ROOT}{os.pathsep}{path}"} | safe


def restore() -> None:
    """Undoes ``packages_first`` in a child, before it runs anything of the user's."""
    path = os.environ.get(PATH, "")
    if path == ROOT:
        del os.environ[PATH]
    elif path.startswith(f"{ROOT}{os.pathsep}"):
        os.environ[PATH] = path.removeprefix(f"{ROOT}{os.pathsep}")
    if os.environ.get(SAFE) == OURS:
        del os.environ[SAFE]
