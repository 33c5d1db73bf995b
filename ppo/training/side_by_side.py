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
from collections.abc import Callable, Generator, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from tqdm import tqdm

from actors.pools.base import DriverError, NotFiniteSlotError
from actors.pools.shared import SharedPool
from actors.trajectory import Trajectory
from ppo.training.device import prepared
from ppo.training.hints import hint_at_replay
from ppo.training.job import configured_pool
from ppo.training.progress import failed_words
from ppo.training.rounds import phase_of
from ppo.training.step import TrainingStep, WantedRound
from ppo.training.trainer import Trainer

R = TypeVar("R")
Coroutines = dict[Trainer, Generator[WantedRound, Any, R]]


class SideBySide:
    """Trains several runs, inside its context.

    Args:
        trainers: of the runs, whose configurations differ by their seed alone; none is in its context.
        quiet: show no progress.
        begin: is called once the drivers are up, before anything of a run is written.

    Attributes:
        trainers: of the runs.
    """

    def __init__(self, trainers: Sequence[Trainer], quiet: bool, begin: Callable[[], None] = lambda: None):
        self.trainers, self._quiet, self._begin = list(trainers), quiet, begin
        self._at = self.trainers[0]  # which one something is done for
        self._shown: set[str] = set()
        budget = self._at.config.evaluations
        self._unit = "step" if budget is None else "evaluation"
        self._total = len(self.trainers) * (budget or self._at.config.training_steps)

    def __enter__(self) -> Self:
        first = self.trainers[0]
        with contextlib.ExitStack() as stack:
            with prepared(first.learner, asked=False):
                make = functools.partial(configured_pool, config=first.config)
                self._shared = SharedPool([trainer.job for trainer in self.trainers], make)
                stack.callback(self._shared.close)
            done, quiet = self._counted, self._quiet
            self._bar = tqdm(total=self._total, initial=done, unit=self._unit, disable=quiet, dynamic_ncols=True)
            stack.callback(self._bar.close)
            self._begin()
            for trainer, lane in zip(self.trainers, self._shared.lanes, strict=True):
                trainer.share(lane, first, functools.partial(self._say_of, trainer))
                stack.enter_context(trainer)
            stack.enter_context(self._told_of_which())
            self._open = stack.pop_all()
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
        ended = self._through({trainer: trainer.parts() for trainer in left if trainer.learner.step == least})
        self._show(list(ended.values()))
        return list(ended.values())

    def finish(self, pictures: bool) -> list[dict[str, Any]]:
        """Does for all runs what ``Trainer.finish`` does; returns the summaries."""
        ended = self._through({trainer: trainer.ending(pictures) for trainer in self.trainers})
        return [ended[trainer] for trainer in self.trainers]

    def _through(self, coroutines: Coroutines[R]) -> dict[Trainer, R]:
        """Goes through coroutines that wait for rounds, and runs the rounds that they wait for together."""
        sent: dict[Trainer, Trajectory | None] = dict.fromkeys(coroutines)
        ended = {}
        while sent:
            wanted = {}
            for trainer, trajectory in sent.items():
                self._at = trainer
                trainer.timing.leave_out()
                try:
                    wanted[trainer] = coroutines[trainer].send(trajectory)
                except StopIteration as end:
                    ended[trainer] = end.value
            sent = self._run(wanted)
        return ended

    def _run(self, wanted: dict[Trainer, WantedRound]) -> dict[Trainer, Trajectory | None]:
        """Runs the rounds that are waited for; each has an equal part of their time."""
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
            self._say(failed_words(pool.failure))
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

    def _say_of(self, trainer: Trainer, words: str) -> None:
        """Shows a line of one run; what is said of all of them as they begin is said once."""
        self._say(words if words in self.trainers[0].words else f"seed {trainer.config.seed}: {words}")

    @contextlib.contextmanager
    def _told_of_which(self) -> Iterator[None]:
        """Adds to an error of a slot of which run it is, and how to run it alone."""
        try:
            yield
        except (DriverError, NotFiniteSlotError) as error:
            own = self._at
            if isinstance(error, DriverError) and error.slot:
                own = self.trainers[error.run]
            elif error.slot:
                error.args = (f"{error}, in the run with seed {own.config.seed}", *error.args[1:])
            with hint_at_replay(own.files.shown, own.config, self.trainers):
                raise
