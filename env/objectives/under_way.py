"""Evaluations that wait, many of them under way at once in one process: coroutines on the event loop, or in threads."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from env.daemon_threads import DaemonThreads
from env.errors import ContractError, UsageError
from env.objectives.base import Objective
from env.objectives.event_loop import event_loop
from env.objectives.returned import FAILED, Failures, Values, failed, values_of

CANCEL_SECONDS = 1.0
"""How long coroutines that are cancelled have to end."""
IDLE_SECONDS = 1e-3
"""When nothing has ended for so long, what has begun is waiting, and there is time for other work."""
MADE_AT_ONCE = 8
"""Generators that are made before it is looked again whether something has ended; one takes 10 us."""


class _Outcome(NamedTuple):
    """What came of an evaluation: what f returned, or the exception that it raised, and the seconds that it took."""

    row: int
    c: np.ndarray
    returned: Any
    error: BaseException | None
    seconds: float


class UnderWay:
    """Evaluations of an objective that waits: begun and taken in by one thread, each under the number of its row.

    Args:
        objective: the objective f.
        failures: lets evaluations fail (None: an exception in f is raised where it is taken in).

    Attributes:
        count: how many have begun and have not been taken in.
        row: whose evaluation raised the exception that ``ended`` raised; 0 before.
    """

    def __init__(self, objective: Objective, failures: Failures | None):
        self.count = self.row = 0
        self._objective, self._failures = objective, failures
        self._given_up = False
        self._plain = not objective.constraints and not objective.observed
        self._outcomes: SimpleQueue[_Outcome | None] = SimpleQueue()
        self._generators, self._expected = dict[int, np.random.Generator](), list[int]()
        self._tasks: dict[int, Any] = {}  # of the event loop, by row; it is the loop's thread that changes them

    def begin(self, rows: np.ndarray, x: np.ndarray, c: np.ndarray, keys: Sequence[int]) -> None:
        """Begins evaluations; none after ``give_up``.

        Args:
            rows: their numbers, ``[n]``, of which none is under way.
            x: knobs, ``[n, knobs]``, which are not to change any more.
            c: conditions, ``[n, conditions]``, likewise.
            keys: for each row the key, 32 bits, of what f draws with ``rng``.
        """
        if self._given_up:
            return
        calls = [
            (row, x[i : i + 1], c[i : i + 1], {"rng": self._generator(key)} if self._objective.takes_rng else {})
            for i, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True))
        ]
        self.count += len(calls)
        if not self._objective.asynchronous:
            for call in calls:
                _THREADS.start(partial(self._in_thread, *call), self._outcomes)
        elif calls:
            event_loop().call_soon_threadsafe(self._begin_tasks, calls)

    def expect(self, keys: Sequence[int]) -> None:
        """Tells keys of evaluations that are likely to begin later, whose generators are made where there is time."""
        self._expected += keys

    def _generator(self, key: int) -> np.random.Generator:
        made = self._generators.pop(key, None)
        return np.random.default_rng(key) if made is None else made

    def _in_thread(self, row: int, x: np.ndarray, c: np.ndarray, given: dict[str, Any]) -> _Outcome:
        call: Any = self._objective
        started = time.perf_counter()
        try:
            returned, error = call(x, c, **given), None
        except BaseException as raised:
            returned, error = None, _of_f(raised)
        return _Outcome(row, c, returned, error, time.perf_counter() - started)

    def _begin_tasks(self, calls: list[tuple[int, np.ndarray, np.ndarray, dict[str, Any]]]) -> None:
        loop = event_loop()
        for call in calls:
            self._tasks[call[0]] = loop.create_task(self._on_loop(*call))

    async def _on_loop(self, row: int, x: np.ndarray, c: np.ndarray, given: dict[str, Any]) -> None:
        call: Any = self._objective
        started = time.perf_counter()
        try:
            returned, error = await call(x, c, **given), None
        except BaseException as raised:
            returned, error = None, _of_f(raised)
        self._outcomes.put(_Outcome(row, c, returned, error, time.perf_counter() - started))
        del self._tasks[row]

    def ended(self) -> tuple[np.ndarray, Values]:
        """Waits until an evaluation ends, and takes in all that have ended.

        Returns:
            Their rows, ``[k]``, and their values; none where none is under way, or ``give_up`` was called.

        Raises:
            ContractError: f did not return what it must.
            Exception: whatever f raised, where it may not fail. What ended at the same time has been returned before.
        """
        outcomes = self._arrived()
        if not outcomes:
            return np.empty(0, int), Values(*[np.empty(0)] * 4)
        if self._plain and all(isinstance(one.returned, float) for one in outcomes):  # as is usual, and quicker
            returned, c = np.array([one.returned for one in outcomes]), np.concatenate([one.c for one in outcomes])
            f, g, c = values_of(self._objective, returned, c, self._failures)
        else:
            outcomes, values = self._one_by_one(outcomes)
            f, g, c = (np.concatenate(parts) for parts in zip(*values, strict=True))
        self.count -= len(outcomes)
        return np.array([one.row for one in outcomes]), Values(f, g, np.array([one.seconds for one in outcomes]), c)

    def _one_by_one(self, outcomes: list[_Outcome]) -> tuple[list[_Outcome], list[tuple[np.ndarray, ...]]]:
        """Returns the outcomes that raise nothing, and f, constraints and conditions of each.

        The others go back into the queue; where all are such, the first one is raised.
        """
        good, values, bad = list[_Outcome](), list[tuple[np.ndarray, ...]](), list[tuple[_Outcome, BaseException]]()
        for outcome in outcomes:
            try:
                values.append(self._taken(outcome))
                good.append(outcome)
            except (Exception, SystemExit) as error:
                if error is not outcome.error and not isinstance(error, ContractError):
                    raise  # a signal's, say
                bad.append((outcome, error))
        if bad and not good:
            self.row = bad[0][0].row
            raise bad[0][1]
        for outcome, _ in bad:
            self._outcomes.put(outcome)
        return good, values

    def _arrived(self) -> list[_Outcome]:
        """Waits for an outcome, and returns all that are there; none after ``give_up``."""
        outcomes = [self._next()] if self.count and not self._given_up else []
        while not self._outcomes.empty():
            outcomes.append(self._outcomes.get())
        self._given_up = self._given_up or None in outcomes  # what has ended before that is kept
        return [outcome for outcome in outcomes if outcome is not None]

    def _next(self) -> _Outcome | None:
        """Waits for an outcome; meanwhile makes the generators that are expected."""
        while self._expected:
            try:
                return self._outcomes.get(timeout=IDLE_SECONDS)
            except Empty:
                made, self._expected = self._expected[:MADE_AT_ONCE], self._expected[MADE_AT_ONCE:]
                self._generators |= {key: np.random.default_rng(key) for key in made}
        return self._outcomes.get()

    def _taken(self, outcome: _Outcome) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns f, constraints and conditions of one row."""
        if outcome.error is not None and not failed(outcome.error, self._failures):
            raise outcome.error
        returned = FAILED if outcome.error is not None else outcome.returned
        return values_of(self._objective, returned, outcome.c, self._failures)

    def give_up(self) -> None:
        """Lets ``ended`` return at once; any thread may call it."""
        self._outcomes.put(None)

    def close(self) -> None:
        """Gives up what is under way: coroutines are cancelled, and have a moment to end; threads are left alone."""
        if self.count and self._objective.asynchronous:
            cancelled = threading.Event()
            event_loop().call_soon_threadsafe(self._cancel_tasks, cancelled.set)
            cancelled.wait(CANCEL_SECONDS)
        self.count = 0

    def _cancel_tasks(self, then: Callable[[], None]) -> None:
        import asyncio

        for task in self._tasks.values():
            task.cancel()
        asyncio.gather(*self._tasks.values(), return_exceptions=True).add_done_callback(lambda _: then())


