"""The recorder of a run: what arrives from drivers goes to the archive first, and what it holds is not run again."""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from actors.job import Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from ppo.data.archive import Archive
from ppo.data.replay import Replay
from ppo.data.rows import row_type, rows_of

SLOW_SECONDS = 0.01
"""Seconds of an evaluation from which on slots are dealt and kept one by one; quicker ones are written once a round."""


class Recorder:
    """Keeps the trajectories of rounds: a ``Record`` of the pools, one round after the other.

    Args:
        archive: where rows are written.
        job: the job of the run.
        replay: what was recorded before; None for nothing.
        paid: called with the kind of the round and the number of evaluations that arrived, or that were played back.
        recorded: training steps outside tuning that the archive holds already.

    Attributes:
        trajectories: of the current round, those that were recorded before.
        slot_by_slot: whether slots of the current round are kept one by one, and dealt so unless f waits.
        lost: evaluations that were in flight when drivers were lost.
    """

    def __init__(
        self,
        archive: Archive,
        job: Job,
        replay: Replay | None,
        paid: Callable[[Kind, int], None],
        recorded: Collection[int] = (),
    ):
        self.archive, self.lost = archive, 0
        self.trajectories: Sequence[Trajectory] = []
        self.slot_by_slot = True
        self._job, self._replay, self._paid, self._recorded = job, replay, paid, recorded
        self._tuning = job.problem.family == "tuning"
        self._row = row_type(job)
        self._seconds = float("inf") if self._tuning else 0.0  # of an evaluation in the last round; not known at first
        self._pending: list[np.ndarray] = []
        self._measured: list[float] = []  # seconds of an evaluation, of each trajectory of the current round
        self._round = Kind.COLLECT, 0

    def begin(self, kind: Kind, step: int, snapshot: Snapshot, held: int | None) -> None:
        """Opens a round whose drivers hold so many slots at a time; None where its points are asked, by nobody.

        Raises:
            UsageError: the archive is another run's, or cannot be written to.
        """
        self._round = kind, step
        self.trajectories = self._replay.trajectories(kind, step, snapshot) if self._replay else []
        self._paid(kind, sum(int(played.evaluations.sum()) for played in self.trajectories))
        missing = self._job.slots(kind) - sum(map(len, self.trajectories))
        self.slot_by_slot = self._seconds >= SLOW_SECONDS
        self._measured.clear()
        if missing and self._tuning and held is not None:
            in_flight = min(held, missing) if self.slot_by_slot or self._job.description.waits else missing
            self.archive.begin(kind, step, missing, in_flight, self._job.evaluations(kind))

    def arrived(self, trajectory: Trajectory) -> None:
        """Keeps a trajectory: written at once where f is slow, and at the end of the round where it is quick."""
        kind, step = self._round
        if not self._tuning and (kind != Kind.COLLECT or step in self._recorded):
            return
        rows = rows_of(trajectory, kind, step, self._row, self._job.evaluate_starts)
        if self._tuning:
            self._measured.append(float(rows["seconds"].mean()))
        if self.slot_by_slot:
            self.archive.add_rows(rows)
            self.archive.sync_if_due()
        else:
            self._pending.append(rows)
        self._paid(kind, int(trajectory.evaluations.sum()))

    @property
    def rows(self) -> np.ndarray:
        """What was recorded before, accepted, ``[n]``."""
        return self._replay.rows if self._replay else np.empty(0, self._row)

    def tell(self, rows: np.ndarray) -> None:
        """Keeps rows of points that were asked, ``[n]``, durably; a round that has them all is played back."""
        assert self._replay is not None, "where points are asked, what is recorded is played back"
        self.archive.add_rows(rows)
        self.archive.sync()
        self._replay = self._replay.with_rows(rows)

    def lost_task(self, task: Task) -> None:
        """Counts the evaluations of a task that a lost driver had."""
        evaluations = (task.stop - task.start) * self._job.evaluations(task.kind)
        self.lost += evaluations
        self.archive.add_lost(evaluations)

    def end(self, completed: bool) -> None:
        """Closes the round; of one that was not completed, evaluations of f are kept, and nothing else is."""
        pending, self._pending = self._pending, []
        if pending and (completed or self._tuning):
            self.archive.add_rows(np.concatenate(pending))
        self.archive.sync_if_due()
        if self._measured:
            self._seconds = float(np.mean(self._measured))

    def close(self) -> None:
        """Makes all that arrived durable, and closes the archive."""
        if self._replay:
            self._replay.close()
        self.archive.close()
