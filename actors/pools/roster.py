"""Which drivers there are: who is idle, whose deadline is next, which numbers are vacant, each in constant time.

All deadlines are as long, so that drivers stand in the order of theirs where each new one goes to the end.
"""

from collections import deque

from actors.job import Task
from actors.pools.fleet import Handle


class Driver:
    """What the pool knows of a driver.

    Args:
        index: number of the driver.
        handle: its handle.

    Attributes:
        task: what it is running, or None.
        ahead: what it is to run after that, or None.
        round: number of the round that these belong to.
        edition: edition of the snapshot that it holds; 0 for none.
        ready: whether it has started.
        deadline: when it is to have answered, or to have started, by the fleet's clock.
    """

    def __init__(self, index: int, handle: Handle):
        self.index, self.handle = index, handle
        self.task: Task | None = None
        self.ahead: Task | None = None
        self.round = 0
        self.edition = 0
        self.ready = False
        self.deadline = float("inf")


class Roster:
    """The drivers of a pool.

    Args:
        drivers: how many there are to be.

    Attributes:
        vacant: numbers that no driver has.
    """

    def __init__(self, drivers: int):
        self.vacant = deque(range(drivers))
        self._drivers: dict[Handle, Driver] = {}
        self._idle: dict[Driver, None] = {}
        self._busy: dict[Driver, None] = {}  # in the order of their deadlines
        self._without_next: dict[Driver, None] = {}

    def __len__(self) -> int:
        return len(self._drivers)

    def of(self, handle: Handle) -> Driver | None:
        """Returns the driver of a handle; None where it has none."""
        return self._drivers.get(handle)

    @property
    def drivers(self) -> list[Driver]:
        """All drivers, in the order of their numbers."""
        return sorted(self._drivers.values(), key=lambda driver: driver.index)

    @property
    def idle(self) -> list[Driver]:
        """Drivers that wait for a task, those first that have waited longest."""
        return list(self._idle)

    @property
    def all_ready(self) -> bool:
        """Whether there are drivers, and each has started."""
        return bool(self._drivers) and all(driver.ready for driver in self._busy)

    @property
    def deadline(self) -> float:
        """The next deadline; infinite where there is none."""
        return next(iter(self._busy)).deadline if self._busy else float("inf")

    def overdue(self, now: float) -> Driver | None:
        """Returns a driver whose deadline has passed; None where there is none."""
        return next(iter(self._busy)) if self.deadline <= now else None

    def add(self, driver: Driver, deadline: float) -> None:
        """Takes in a driver that is to have started by its deadline."""
        self._drivers[driver.handle] = driver
        self.busy(driver, deadline)

    def remove(self, driver: Driver) -> None:
        """Takes out a driver; its number is vacant."""
        del self._drivers[driver.handle]
        self._idle.pop(driver, None)
        self._busy.pop(driver, None)
        self._without_next.pop(driver, None)
        self.vacant.append(driver.index)

    def busy(self, driver: Driver, deadline: float) -> None:
        """Notes that a driver works, until its deadline at the most."""
        driver.deadline = deadline
        self._idle.pop(driver, None)
        self._busy.pop(driver, None)
        self._busy[driver] = None

    def runs(self, driver: Driver, task: Task, number: int, deadline: float) -> None:
        """Notes that an idle driver has a task of a round, until its deadline at the most."""
        driver.task, driver.round = task, number
        self._without_next[driver] = None
        self.busy(driver, deadline)

    def without_next(self, number: int) -> Driver | None:
        """Returns a driver that runs a task of a round, and has none ahead; None where there is none."""
        return next((driver for driver in self._without_next if driver.round == number), None)

    def runs_next(self, driver: Driver, task: Task) -> None:
        """Notes that a driver is to run a task after the one that it runs."""
        driver.ahead = task
        self._without_next.pop(driver, None)

    def done(self, driver: Driver, deadline: float) -> None:
        """Notes that a driver has done its task; until its deadline it runs the next one, if it has one ahead."""
        if driver.ahead is None:
            self.rests(driver)
        else:
            task, driver.ahead = driver.ahead, None
            self.runs(driver, task, driver.round, deadline)

    def rests(self, driver: Driver) -> None:
        """Notes that a driver waits for a task."""
        driver.ready, driver.task = True, None
        self._busy.pop(driver, None)
        self._without_next.pop(driver, None)
        self._idle[driver] = None
