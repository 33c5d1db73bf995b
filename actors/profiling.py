"""Profiles of the learner and of each driver."""

import cProfile
import io
import pathlib
import pstats
from collections.abc import Iterator
from contextlib import contextmanager

LINES = 40  # functions in a profile


@contextmanager
def profiled(path: str | None) -> Iterator[None]:
    """Profiles the block with cProfile and writes the functions that took most time, calls excluded, to ``path``.

    Does nothing where ``path`` is None. The directory of ``path`` must exist only when the block ends.
    """
    if path is None:
        yield
        return
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(LINES)
        pathlib.Path(path).write_text(text.getvalue(), encoding="utf-8")
