"""What drivers are asked to run: the job of a whole run, and the tasks of its training steps."""

import functools
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from actors.step_limit import StepLimit
from actors.trajectory import Layout
from env.description import Description
from env.make import Problem


class Kind(IntEnum):
    """What a slot is run for: training, a score in training, or the check of a law beside constant knobs.

    Training slots are sampled by the policy (``COLLECT``), or planned: the first ones, spread over the whole range
    (``DESIGN``), and those that a model of f chose (``PLAN``). Slots of ``IMAGINE`` run on that model, in the learner.
    Those of ``PAIR`` are sampled by a policy of several components of which one is in use: two time steps suffice.
    """

    COLLECT = 1
    EVALUATE = 2
    CHECK = 3
    CHECK_CONSTANT = 4
    CHECK_MEAN = 5
    DESIGN = 6
    PLAN = 7
    IMAGINE = 8
    PAIR = 9


PLANNED = frozenset({Kind.DESIGN, Kind.PLAN})
"""Kinds whose starts and actions the snapshot's plan gives."""
SAMPLED = frozenset({Kind.COLLECT, Kind.IMAGINE, Kind.PAIR})
"""Kinds whose actions the policy samples."""
TRAINING = PLANNED | SAMPLED
"""Kinds that something is learned from."""


@dataclass(frozen=True)
class Task:
    """Slots ``start`` .. ``stop`` - 1 of training step ``step``."""

    kind: Kind
    step: int
    start: int
    stop: int

    def alone(self, slot: int | None = None) -> "Task":
        """Returns a task of one of its slots, the first where ``slot`` is none of them."""
        first = self.start if slot is None or not self.start <= slot < self.stop else slot
        return replace(self, start=first, stop=first + 1)


@dataclass(frozen=True)
class Job:
    """What stays the same over a run; it is sent once to each driver.

    Runs that differ by their seed may share their rounds: those of the first one come first, in the order of its slots,
    then those of the second one, and so on.

    Attributes:
        problem: the environment.
        sampler: as ``--sampler`` gives it; ``env`` for the environment's own starts.
        candidates: candidates for each start of uncertainty sampling.
        seed: seed of the run.
        episodes: slots of a training step, E.
        time_steps: length of a slot, T.
        eval_starts: states at which a law is evaluated, ``[m, dims]``; None outside tuning.
        evaluate_starts: whether f of the starts is recorded; it costs an evaluation for each slot.
        eval_episodes: evaluation episodes where there are no such states.
        eval_time_steps: their length at the most.
        check_starts: states at which the law and constant knobs are checked, ``[m, dims]``; None for no check.
        mirrored: whether every second time step of a slot takes the noise of the one before, negated.
        profile: directory that driver processes write their profiles to; None for no profiles.
        components: number of Gaussians of the policy.
        planned: slots of the first planned round, and of those after it; 0 without a model.
        pairs: slots of a round of ``PAIR``.
        keep_failures: whether evaluations of f that fail are kept as NaN; else one ends the round.
        limit: how far knobs that are evaluated may lie from those of a start law; None for no limit.
        drivers: among how many drivers the evaluations are shared that may be under way at once.
        beside: the jobs of other runs whose slots are run in the same rounds; they have other seeds, and what follows
            from them.
    """

    problem: Problem
    sampler: str
    candidates: int
    seed: int
    episodes: int
    time_steps: int
    eval_starts: np.ndarray | None = None
    evaluate_starts: bool = True
    eval_episodes: int = 0
    eval_time_steps: int = 1
    check_starts: np.ndarray | None = None
    mirrored: bool = False
    profile: str | None = None
    components: int = 1
    planned: tuple[int, int] = (0, 0)
    pairs: int = 0
    keep_failures: bool = False
    limit: StepLimit | None = None
    drivers: int = 1
    beside: "tuple[Job, ...]" = ()

    @functools.cached_property
    def description(self) -> Description:
        """The description of one row of the environment.

        It is pickled with the job once it is known, so that no driver builds an environment to learn its shapes.
        """
        return self.problem.describe()

    def starts(self, kind: Kind) -> np.ndarray | None:
        """Returns the fixed start states of a kind; None where the sampler or the environment draws them."""
        if kind in TRAINING:
            return None
        return self.eval_starts if kind == Kind.EVALUATE else self.check_starts

    @property
    def runs(self) -> "tuple[Job, ...]":
        """The jobs of all runs that share the rounds, this one's first."""
        return self, *self.beside

    def shares(self, task: Task) -> "list[Share]":
        """Returns the shares of the runs in a task, in order."""
        slots, runs = self.run_slots(task.kind), self.runs
        shares = []
        for run in range(task.start // slots, (task.stop - 1) // slots + 1):
            first, last = max(task.start, run * slots), min(task.stop, (run + 1) * slots)
            rows, own = slice(first - task.start, last - task.start), slice(first - run * slots, last - run * slots)
            shares.append(Share(run, runs[run], rows, own))
        return shares

    def slots(self, kind: Kind) -> int:
        """Returns the number of slots of a round of this kind, of all runs."""
        return len(self.runs) * self.run_slots(kind)

    def run_slots(self, kind: Kind) -> int:
        """Returns the number of slots that one run has in a round of this kind."""
        if kind in SAMPLED:
            return self.pairs if kind == Kind.PAIR else self.episodes
        if kind in PLANNED:
            return self.planned[kind == Kind.PLAN]
        starts = self.starts(kind)
        return self.eval_episodes if starts is None else len(starts)

    def at_once_of(self, driver: int) -> int | None:
        """Returns how many evaluations a driver may have under way at once: its share; None for any number."""
        if (at_once := self.description.at_once) is None:
            return None
        return at_once // self.drivers + (driver % self.drivers < at_once % self.drivers)

    @property
    def most_slots(self) -> int:
        """Number of slots of the largest round, which is as many drivers as can be of use."""
        pairs = [Kind.PAIR] if self.components > 1 else []
        checks = [Kind.CHECK] if self.check_starts is not None else []
        return max(self.slots(kind) for kind in (Kind.COLLECT, Kind.EVALUATE, *PLANNED, *pairs, *checks))

    def evaluations(self, kind: Kind) -> int:
        """Returns the evaluations of f that a slot of this kind takes, outside tuning 0."""
        if self.problem.family != "tuning":
            return 0
        return self.length(kind) + self.evaluate_starts if kind in SAMPLED else 1

    def length(self, kind: Kind) -> int:
        """Returns the time steps of a slot of this kind."""
        if kind in SAMPLED:
            return 2 if kind == Kind.PAIR else self.time_steps
        return self.eval_time_steps if kind == Kind.EVALUATE else 1

    def layout(self, kind: Kind) -> Layout:
        """Returns the shapes of the trajectories of a round of this kind."""
        described = self.description
        tuning = self.problem.family == "tuning"
        action_dim = described.action_dim + (kind in SAMPLED and self.components > 1)
        constraints = 0 if kind == Kind.IMAGINE else described.constraints  # the model's f has them in it
        return Layout(self.length(kind), described.obs_dim, action_dim, tuning, constraints)


@dataclass(frozen=True)
class Share:
    """The slots of a task that belong to one run.

    Attributes:
        number: number of the run.
        job: the job of the run.
        rows: which of the task's slots they are.
        own: which of the run's slots they are.
    """

    number: int
    job: Job
    rows: slice
    own: slice
