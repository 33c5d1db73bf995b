"""Runs that differ by their seed alone, side by side: one learner process, one pool, and rounds that all of them share.

A round of S runs has the slots of all: those of a run have the bits that they have alone, and so has all that it learns
from them and leaves behind. What is shared is what a round costs beside its slots: messages, the start of Python, of
drivers and of the compiled code.
"""

import contextlib
import functools
import statistics
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

from actors.pools.base import DriverError, NotFiniteSlotError
from actors.pools.shared import SharedPool
from actors.trajectory import Trajectory
from ppo.training.device import prepared
from ppo.training.hints import hint_at_replay
from ppo.training.job import configured_pool
from ppo.training.rounds import phase_of
from ppo.training.step import TrainingStep, WantedRound
from ppo.training.trainer import Trainer

Coroutine = Generator[WantedRound, Any, TrainingStep]


class SideBySide:
    """Trains several runs, inside its context.

    Args:
        trainers: of the runs, whose configurations differ by their seed alone; none is complete or in its context.
        quiet: show no progress.

    Attributes:
        trainers: of the runs.
    """

    def __init__(self, trainers: Sequence[Trainer], quiet: bool):
        self.trainers, self._quiet = list(trainers), quiet
        self._at = self.trainers[0]  # which one something is done for
        self._shown: set[str] = set()

    def __enter__(self) -> Self:
        first = self.trainers[0]
        with contextlib.ExitStack() as stack:
            with prepared(first.learner, asked=False):
                make = functools.partial(configured_pool, config=first.config)
                self._shared = SharedPool([trainer.job for trainer in self.trainers], make)
                stack.callback(self._shared.close)
            for trainer, lane in zip(self.trainers, self._shared.lanes, strict=True):
                trainer.share(lane, first)
                stack.enter_context(trainer)
            budget, self._unit = first.config.evaluations, "step"
            if budget is not None:
                self._unit = "evaluation"
            total = len(self.trainers) * (budget or first.config.training_steps)
            self._bar = tqdm(
                total=total, initial=self._counted, unit=self._unit, disable=self._quiet, dynamic_ncols=True
            )
            stack.callback(self._bar.close)
            stack.enter_context(self._told_of_which())
            self._open = stack.pop_all()
        for words in first.words:
            self._say(words)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def complete(self) -> bool:
        """Whether all training steps of all runs are done."""
        return all(trainer.complete for trainer in self.trainers)

    @property
    def done(self) -> int:
        """How many training steps all runs have done."""
        return min(trainer.learner.step for trainer in self.trainers)

    @property
    def _counted(self) -> int:
        """What is done of what the bar counts."""
        learners = [trainer.learner for trainer in self.trainers]
        return sum(learner.step if self._unit == "step" else learner.evaluations for learner in learners)

    def step(self) -> list[TrainingStep]:
        """Takes the next training step of the runs that have done the fewest; returns what each gave.

        Raises:
            DriverError, FloatingPointError: what ``Trainer.__next__`` raises.
        """
        left = [trainer for trainer in self.trainers if not trainer.complete]
        least = min(trainer.learner.step for trainer in left)
        steps: dict[Trainer, Coroutine] = {t: t.parts() for t in left if t.learner.step == least}
        sent: dict[Trainer, Trajectory | None] = dict.fromkeys(steps)
        ended = []
        while sent:
            wanted = {}
            for trainer, trajectory in sent.items():
                self._at = trainer
                trainer.timing.leave_out()
                try:
                    wanted[trainer] = steps[trainer].send(trajectory)
                except StopIteration as end:
                    ended.append(end.value)
            sent = self._run(wanted)
        self._show(ended)
        return ended

    def _run(self, wanted: dict[Trainer, WantedRound]) -> dict[Trainer, Trajectory | None]:
        """Runs the rounds that training steps wait for; each has an equal part of their time."""
        started = time.monotonic()
        try:
            for trainer, one in wanted.items():
                self._at = trainer
                trainer.rounds.submit(one.kind, one.step, one.snapshot())
            ran = {}
            for trainer in wanted:
                self._at = trainer
                ran[trainer] = trainer.rounds.result()
        except BaseException:
            for trainer in wanted:
                trainer.rounds.abandon()
            raise
        seconds = (time.monotonic() - started) / max(len(wanted), 1)
        found: dict[Trainer, Trajectory | None] = {}
        for trainer, one in wanted.items():
            broadcast = ran[trainer].broadcast
            trainer.timing.add("broadcast", broadcast)
            trainer.timing.add(phase_of(one.kind), max(0.0, seconds - broadcast))
            found[trainer] = trainer.rounds.counted(one.kind, ran[trainer].trajectory)
        return found

    def _show(self, ended: Sequence[TrainingStep]) -> None:
        pool = self._shared.pool
        self._say(pool.choice)
        if pool.failure:
            self._say(f"an evaluation of f failed, and counts as worse than any other ({pool.failure})")
        if self._bar.disable:
            return
        if scores := [step.score for step in ended if step.score is not None]:
            name = self.trainers[0].evaluator.column.rpartition("/")[2]
            self._bar.set_postfix_str(f"median {name} {statistics.median(scores):.3g}", refresh=False)
        self._bar.update(self._counted - self._bar.n)

    def _say(self, words: str) -> None:
        """Shows a line above the bar, once."""
        if words and words not in self._shown and not self._bar.disable:
            self._bar.write(words, file=sys.stderr)
        self._shown.add(words)

    @contextlib.contextmanager
    def _told_of_which(self) -> Iterator[None]:
        """Adds to an error of a slot how to run it alone, and of which run it is."""
        try:
            yield
        except (DriverError, NotFiniteSlotError) as error:
            own = self.trainers[error.run] if isinstance(error, DriverError) and error.slot else self._at
            files = own.files
            with hint_at_replay(files.shown, own.config, files.shown.parent):
                raise