def _of_f(error: BaseException) -> BaseException:
    """Returns an exception that f raised as one that ends no more than its evaluation.

    A cancelled task of f's, say, raises what is meant for the event loop, and ``KeyboardInterrupt`` looks like Ctrl-C.
    """
    if isinstance(error, Exception | SystemExit):
        return error
    found = RuntimeError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    found.__cause__ = error
    return found.with_traceback(error.__traceback__)


class _Threads:
    """Threads of this process, one for each evaluation that is under way, those included that never end."""

    def __init__(self) -> None:
        self._threads, self._lock, self._busy = DaemonThreads(0, "evaluation"), threading.Lock(), 0

    def start(self, call: Callable[[], _Outcome], outcomes: "SimpleQueue[_Outcome | None]") -> None:
        """Makes a call in a thread of its own, and puts what comes of it."""
        with self._lock:
            if self._busy == len(self._threads):
                try:
                    self._threads.add()
                except RuntimeError as error:
                    raise UsageError(
                        f"thread_safe: the system has no room for more than {self._busy} threads, and each evaluation "
                        f"that is under way takes one ({error}); limit them with at_once"
                    ) from None
            self._busy += 1
        self._threads.start(partial(self._make, call, outcomes))

    def _make(self, call: Callable[[], _Outcome], outcomes: "SimpleQueue[_Outcome | None]") -> None:
        outcome = call()
        with self._lock:
            self._busy -= 1
        outcomes.put(outcome)


_THREADS = _Threads()
