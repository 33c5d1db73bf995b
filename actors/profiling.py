"""Profiles that name where the time goes, of the learner and of each driver."""

import cProfile
import io
import pathlib
import pstats
from collections.abc import Iterator
from contextlib import contextmanager

LINES = 40


@contextmanager
def profiled(path: str | None) -> Iterator[None]:
    """Profiles the block with cProfile and writes the functions that took most time themselves to ``path``.

    None does nothing. The directory of ``path`` may be made while the block runs.
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
