"""What a run does about updates whose values are not finite: it keeps what they were made of, and says so."""

import io
from collections.abc import Callable

import numpy as np

from actors.trajectory import Trajectory
from ppo.algorithm.learner import Learner
from ppo.algorithm.not_finite import NotFiniteError
from ppo.data.files import write_atomically
from ppo.training.run_dir import RunDir

MOST_FILES = 3  # of a run


class Updates:
    """Lets a learner learn, and looks after what it took back.

    Args:
        files: directory of the run.
        skipped: updates that earlier parts of the run took back.
        message: shows a line.

    Attributes:
        skipped: updates that were taken back so far: training steps that changed nothing, and imagined ones.
    """

    def __init__(self, files: RunDir, skipped: int, message: Callable[[str], None]):
        self.skipped = skipped
        self._files, self._message = files, message

    def learn(self, learner: Learner, trajectory: Trajectory) -> dict[str, float]:
        """Returns what the learner does.

        Raises:
            NotFiniteError: a value of an update is not finite, and the run is to stop; the state is as it was.
        """
        step = learner.step
        try:
            with np.errstate(over="ignore"):  # a sum that is only shown may be infinite
                scalars = learner.learn(trajectory)
        except NotFiniteError as error:
            kept = self._keep(step, error) or "the first ones are kept"
            more = f"--resume {self._files.shown} --on-nan skip goes on without such steps"
            raise NotFiniteError(step, f"{error.what}; {kept}; {more}") from None
        dropped, learner.dropped = learner.dropped, []
        if dropped:
            kept = self._keep(step, dropped[0])
            more = f", and {len(dropped) - 1} more in this step" if len(dropped) > 1 else ""
            first = NotFiniteError(step, dropped[0].what)
            self._message(f"--on-nan skip: {first}: skipped{more}{f'; {kept}' if kept else ''}")
            self.skipped += len(dropped)
        if learner.config.on_nan == "skip":
            scalars["skipped_steps"] = self.skipped
        return scalars

    def _keep(self, step: int, error: NotFiniteError) -> str:
        """Writes what an update was made of, for the first ones of a run, and says where it is."""
        if self.skipped >= MOST_FILES:
            return ""
        name, buffer = f"nan-step-{step}.npz", io.BytesIO()
        np.savez(buffer, **error.arrays)  # type: ignore[arg-type]
        write_atomically(self._files.path / name, buffer.getvalue())
        return f"its slots and the state before it are in {self._files.shown / name}"
