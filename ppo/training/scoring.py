"""The scores of a training run: where one is due, the row of ``metrics.csv`` that holds it, and what is still owed."""

from typing import Any

from actors.trajectory import Trajectory
from ppo.algorithm.learner import Learner
from ppo.config import ResolvedConfig
from ppo.evaluation.evaluator import Evaluator
from ppo.training.progress import Tracker
from ppo.training.run_dir import Row, RunDir


class Scoring:
    """Closes training steps, each of which is open from when it is learned until it is scored, if that is due.

    A step that is still open when the run ends is closed when it goes on, with the same row.

    Args:
        config: what is trained.
        learner: its state.
        evaluator: scores the law or policy.
        files: the run directory.
        tracker: takes the rows too.
        meta: what ``meta`` returned to the checkpoint that the run goes on from; else empty.

    Attributes:
        evaluations: evaluations of f that scores have cost so far.
        open: scalars of the training step that is open; None where none is.
    """

    def __init__(
        self,
        config: ResolvedConfig,
        learner: Learner,
        evaluator: Evaluator,
        files: RunDir,
        tracker: Tracker,
        meta: dict[str, Any],
    ):
        self._every, self._learner = config.eval_every, learner
        self._evaluator, self._files, self._tracker = evaluator, files, tracker
        self.evaluations = int(meta.get("eval_evaluations", 0))
        self.open: dict[str, float] | None = meta.get("open")

    def meta(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps."""
        return {"eval_evaluations": self.evaluations, "open": self.open}

    @property
    def due(self) -> bool:
        """Whether the last training step, or the end, calls for an evaluation."""
        return self._every > 0 and (self._learner.step % self._every == 0 or self._learner.complete)

    def score(self, trajectory: Trajectory, spent: dict[str, float]) -> float:
        """Closes the open training step by an evaluation: writes its row, and returns the score.

        Args:
            trajectory: of the evaluation, merged.
            spent: seconds by phase so far.
        """
        evaluations = self.evaluations + int(trajectory.evaluations.sum())
        score, scalars = self._evaluator.score(trajectory), self.open or {}
        row = self._row({self._evaluator.column: score} | scalars, evaluations, spent)
        self._files.append(row)
        self.evaluations, self.open = evaluations, None
        self._tracker.log(self._files.path, row)
        return score

    def skip(self, spent: dict[str, float]) -> None:
        """Closes the open training step without an evaluation; a tracker gets a row of it where no scores have any."""
        if not self._every:
            self._tracker.log(self._files.path, self._row(self.open or {}, self.evaluations, spent))
        self.open = None

    def _row(self, values: Row, evaluations: int, spent: dict[str, float]) -> Row:
        """Returns the counts so far, a score and a training step's scalars, and times."""
        counts = {
            "training_step": self._learner.step,
            "env_steps": self._learner.env_steps,
            "objective_evaluations": self._learner.evaluations,
            "eval_evaluations": evaluations,
        }
        return counts | values | {f"time/{name}": seconds for name, seconds in spent.items()}
