"""Where the time of the training loop goes."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

PHASES = ("collect", "train", "broadcast", "evaluate", "other")
OVERLAPPED = "overlapped"
"""Collecting while the learner did something else: measured beside the phases, and part of none."""
LAST_STEPS = 10_000
"""Training steps that medians are over at the most, so that a long run takes no more memory than a short one."""


class _Measured:
    """Adds the time that a block takes, its own included: a training step of a quick f has many, and takes 1 ms."""

    __slots__ = ("_mark", "_phase", "_started", "_timing")

    def __init__(self, timing: "Timing", phase: str):
        self._started = time.perf_counter()
        self._timing, self._phase, self._mark = timing, phase, timing.marked(phase)

    def __enter__(self) -> None:
        self._mark.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._mark.__exit__(*error)
        self._timing.add(self._phase, time.perf_counter() - self._started)


class Timing:
    """Seconds of each phase, in total and for each training step, and of the loop as a whole.

    Args:
        spent: what earlier parts of a resumed run took, ``{phase: seconds, "loop": seconds}``.
        marked: makes a context that marks a block by the name of its phase, for a profiler.
    """

    def __init__(self, spent: dict[str, float] | None = None, marked: Callable[[str], Any] = nullcontext):
        spent, self.marked = spent or {}, marked
        self._seconds = {name: spent.get(name, 0.0) for name in (*PHASES, OVERLAPPED)}
        self._before = spent.get("loop", 0.0)
        self._started = time.perf_counter()
        self._stopped: float | None = None
        self._ended: float | None = self._started  # when the last step ended; None within a step
        self._current = dict.fromkeys(self._seconds, 0.0)
        self.reset_medians()

    @property
    def totals(self) -> dict[str, float]:
        """Seconds of each phase so far."""
        return {phase: self._seconds[phase] for phase in PHASES}

    @property
    def overlapped(self) -> float:
        """Seconds of collecting so far that passed while the learner did something else."""
        return max(0.0, self._seconds[OVERLAPPED])

    def add(self, phase: str, seconds: float) -> None:
        """Adds time that was measured elsewhere, to a phase or to what overlapped."""
        self._seconds[phase] += seconds
        self._current[phase] += seconds

    def measure(self, phase: str) -> "_Measured":
        """Returns a context that adds the time that its block takes."""
        return _Measured(self, phase)

    def begin_step(self) -> None:
        """Opens a training step; what has passed since the last one was the caller's, and counts as other."""
        if self._ended is not None:
            self.add("other", time.perf_counter() - self._ended)
            self._ended = None

    def leave_out(self) -> None:
        """Leaves out what has passed since the last step: it was that of other runs in this process."""
        if self._ended is not None:
            self._ended = time.perf_counter()

    def end_step(self) -> None:
        """Closes a training step."""
        self._ended = time.perf_counter()
        for name, seconds in self._current.items():
            self._steps[name].append(seconds)
            self._current[name] = 0.0

    @property
    def loop(self) -> float:
        """Wall time of the loop so far, earlier parts of a resumed run included."""
        return self._before + (self._stopped or time.perf_counter()) - self._started

    def stop(self) -> None:
        """Ends the loop."""
        self.begin_step()
        self._stopped = time.perf_counter()

    def spent(self) -> dict[str, float]:
        """Returns what a checkpoint keeps."""
        beside = {OVERLAPPED: self.overlapped} if self.overlapped else {}
        return self.totals | beside | {"loop": self.loop}

    def summary(self) -> dict[str, dict[str, float] | float]:
        """Returns what ``timing.json`` holds; medians are over the last steps since the program started."""
        medians, totals = self.medians(), self.totals | {OVERLAPPED: self.overlapped}
        parts: dict[str, dict[str, float] | float] = {
            name: {"total": seconds, "median_per_step": medians[name]} for name, seconds in totals.items()
        }
        return parts | {"loop": self.loop}

    def medians(self) -> dict[str, float]:
        """Returns the median seconds a training step of each phase, and of what overlapped, of the last steps."""
        return {name: statistics.median(seconds or [0.0]) for name, seconds in self._steps.items()}

    def reset_medians(self) -> None:
        """Leaves the training steps so far out of the medians."""
        self._steps = {name: deque[float](maxlen=LAST_STEPS) for name in self._seconds}

    def split(self) -> str:
        """Returns the split of the time between collect, train and broadcast, in words."""
        total = max(self.loop, 1e-9)
        return "/".join(f"{100 * self._seconds[phase] / total:.0f}" for phase in ("collect", "train", "broadcast"))
