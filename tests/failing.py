"""Objectives that fail in a part of their range, and in every way in which f can."""

import os
import time

import numpy as np

from tests.problems import UnknownOptimum


class Failing(UnknownOptimum):
    """The quadratic function, which fails where a coordinate of (x, c) is above a limit.

    Args:
        how: raise, nan, inf, exit, interrupt, hang or kill.
        coordinate: which one.
        limit: above which it fails.
        path: of a file to which each evaluation adds a byte; None for none.
        seconds: how long it hangs.
    """

    def __init__(self, how="raise", coordinate=2, limit=0.5, path=None, seconds=3600.0):
        self.how, self.coordinate, self.limit, self.path, self.seconds = how, coordinate, limit, path, seconds

    def fails(self, x, c):
        """Returns where it fails, ``[n]`` of bool."""
        return np.concatenate([x, c], axis=1)[:, self.coordinate] > self.limit

    def __call__(self, x, c):
        if self.path:
            with open(self.path, "ab", buffering=0) as file:
                file.write(b"." * len(x))
        failed = self.fails(x, c)
        if failed.any() and self.how not in ("nan", "inf"):
            self.fail()
        values = super().__call__(x, c)
        return np.where(failed, np.inf if self.how == "inf" else np.nan, values)

    def fail(self):
        if self.how == "raise":
            raise ValueError("the probe lost\ncontact")
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "hang":
            time.sleep(self.seconds)
        if self.how == "kill":
            os.kill(os.getpid(), 9)


class FailingTogether(Failing):
    """The same, asked for many rows at once."""

    vectorised = True


class Bordered(FailingTogether):
    """The same in the first knob, whose best values lie up to a distance beyond the limit; the optimum is known."""

    vectorised = True

    def __init__(self, how="raise", limit=0.0, **keywords):
        super().__init__(how, 0, limit, **keywords)

    def solve(self, c):
        best = self.best(c)
        best[:, 0] = np.minimum(best[:, 0], self.limit)
        return best, np.sum((best - self.best(c)) ** 2, axis=1)


class Unbordered(Bordered):
    """The same without the limit."""

    vectorised = True

    def __init__(self):
        super().__init__(limit=np.inf)
