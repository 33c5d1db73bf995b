"""How many drivers to use: measured during the first training steps, since no result depends on it."""

import dataclasses
import time
from collections.abc import Callable

from actors.job import TRAINING, Job, Kind
from actors.pools.base import Pool, Record, RoundResult
from actors.pools.dealing import DealingPool
from actors.pools.processes import cores
from actors.pools.threads import ThreadPool
from actors.snapshots import AnySnapshot

QUICK_ROUNDS = 5  # so many training steps are measured in this process, of which the first is thrown away
SLOW_SECONDS = 0.1  # unless one takes so long that a single one tells enough
MESSAGE_ROUNDS = 6
ROLLOUT_SECONDS = 8e-4  # of a core, for what a rollout does beside its slots in a process that has slept
MAX_DRIVERS = 64
MIN_SAVING = 0.05  # of the time, that more drivers must bring


@dataclasses.dataclass(frozen=True)
class Costs:
    """Measured costs.

    Attributes:
        slot: seconds of a slot.
        cpu: seconds of a core in a slot.
        task: seconds that a task costs beside its slots: messages, waking up, rebuilding the policy.
        cores: cores that this process may use.
    """

    slot: float
    cpu: float
    task: float
    cores: int

    def step(self, slots: int, drivers: int) -> float:
        """Predicts the seconds to collect ``slots`` with so many drivers; 0 is in this process."""
        if drivers == 0:
            return slots * self.slot
        longest = -(-slots // drivers) * self.slot
        working = max(longest, slots * self.cpu / min(drivers, self.cores))
        return working + drivers * self.task / min(drivers, self.cores)

    def best(self, slots: int, most: int = MAX_DRIVERS) -> int:
        """Returns the least number of drivers, ``most`` at the most, that is within 5 % of the best."""
        counts = [0, *range(1, min(slots, most, MAX_DRIVERS) + 1)]
        least = min(self.step(slots, count) for count in counts)
        return next(count for count in counts if self.step(slots, count) * (1 - MIN_SAVING) <= least)

    def __str__(self) -> str:
        return (
            f"a slot takes {1e3 * self.slot:.3g} ms, {1e3 * self.cpu:.3g} ms of it on a core, of which there are "
            f"{self.cores}" + (f", and a task costs {1e3 * self.task:.2g} ms" if self.task else "")
        )


class AutoPool(Pool):
    """Collects in this process, measures, and goes on with as many drivers as pay off, or with none.

    Where they cannot be started, such as for an environment that only this program knows, it goes on in this process.

    Args:
        job: what drivers run.
        start: starts a pool of so many drivers.
        timeout: seconds that a task may take in this process; 0 for no limit.
        far: whether the drivers are on the nodes of a cluster, and not on the cores of this process.

    Attributes:
        choice: what was chosen and why; empty until then.
    """

    def __init__(self, job: Job, start: Callable[[int], DealingPool], timeout: float, far: bool = False):
        super().__init__(job, 0)
        self.choice = ""
        self._start_pool, self._far = start, far
        self._pool: Pool = ThreadPool(job, 0, timeout)
        self._measured: list[tuple[float, float]] = []
        self._snapshot: AnySnapshot | None = None
        self._measuring = False
        self._slots = 0  # of the round under way

    @property
    def restarts(self) -> int:  # type: ignore[override]
        """Drivers that died or hung and were replaced."""
        return self._pool.restarts

    @property
    def beside(self) -> bool:  # type: ignore[override]
        """Whether slots are run beside the caller of ``result``, as they are once there are drivers."""
        return self._pool.beside

    @property
    def held(self) -> int:
        """See ``Pool``."""
        return self._pool.held

    @property
    def failure(self) -> str:  # type: ignore[override]
        """Why an evaluation of f failed, the first one that the pool knows of; empty for none."""
        return self._pool.failure

    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        # A round of which slots are recorded already, of all runs that share it, says nothing about what one costs.
        recorded = sum(map(len, record.trajectories)) if record else 0
        self._slots = self.job.slots(kind) - recorded
        self._measuring = not self.choice and kind in TRAINING and self._slots >= self.job.run_slots(kind)
        self._snapshot = snapshot
        self._pool.submit(step, snapshot, kind, record)

    def result(self) -> RoundResult:
        if not self._measuring:
            return self._pool.result()
        assert self._snapshot is not None, "submit comes before result"
        wall, cpu = time.perf_counter(), time.process_time()
        done = self._pool.result()
        seconds = time.perf_counter() - wall
        self._measured.append((seconds / self._slots, (time.process_time() - cpu) / self._slots))
        if len(self._measured) >= QUICK_ROUNDS or (len(self._measured) == 1 and seconds > SLOW_SECONDS):
            started = time.monotonic()
            self._choose(self._snapshot)
            done = dataclasses.replace(done, collect=done.collect + time.monotonic() - started)
        return done

    def _choose(self, snapshot: AnySnapshot) -> None:
        """Chooses the number of drivers, and changes over to driver processes if they pay."""
        wall, cpu = min(self._measured[1:] or self._measured)
        slots = self.job.slots(Kind.PLAN if self.job.planned[1] else Kind.COLLECT)  # of the rounds to come
        most = self.job.description.at_once or MAX_DRIVERS
        # No process is started to measure messages where a round is quick, or even free ones would gain nothing.
        costs = Costs(wall, cpu, 0.0, MAX_DRIVERS if self._far else cores())  # those of a cluster are not known yet
        here = self._pool
        if wall * slots > 2 * ROLLOUT_SECONDS and costs.best(slots, most):
            try:
                costs = self._start(costs, slots, most, snapshot)
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                self.drivers, self.choice = 0, f"no drivers, since none can be started ({reason})"
                return
        self.choice = f"{self.drivers or 'no'} drivers, since {costs}"
        if self._pool is not here:
            here.close()

    def _start(self, costs: Costs, slots: int, most: int, snapshot: AnySnapshot) -> Costs:
        """Measures what a task costs, and changes over to driver processes if they pay. Returns all costs."""
        task, most_cores = self._task_seconds(snapshot)
        costs = dataclasses.replace(costs, task=task, cores=most_cores)
        self.drivers = costs.best(slots, most)
        if self.drivers:
            pool = self._start_pool(self.drivers)
            pool.failure, self._pool = self._pool.failure, pool
        return costs

    def _task_seconds(self, snapshot: AnySnapshot) -> tuple[float, int]:
        """Measures what a task costs beside its slots, on a first driver; returns the cores that drivers have, too."""
        first = self._start_pool(1)
        try:
            return ROLLOUT_SECONDS + min(first.broadcast(snapshot) for _ in range(MESSAGE_ROUNDS)), first.cores
        finally:
            first.close()

    def stop(self) -> None:
        self._pool.stop()

    def close(self) -> None:
        self._pool.close()
