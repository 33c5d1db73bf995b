"""Replay: recorded slots are rolled out again over an objective that answers from the archive, and cost nothing."""

import dataclasses
from typing import Any

import numpy as np

from actors.job import TRAINING, Job, Kind, Task
from actors.pools.base import contiguous
from actors.rollout import Collector
from actors.snapshot import Snapshot
from actors.trajectory import Trajectory
from env.coordinates import Coordinates
from env.errors import UsageError
from env.objectives import Objective
from ppo.data.rows import KEY, KIND_NAMES, accepted, differs_from_last, values_of


class Replay:
    """Plays recorded slots back, so that only what is not recorded has to be run.

    Args:
        rows: rows of the archive, ``accepted``.
        job: the job of the run.
        name: what a message calls the archive, such as ``--resume runs/a``.
    """

    def __init__(self, rows: np.ndarray, job: Job, name: str):
        self.name, self.rows = name, rows
        self._keep_failures = job.keep_failures
        self._job = dataclasses.replace(job, problem=dataclasses.replace(job.problem, evaluation_cost_ms=0.0))
        described = job.description
        assert described.coordinates is not None, "a tuning problem has them"
        self._objective = RecordedObjective(*described.coordinates, described.constraints, name, described.asked)
        self._collector: Collector | None = None
        starts = np.flatnonzero(differs_from_last(self.rows, KEY[:2]))
        ends = np.append(starts[1:], len(self.rows))[: len(starts)]
        heads = self.rows[starts]
        keys = zip(heads["kind"].tolist(), heads["step"].tolist(), strict=True)
        self._rounds = {key: slice(a, b) for key, a, b in zip(keys, starts, ends, strict=True)}

    def with_rows(self, rows: np.ndarray) -> "Replay":
        """Returns a replay of more rows."""
        self.close()
        return Replay(accepted(np.concatenate([self.rows, rows]), self._keep_failures), self._job, self.name)

    def first_gap(self, step: int) -> int | None:
        """Returns the first training step from ``step`` on of which nothing is recorded though later ones are."""
        recorded = {s for kind, s in self._rounds if kind in TRAINING}
        return next((s for s in range(step, max(recorded, default=0)) if s not in recorded), None)

    def trajectories(self, kind: Kind, step: int, snapshot: Snapshot) -> list[Trajectory]:
        """Returns the trajectories of the slots of a round that are recorded whole.

        Raises:
            UsageError: the slots lead to other states than those recorded: the archive is another run's, or damaged.
        """
        place = self._rounds.get((kind, step))
        if place is None:
            return []
        rows, per_slot = self.rows[place], self._job.evaluations(kind)
        slots, first, counts = np.unique(rows["slot"], return_index=True, return_counts=True)
        whole = (counts == per_slot) & (slots >= 0) & (slots < self._job.slots(kind))
        if not whole.any():
            return []
        if self._collector is None:
            self._collector = Collector(self._job, objective=self._objective)
        self._collector.update(snapshot)
        table = rows[first[whole][:, None] + np.arange(per_slot)]
        played, at = [], 0
        for run in contiguous(slots[whole]):
            self._objective.play(table[at : at + len(run)])
            played.append(self._collector.run(Task(kind, step, run.start, run.stop)))
            at += len(run)
        return played

    def close(self) -> None:
        """Closes the environments."""
        if self._collector is not None:
            self._collector.close()


class RecordedObjective(Objective):
    """Answers with recorded values of f, one time step of all slots at a time, in the order of the time steps.

    Args:
        knobs, conditions: those of the problem.
        constraints: their number.
        name: what a message calls the archive.
        asked: whether the points were asked.
    """

    vectorised = True  # all slots of a run of rows are answered together

    def __init__(self, knobs: Coordinates, conditions: Coordinates, constraints: int, name: str, asked: bool):
        self.take_coordinates((knobs, conditions))
        self.knobs, self.conditions = len(knobs), len(conditions)
        self.constraints, self._name, self.observed, self._asked = constraints, name, conditions.observed, asked
        self._given = np.setdiff1d(np.arange(len(conditions)), conditions.observed)

    def play(self, rows: np.ndarray) -> None:
        """Sets the rows that answer from now on, ``[slots, evaluations of a slot]``."""
        self.rows, self._next = rows, 0

    def __call__(self, x: np.ndarray, c: np.ndarray) -> Any:
        rows = self.rows[:, self._next]
        self._next += 1
        other = (rows["x"] != x).any(axis=1) | (rows["c"] != c)[:, self._given].any(axis=1)
        if other.any():
            row = rows[int(np.argmax(other))]
            raise UsageError(
                f"{self._name}: the archive is another run's or damaged: the row of {KIND_NAMES[int(row['kind'])]}, "
                f"step {row['step']}, slot {row['slot']}, time step {row['time_step']} holds other knobs or conditions "
                f"than this run has there"
            )
        f = values_of(rows, self._asked)
        beside = [list(rows["g"].T)] if self.constraints else []
        observed = [rows["c"].copy()] if self.observed else []
        return (f, *beside, *observed) if beside or observed else f
