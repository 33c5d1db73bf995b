"""Simulated drivers: they answer as real ones do, when and if the schedule says so."""

import hashlib
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from actors.job import Job, Task
from actors.pools import protocol
from actors.pools.driver_process import Worker
from actors.pools.fleet import Event
from actors.rollout import Collector
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from tests.simulation.schedule import LEARNER, Schedule

LATENCY = 0.001
TIMEOUT = 30.0  # seconds of the virtual clock after which a driver is replaced
MOST_EVENTS = 5000


class Crash(BaseException):
    """The learner ends at once."""


class HangError(AssertionError):
    """Nothing will ever come, or it goes on for ever."""


class World:
    """Clock, events to come, faults to come, and what has happened.

    Attributes:
        clock: the virtual time.
        trace: what has happened, in words.
        happened: number of faults that did.
        operation: number of operations on the disk and of waits so far, in all lives of the learner.
    """

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.clock, self.trace, self.happened = 0.0, list[str](), 0
        self.operation = 0
        self._counts: dict[str, int] = {}
        self._faults: dict[tuple[str, int], list[Any]] = {}
        for fault in schedule.faults:
            self._faults.setdefault((fault.kind, fault.at), []).append(fault)

    def count(self, what: str) -> int:
        """Counts one more of something, and returns how many there were before."""
        number = self._counts.get(what, 0)
        self._counts[what] = number + 1
        return number

    def fault(self, kind: str, number: int) -> float | None:
        """Returns the amount of the fault of this kind that is due, None where there is none; each happens once."""
        if due := self._faults.get((kind, number)):
            self.happened += 1
            self.say(f"{kind} at {number}")
            return due.pop().amount
        return None

    def turn(self, what: str) -> str | None:
        """Counts an operation of the learner, and returns the fault that happens in it; None for none."""
        number, self.operation = self.operation, self.operation + 1
        for kind in LEARNER:
            if self.fault(kind, number) is not None:
                self.say(f"in operation {number}: {what}")
                return kind
        return None

    def random(self, what: str, number: int) -> random.Random:
        """Returns the generator of one purpose; taking a fault away changes that of no other."""
        return random.Random(f"{self.schedule.seed} {what} {number}")

    def say(self, text: str) -> None:
        """Notes what happens."""
        self.trace.append(f"{self.clock:10.4f}  {text}")


class Drivers:
    """What all simulated drivers share: the environments, and what came of slots that were run before.

    A slot is a pure function of its key and the snapshot, so that each is run once, in whichever schedule it comes up.
    """

    def __init__(self, job: Job):
        self._job, self._collector = job, Collector(job)
        self._known: dict[tuple[Task, bytes], bytes] = {}

    def run(self, task: Task, snapshot: Snapshot, key: bytes, driver: int, seconds: float) -> Trajectory:
        """Runs slots under a snapshot of this digest; an evaluation takes so many seconds of the virtual clock."""
        known = self._known.get((task, key))
        if known is None:
            self._collector.update(snapshot)
            self._known[task, key] = known = bytes(self._collector.run(task).buffer)
        trajectory = Trajectory.over(self._job.layout(task.kind), task.stop - task.start, bytearray(known))
        trajectory.drivers[:], trajectory.seconds[:] = driver, seconds
        return trajectory


class SimulatedCollector:
    """In the place of a driver's collector: the snapshot that the driver holds, and the slots that it runs under it.

    Attributes:
        seconds: of an evaluation in the next task.
        duration: seconds of the next task.
        worked: seconds of all tasks so far.
    """

    def __init__(self, drivers: Drivers, driver: int):
        self.policy: Any = None
        self.seconds = self.duration = self.worked = 0.0
        self._drivers, self._driver = drivers, driver
        self._snapshot: Snapshot | None = None
        self._key = b""

    def update(self, snapshot: Snapshot) -> None:
        self._snapshot, self._key = snapshot, hashlib.blake2b(snapshot.to_bytes(), digest_size=16).digest()

    def parts(self, task: Task) -> Iterator[Trajectory]:
        assert self._snapshot is not None, "a snapshot comes before the first task"
        self.worked += self.duration
        yield self._drivers.run(task, self._snapshot, self._key, self._driver, self.seconds)


