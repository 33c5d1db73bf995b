"""Drivers as processes, over pipes.

      snapshot ---> shared memory, read by all drivers
      tasks    ===> pipe of each driver      (forkserver children: NumPy shared, no torch)
      pipes *and* process sentinels ===> trajectories, deaths

A driver is written to only while it is reading (it has no task then), and the learner reads from any driver that
has sent a message, so neither side ever blocks the other, however large snapshot and trajectories are. A driver that
stops in the middle of a message is found by the sockets' own time-outs.
"""

import atexit
import os
import time
from collections.abc import Iterable, Iterator

from actors.draws import job_sampler
from actors.job import Job
from actors.pools.dealing import DealingPool
from actors.pools.driver import HandleSelector, ProcessHandle, clean_start, driver_context
from actors.pools.fleet import Event
from actors.pools.keeper import ENDS_SESSIONS, Keeper
from actors.pools.leftovers import sweep, temporary_directory
from actors.pools.shared_snapshot import SharedSnapshot

CLOSE_SECONDS = 10.0
"""How long all drivers together may take to close their environments, unless a job says otherwise."""
BUSY_SECONDS = 2.0
"""How long those that are in the middle of a task have for that."""


def cores() -> int:
    """Returns the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fewer(started: int, drivers: int) -> str:
    """Returns what to say where fewer drivers are started than were asked for; empty where there is nothing to say."""
    return f"{started} drivers instead of {drivers}, since no round has more slots" if started < drivers else ""


class ProcessFleet:
    """Driver processes on this machine.

    Args:
        job: what they run.
        timeout: seconds after which the rest of a message that has begun is given up; 0 for no limit.
        patience: seconds that all drivers together may take to close their environments.

    Raises:
        UsageError: the job cannot work; no process has been started then.
    """

    far = False

    def __init__(self, job: Job, timeout: float, patience: float):
        sampler = job_sampler(job)
        self._job, self._timeout, self._patience = job, timeout, patience
        sweep()
        temporary_directory()
        self._context = driver_context(sampler.preload if sampler else ())
        self._shared, self._selector = SharedSnapshot(), HandleSelector()
        self._keeper: Keeper | None = None
        if ENDS_SESSIONS:
            with clean_start():
                self._keeper = Keeper(self._context)

    @property
    def cores(self) -> int:
        return cores()

    def start(self, index: int) -> ProcessHandle:
        return ProcessHandle(self._context, self._job, index, self._timeout, self._selector, self._keeper)

    def wait(self, timeout: float | None) -> Iterator[Event]:
        for handle in self._selector.ready(timeout):
            yield Event(handle, handle.receive())

    def now(self) -> float:
        return time.monotonic()

    def share(self, snapshot: bytes) -> tuple[bytes, int]:
        block = self._shared.write(snapshot)
        return block, self._shared.edition

    def rest(self) -> None:
        """Keeps the snapshot where it lies: the next one takes its place."""

    def close(self, drivers: Iterable[tuple[ProcessHandle, bool]]) -> None:
        """Ends all drivers, after they had time to close their environments; of each, whether it is busy."""
        ending = list(drivers)
        for handle, _ in ending:
            handle.ask_to_close()
        started = time.monotonic()
        for handle, busy in ending:
            patience = min(self._patience, BUSY_SECONDS) if busy else self._patience
            handle.end(max(0.0, started + patience - time.monotonic()))
        self._selector.close()
        self._shared.close()
        if self._keeper:
            self._keeper.close()


class ProcessPool(DealingPool):
    """``drivers`` processes, started side by side; no more of them than there are slots.

    Args:
        job: what they run.
        drivers: how many.
        timeout: seconds that a task, or a start, may take before the driver is replaced; 0 for no limit.
        patience: seconds that all drivers together may take to close their environments at the end.

    Raises:
        UsageError: the job cannot work; no process has been started then.
        DriverError: a driver cannot make its environments, or cannot be started.
    """

    def __init__(self, job: Job, drivers: int, timeout: float, patience: float = CLOSE_SECONDS):
        fleet, started = ProcessFleet(job, timeout, patience), min(drivers, job.most_slots)
        self.choice = fewer(started, drivers)
        atexit.register(self.close)  # before the interpreter waits for its children, which it would do for ever
        super().__init__(job, fleet, started, timeout)

    def close(self) -> None:
        atexit.unregister(self.close)
        super().close()
