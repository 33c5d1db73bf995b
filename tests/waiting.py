"""Objectives that wait, and the same written as a plain one; a gate that they pass in a forced order."""

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import Future

import numpy as np

from env import Objective, Range, objective


class Plain(Objective):
    """f = |x - best(c)|^2 and noise of ``rng``; the name of a slot is the first of its conditions."""

    knobs = 2
    conditions = 1

    def value(self, x, c, rng):
        best = np.concatenate([0.5 * c, 0.3 - 0.4 * c * c], axis=1)
        return float(np.sum((x - best) ** 2)) + 0.1 * rng.standard_normal()

    def __call__(self, x, c, rng):
        return self.value(x, c, rng)


class Waits(Plain):
    """Waits on the event loop, for times that differ."""

    async def __call__(self, x, c, rng):
        value = self.value(x, c, rng)
        await asyncio.sleep(0.01 * rng.random())
        return value


class WaitsInThread(Plain):
    """The same in a thread."""

    thread_safe = True

    def __call__(self, x, c, rng):
        value = self.value(x, c, rng)
        time.sleep(0.01 * rng.random())
        return value


class Gate:
    """Lets evaluations end one by one, each once as many are under way as can be; ``choose`` names the next.

    Args:
        rows: how many chains of evaluations there are, each of ``each`` evaluations, named by their conditions.
        most: how many may be under way at once.
        choose: takes the names of all that are under way, in the order in which they came, and returns one of them.
        holds: whether nothing passes after the last evaluation of a chain until ``came`` is released.

    Attributes:
        most_at_once: how many were under way at once, at the most.
        order: the names, in the order in which evaluations ended.
    """

    def __init__(self, rows, each, most, choose, holds=False):
        self._left = rows * each
        self._rows, self._each, self._most, self._choose = rows, each, most, choose
        self._changed, self._under_way = threading.Condition(), {}
        self.most_at_once, self.order = 0, []
        self.holds, self.came = holds, threading.Semaphore(0)
        threading.Thread(target=self._run, daemon=True).start()

    def enter(self, c):
        """Returns what ends when the evaluation may."""
        may_end: Future = Future()
        with self._changed:
            self._under_way[float(c[0, 0])] = may_end
            self._changed.notify()
        return may_end

    def _run(self):
        over = set()
        while len(over) < self._rows:
            with self._changed:
                expected = min(self._most, self._rows - len(over))
                assert self._changed.wait_for(lambda n=expected: len(self._under_way) >= n, timeout=30), self.order
                self.most_at_once = max(self.most_at_once, len(self._under_way))
                name = self._choose(list(self._under_way))
                may_end = self._under_way.pop(name)
            self.order.append(name)
            if self.order.count(name) == self._each:
                over.add(name)
            may_end.set_result(None)
            if self.holds and name in over:
                assert self.came.acquire(timeout=30), self.order


class Closed:
    """A gate that lets nothing pass."""

    def enter(self, c):
        return Future()


class Gated(Plain):
    """Waits for a gate."""

    gate = None

    async def __call__(self, x, c, rng):
        await asyncio.wrap_future(self.gate.enter(c))
        return self.value(x, c, rng)


class GatedInThread(Plain):
    """The same in a thread."""

    thread_safe = True
    gate = None

    def __call__(self, x, c, rng):
        self.gate.enter(c).result(30)
        return self.value(x, c, rng)


@objective(knobs={"gain": Range(0, 10)}, conditions={"load": Range(0, 1)}, constraints=1, at_once=3)
async def remote(gain, load):
    """A function of a service, with a constraint."""
    await asyncio.sleep(0.001)
    return (gain - 4 * load) ** 2, gain - 9


@objective(knobs={"gain": Range(0, 10)}, conditions={"load": Range(0, 1)}, constraints=1, at_once=3)
def local(gain, load):
    """The same without waiting."""
    return (gain - 4 * load) ** 2, gain - 9


class Raises(Plain):
    """Raises ValueError under some conditions, and elsewhere waits for very long."""

    async def __call__(self, x, c, rng):
        if c[0, 0] > 0.5:
            raise ValueError("the service is down")
        await asyncio.sleep(3600)


class FailsAtTimes(Plain):
    """Raises ValueError under some conditions."""

    async def __call__(self, x, c, rng):
        await asyncio.sleep(0)
        if c[0, 0] > 0.5:
            raise ValueError("the service is down")
        return self.value(x, c, rng)


class FailsAtTimesPlain(Plain):
    """The same without waiting."""

    def __call__(self, x, c, rng):
        if c[0, 0] > 0.5:
            raise ValueError("the service is down")
        return self.value(x, c, rng)


class OneAtATime(WaitsInThread):
    """An instrument of which there is one."""

    at_once = 1


class HangsBesideOthers(Plain):
    """Hangs under some conditions, up to ``most``, while others go on for long; two at once."""

    at_once = 2

    def __init__(self, most):
        self.most = most

    async def __call__(self, x, c, rng):
        await asyncio.sleep(3600 if c[0, 0] <= self.most else 0.1)
        return self.value(x, c, rng)


class Trouble(Plain):
    """Does what ``trouble`` says once, the first time that any process asks under some conditions; notes evaluations.

    Args:
        trouble: ``kill`` its process, or ``hang``, once all that need not wait for it have ended.
        path: a file that gets a byte for each evaluation that begins.
        most: the conditions, up to this one.
    """

    def __init__(self, trouble, path, most):
        self.trouble, self.path, self.most = trouble, path, most

    async def __call__(self, x, c, rng):
        with open(self.path, "ab", buffering=0) as file:
            file.write(b".")
        if c[0, 0] <= self.most and self.first():
            await asyncio.sleep(0.5 if self.trouble == "kill" else 3600)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.value(x, c, rng)

    def first(self):
        """Returns True the first time in all processes."""
        try:
            os.close(os.open(f"{self.path}-first", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True