class SimulatedHandle:
    """One simulated driver, and the learner's end of it."""

    def __init__(self, fleet: "SimulatedFleet", number: int):
        self.number = number
        self._fleet, self._world = fleet, fleet.world
        self._collector = SimulatedCollector(fleet.drivers, number)
        self._worker = Worker(
            cast(Collector, self._collector), clock=lambda: self._world.clock + self._collector.worked
        )
        self._free_at = self._last_at = self.clock_ahead = 0.0
        self.dead = self.silent = self.ended = self._left = False

    def __repr__(self) -> str:
        return f"driver {self.number}"

    def send(self, message: bytes) -> None:
        if self.dead:
            raise BrokenPipeError
        number = self._world.count("message")
        if (amount := self._world.fault("cut", number)) is not None:
            message = message[: int(amount * len(message))]
        for copy in range(2 if self._world.fault("duplicate", number) is not None else 1):
            at = self._world.clock + self._fleet.latency("delay", number, copy)
            if self._fleet.far:  # what comes to a driver comes in its order
                at = self._last_at = max(at, self._last_at)
            self._fleet.after(at - self._world.clock, lambda: self._receive(message))

    def _receive(self, message: bytes) -> None:
        """Does what a message asks for, as the child process of a driver does."""
        if self.dead or self.silent:
            return
        number, world = self._world.count("received"), self._world
        if world.fault("kill", number) is not None:
            return self.die()
        if world.fault("leave", number) is not None:
            return self.die(left=True)
        if world.fault("silence", number) is not None:
            self.silent = True
            return None
        if world.fault("join", number) is not None:
            self._fleet.make_room()
        seconds = self._fleet.duration(message, number)
        if (amount := world.fault("slow", number)) is not None:
            seconds += TIMEOUT * (0.9 + 2 * amount**3)
        self._collector.seconds, self._collector.duration = seconds / 8, seconds
        try:
            (answer,) = self._worker.answers(message)
        except protocol.MessageError:
            return self.die()  # as a real one does, whose pipe is of no use any more
        self._free_at = max(self._free_at, world.clock) + seconds
        self.tell(answer, self._free_at - world.clock)
        return None

    def tell(self, message: bytes, seconds: float) -> None:
        """Sends a message to the learner after so many seconds, if the driver lives until then."""

        def leave() -> None:
            if self.dead or self.silent:
                return
            number = self._world.count("message")
            sent = message
            if (amount := self._world.fault("cut", number)) is not None:
                sent = message[: int(amount * len(message))]
            for copy in range(2 if self._world.fault("duplicate", number) is not None else 1):
                delay = self._fleet.latency("delay", number, copy)
                self._fleet.after(delay, lambda: self._fleet.bring(Event(self, sent)))

        self._fleet.after(seconds, leave)

    def die(self, left: bool = False) -> None:
        """Ends; the learner hears of it."""
        self.dead = True
        self._fleet.after(LATENCY, lambda: self._fleet.bring(Event(self, None, left)))
        self._left = left

    def end(self) -> None:
        assert not self.ended, "ended twice"
        self.ended = True
        if self._left:  # with its machine
            self._fleet.after(5.0, self._fleet.make_room)
        else:
            self._fleet.room += 1
        if self._world.random("end", self.number).random() < 0.5:  # it is not reached, and may answer yet
            self.dead = True


class SimulatedFleet:
    """Drivers, the messages under way, and the virtual clock.

    Attributes:
        room: for how many more drivers there is room.
    """

    cores = 1

    def __init__(self, world: World, drivers: Drivers, room: int, most_events: float = MOST_EVENTS):
        self.world, self.drivers, self.room, self._most_events = world, drivers, room, most_events
        self.far = world.schedule.seed % 2 == 1
        self._room_came = False
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order, self._numbers = itertools.count(), itertools.count()
        self._brought: deque[Event] = deque()
        self._content, self._edition, self._events = b"", 0, 0

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Plans an action."""
        heapq.heappush(self._queue, (self.world.clock + seconds, next(self._order), action))

    def bring(self, event: Event) -> None:
        """Hands the learner an event."""
        self._brought.append(event)

    def latency(self, fault: str, number: int, copy: int) -> float:
        """Returns how long a message is under way."""
        amount = self.world.fault(fault, number)
        spread = self.world.random("latency", 2 * number + copy).random()
        return LATENCY * (0.5 + spread) + (0.0 if amount is None else 2 * TIMEOUT * amount**2)

    def duration(self, message: bytes, number: int) -> float:
        """Returns how long a driver works on a message."""
        schedule = self.world.schedule
        if message[:1] != protocol.TASK:
            return 0.0
        try:
            task, *_ = protocol.unpack_task(message)
        except protocol.MessageError:
            return 0.0
        slots = max(1, task.stop - task.start)
        uneven = self.world.random("duration", number).expovariate(1.0)
        return schedule.slot_seconds * slots * (1 + schedule.unevenness * uneven)

    def start(self, index: int) -> SimulatedHandle | None:
        if not self.room:
            return None
        self.room -= 1
        handle = SimulatedHandle(self, next(self._numbers))
        self.after(LATENCY, lambda: handle.tell(protocol.READY, 0.0))
        return handle

    def make_room(self) -> None:
        """Makes room for another driver."""
        self.room += 1
        self._room_came = True

    def wait(self, timeout: float | None) -> Iterator[Event]:
        if self.world.turn("wait") in ("power loss", "kill of the learner"):
            raise Crash
        self._events += 1
        if self._events > self._most_events:
            raise HangError("it goes on for ever")
        deadline = float("inf") if timeout is None else self.world.clock + timeout
        while not self._brought:
            if self._room_came:
                self._room_came = False
                return
            if not self._queue or self._queue[0][0] > deadline:
                if deadline == float("inf"):
                    raise HangError("nothing will ever come")
                self.world.clock = deadline
                return
            at, _, action = heapq.heappop(self._queue)
            self.world.clock = max(self.world.clock, at)
            action()
        event = self._brought.popleft()
        self.world.say(f"{event.handle}: {'gone' if event.message is None else event.message[:1].decode()}")
        yield event

    def now(self) -> float:
        return self.world.clock

    def share(self, snapshot: bytes) -> tuple[bytes, int]:
        self._edition += snapshot != self._content
        self._content = snapshot
        return protocol.pack_block(self._edition, len(snapshot), "") + snapshot, self._edition

    def rest(self) -> None:
        pass

    def close(self, drivers: Iterable[tuple[SimulatedHandle, bool]]) -> None:
        for handle, _ in drivers:
            handle.dead = True
