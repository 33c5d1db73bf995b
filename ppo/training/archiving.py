"""The archive of a training run: read where one goes on, and open while it trains."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator

import numpy as np

from actors.job import Job, Kind, Task
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory, merge
from env.errors import UsageError
from ppo.algorithm.imitation import enough
from ppo.config import ResolvedConfig
from ppo.data.archive import NAME
from ppo.data.recorder import Recorder
from ppo.data.replay import Replay
from ppo.data.reuse import read_reused
from ppo.data.rows import KEY, REUSED, SKIPPED, accepted, differs_from_last, in_order, row_type, values_of
from ppo.data.run_archive import open_for_run, read_of_run


class RunArchive:
    """What was evaluated before a training begins or goes on.

    Args:
        config: what is trained.
        job: the job of the run.
        path: directory of the run.
        name: what a message calls a run that goes on, such as ``--resume runs/a``; None for a new run.

    Attributes:
        reused: evaluations made before the run began, as rows of the archive, ``[n]``.
        too_few: what to say where ``to_imitate`` found too few; else empty.
        lost: evaluations that were paid for in earlier parts of the run and not accepted: in flight when the learner or
            a driver was lost, or of slots that failed.

    Raises:
        UsageError: the archive is damaged, or of another problem or version; or what is to be reused cannot be.
    """

    def __init__(self, config: ResolvedConfig, job: Job, path: pathlib.Path, name: str | None):
        self._job, self._path, self._name = job, path, name
        self._tuning, self._modelled = job.problem.family == "tuning", config.model != "none"
        self._wanted = self._tuning or config.record
        self._contents = read_of_run(path, job, name) if name and self._wanted else None
        self._replay: Replay | None = None
        self.too_few = ""
        if self._contents is None or name is None:
            self.lost = 0
            self.reused = read_reused(config.reuse, job) if self._tuning else np.empty(0, row_type(job))
            if job.description.asked:
                self._replay = Replay(np.empty(0, row_type(job)), job, "what is told")
            return
        rows = self._contents.rows
        self.reused, self.lost = rows[rows["kind"] == REUSED], self._contents.lost
        if self._tuning:
            paid = rows[rows["kind"] != REUSED]
            sound = accepted(paid, job.keep_failures)
            self.lost += len(paid) - len(sound)
            self._replay = Replay(sound, job, name)

    def to_imitate(self) -> np.ndarray:
        """Returns the reused rows that a law starts from, if they are enough: those without a failure.

        A model that is told of failures takes the others too.
        """
        if not len(self.reused):
            return self.reused
        if self._modelled and self._job.keep_failures:
            told = self.reused.copy()
            told["f"] = values_of(told, self._job.description.asked)
            return told[told["f"] != SKIPPED]
        sound = self.reused[~self.reused["failed"]]
        if self._modelled or enough(len(sound), sound["x"].shape[1], sound["c"].shape[1]):
            return sound
        self.too_few = f"--reuse: {len(sound)} evaluations are kept, and are too few for a law to start from"
        return sound[:0]

    def check_whole(self, step: int, length: int) -> None:
        """Checks that the archive lacks nothing that the checkpoint rests on, nor a training step after it.

        Args:
            step: training step of the checkpoint.
            length: bytes of the archive that were durable when it was written.

        Raises:
            UsageError: it does.
        """
        if self._contents is not None and self._contents.end < length:
            raise UsageError(
                f"{self._name}: {NAME} is damaged at byte {self._contents.end}, and checkpoint.npz rests on {length}; "
                f"restore it from a copy, or remove checkpoint.npz to evaluate again what is lost"
            )
        if self._replay and (gap := self._replay.first_gap(step)) is not None:
            raise UsageError(
                f"{self._name}: the archive lacks training step {gap}, and there is no checkpoint after it"
            )
        if self._tuning and self._contents is None and step:
            raise UsageError(
                f"{self._name}: there is no {NAME} in it, on which the run rests; begin a new one with "
                f"--warm-start {self._path}"
            )

    def played(self, kind: Kind, step: int, snapshot: Snapshot) -> Trajectory | None:
        """Returns the merged trajectory of a round that is recorded whole; None where it is not.

        Raises:
            UsageError: the archive is another run's, or damaged.
        """
        if self._replay is None:
            return None
        slots, trajectories = self._job.slots(kind), self._replay.trajectories(kind, step, snapshot)
        if sum(map(len, trajectories)) < slots:
            return None
        return merge(trajectories, self._job.layout(kind), slots, snapshot.version)

    def rows_of(self, slot: Task) -> np.ndarray:
        """Returns the rows of a slot in the order of its time steps; of several copies those that the run learns from.

        Where there is none of these, they are the first ones; and where nothing is recorded there are none.
        """
        if self._contents is None:
            return np.empty(0, row_type(self._job))
        rows = self._contents.rows
        rows = rows[(rows["kind"] == slot.kind) & (rows["step"] == slot.step) & (rows["slot"] == slot.start)]
        sound = accepted(rows, self._job.keep_failures) if self._tuning else rows[:0]
        rows = sound if len(sound) else in_order(rows)
        return rows[differs_from_last(rows, KEY)]

    @contextlib.contextmanager
    def recording(self, paid: Callable[[Kind, int], None]) -> Iterator[Recorder | None]:
        """Opens the archive and yields its recorder; None where nothing is kept."""
        if not self._wanted:
            yield None
            return
        archive = open_for_run(self._path, self._job, self._contents, self.reused)
        recorded = set[int]()
        if self._contents is not None and not self._tuning:
            recorded.update(self._contents.rows["step"].tolist())
        with contextlib.closing(Recorder(archive, self._job, self._replay, paid, recorded)) as recorder:
            yield recorder
