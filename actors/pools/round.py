"""A round on drivers: which slots are still to be dealt, what has come back, and when."""

import statistics
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from actors.job import Kind, Task
from actors.pools.base import Record, RoundResult, contiguous, missing_of, rest_of, shares
from actors.trajectory import MergeError, Merger, Trajectory

WORTH_A_TASK_SECONDS = 1e-2  # uneven work that takes so long is worth a task of its own
MAX_UNEVENNESS = 0.1  # standard deviation of the cost of a slot over its mean, below which equal shares are as good
TASK_SECONDS = 5e-4  # what a task costs: two messages, and waking a process twice


def tasks_worth_dealing(slots: int, drivers: int, cost: float, spread: float) -> int:
    """Returns into how many tasks to deal a round's slots.

    Quick ones are dealt in shares, to as many drivers as their messages are worth: with m seconds a task and c a slot,
    m k + E c / k is least at k = sqrt(E c / m), and every driver more would make the step slower. Slow ones of uneven
    cost are dealt one at a time, or few, to the first idle driver, so that nobody waits for the slowest.

    Args:
        slots: how many there are.
        drivers: how many there are.
        cost: mean seconds of a slot.
        spread: standard deviation of the cost over its mean.
    """
    shares = max(1, min(drivers, round((slots * cost / TASK_SECONDS) ** 0.5)))
    if drivers == 1 or spread < MAX_UNEVENNESS:
        return shares
    return max(shares, min(slots, round(slots * cost / WORTH_A_TASK_SECONDS)))


class Round:
    """A round under way.

    Args:
        number: number of the round, which answers to its tasks repeat.
        kind: what its slots are run for.
        edition: edition of the shared snapshot.
        block: where it lies.
        merger: takes in the trajectories.
        tasks: the slots, dealt into tasks.
        started: when the snapshot began to be written, by the fleet's clock.
        record: who keeps what arrives, if anyone does.

    Attributes:
        tasks: those that no driver has yet.
    """

    def __init__(
        self,
        number: int,
        kind: Kind,
        edition: int,
        block: bytes,
        merger: Merger,
        tasks: Iterable[Task],
        started: float,
        record: Record | None = None,
    ):
        self.number, self.kind, self.edition, self.block = number, kind, edition, block
        self.tasks = deque(tasks)
        self._merger, self._record = merger, record
        self._started = self._held = started
        self._broadcasting: set[Task] = set()
        self._failures: Counter[int] = Counter()
        self._shares: list[int] = []
        self._slot_seconds: list[float] = []

    @property
    def complete(self) -> bool:
        """Whether every slot's trajectory is there."""
        return self._merger.complete

    def began(self, tasks: Iterable[Task]) -> None:
        """Notes the tasks that were dealt at once: the broadcast lasts until their drivers hold the snapshot.

        A task that is dealt later waited for its driver, which is no broadcast.
        """
        self._broadcasting = set(tasks)

    def next_task(self) -> Task | None:
        """Takes the next task of which a slot is missing off the queue; None where there is none."""
        while self.tasks:
            task = self.tasks.popleft()
            if self._merger.lacks(np.arange(task.start, task.stop)).any():
                return task
        return None

    def add(self, task: Task, trajectory: Trajectory, held_at: float, seconds: float) -> None:
        """Takes in the slots of an answer that are missing; it took so many seconds after its snapshot was held.

        Raises:
            MergeError: the trajectory is not of slots of the task.
        """
        slots = trajectory.slots
        inside = (slots >= task.start) & (slots < task.stop)
        if not len(slots) or not inside.all() or not (np.diff(slots) > 0).all():
            raise MergeError(f"slots {slots.tolist()} in answer to slots {task.start} to {task.stop - 1}")
        self._merger.check(trajectory)
        lacking = self._merger.lacks(slots)
        if not lacking.any():
            return
        if not lacking.all():
            trajectory = trajectory.rows(self._merger.layout, lacking)
        if self._record:
            self._record.arrived(trajectory)
        self._merger.put(trajectory)
        self._shares.append(len(trajectory))
        self._slot_seconds.append(seconds / len(slots))
        if task in self._broadcasting:
            self._held = max(self._held, held_at)

    def retry(self, task: Task, counted: bool = True) -> int:
        """Puts what is missing of a task whose driver was lost back at the head, to narrow down what ends drivers.

        It goes in two halves, or more where what is missing lies in several pieces.

        Args:
            task: the task.
            counted: whether its slots may be to blame.

        Returns:
            How often one of its slots has lost its driver, at the most.
        """
        missing = self.missing(task)
        if self._record:
            for run in contiguous(missing):
                self._record.lost_task(replace(task, start=run.start, stop=run.stop))
        if counted:
            self._failures.update(missing.tolist())
        self.tasks.extendleft(shares(task.kind, task.step, missing, 2))
        return max((self._failures[slot] for slot in missing.tolist()), default=0)

    def rest_of(self, task: Task) -> Task:
        """Returns the part of a task from the first slot that is missing to the last one; all of it if none is."""
        return rest_of(task, self._merger)

    def missing(self, task: Task) -> np.ndarray:
        """Returns the slots of a task that are missing, ``[k]``."""
        return missing_of(task, self._merger)

    def result(self, now: float) -> RoundResult:
        """Returns what came back, at ``now`` by the fleet's clock.

        Raises:
            MergeError: a slot is missing.
        """
        broadcast, collect = self._held - self._started, now - self._held
        return RoundResult(self._merger.result(), self._shares, broadcast, collect)

    def slot_cost(self) -> tuple[float, float] | None:
        """Returns the mean seconds of a slot, and their standard deviation over the mean; None if none was run."""
        if not self._slot_seconds:
            return None
        mean = statistics.mean(self._slot_seconds)
        return mean, statistics.pstdev(self._slot_seconds) / mean if mean else 0.0
