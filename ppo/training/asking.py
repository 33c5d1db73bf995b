"""Asking and telling: the points of a round are asked, and what was measured there is told, in any order.

A bench that is no function is the driver: a round is over once all of its points are in the archive, where ``tell``
puts them. So it may be told in other processes than it was asked in, and in the same rounds gives the same bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from actors.job import Job, Kind, Task
from actors.pools.base import Pool, Record, RoundResult
from actors.snapshots import AnySnapshot
from env.coordinates import with_observed
from env.description import Description
from env.errors import UsageError, nearest
from ppo.config import ResolvedConfig
from ppo.data.rows import LATE, SKIPPED, in_order, key_name, row_type, rows_of
from ppo.training.checking import checked
from ppo.training.job import configured_pool
from ppo.training.rounds import Rounds
from ppo.training.run_dir import RunDir

FAILED, SKIP = "failed", "skipped"


@dataclass(frozen=True)
class Point:
    """Where f is to be measured.

    Attributes:
        id: its name, by which it is told.
        knobs, conditions: what is to be set, by name, in units.
    """

    id: str
    knobs: dict[str, Any]
    conditions: dict[str, Any]


class Unanswered(Exception):  # noqa: N818, it is no error
    """A round cannot be run before more of its points are told.

    Attributes:
        rows: their rows, without values, ``[n]``.
    """

    def __init__(self, rows: np.ndarray):
        super().__init__(f"{len(rows)} points of the round are open")
        self.rows = rows


class AskingPool(Pool):
    """Runs no slots: a round is what is recorded of it.

    Args:
        job: the job of the run.
    """

    asks = True

    def __init__(self, job: Job):
        super().__init__(job, 0)

    def submit(self, step: int, snapshot: AnySnapshot, kind: Kind, record: Record | None = None) -> None:
        """See ``Pool``."""
        self._round = step, snapshot, kind
        self._merged = self._merger(kind, snapshot.version, record)

    def result(self) -> RoundResult:
        """Returns the round that was submitted.

        Raises:
            Unanswered: it is not recorded whole.
        """
        if self._merged.complete:
            return RoundResult(self._merged.result(), [], 0.0, 0.0)
        step, snapshot, kind = self._round
        whole = self._failed_slots.trajectory(Task(kind, step, 0, self.job.slots(kind)), snapshot)
        rows = rows_of(whole, kind, step, row_type(self.job), self.job.evaluate_starts)
        raise Unanswered(rows[np.isin(rows["slot"], self._merged.missing)])

    def close(self) -> None:
        """See ``Pool``."""


def pool_of(job: Job, config: ResolvedConfig) -> Pool:
    """Makes the pool of a training: one that asks for a bench, and else what the configuration says."""
    if job.description.asked:
        return AskingPool(job)
    return configured_pool(job, config)


class Asks:
    """What a trainer has for a bench: ``ask`` and ``tell``."""

    config: ResolvedConfig
    files: RunDir
    job: Job
    learner: Any
    rounds: Rounds
    _open: Any
    _asked: np.ndarray | None = None

    def ask(self) -> list[Point]:
        """Returns the points of the round that is open and are not told yet; none once there is no other round.

        Raises:
            UsageError: the problem is a function, which is not asked.
        """
        if not self.job.description.asked:
            raise UsageError(f"--env {self.config.env}: is called by the training itself; only a bench is asked")
        rows = self._advance()
        return [] if rows is None else [self._point(row) for row in rows]

    def _advance(self) -> np.ndarray | None:
        """Runs all rounds that are told whole; returns the rows of the points of the next one, None after the last."""
        try:
            for _ in self:  # type: ignore[attr-defined]
                pass
            if self.config.check:
                self.rounds.through(checked(self.rounds, self.job, self.files, self.learner.snapshot()))
            self._asked = None
        except Unanswered as unanswered:
            self._asked = unanswered.rows
        return self._asked

    def state_words(self, points: list[Point]) -> str:
        """Returns how far the run is, in words; ``points`` are what ``ask`` returned."""
        if not points:
            return f"all is measured; {self.files.shown} holds the law"
        told, budget = self.learner.evaluations, self.config.evaluations
        return f"{len(points)} points are open; before this round {told} of {budget} were told or skipped"

    def _point(self, row: np.void) -> Point:
        assert self.job.description.coordinates is not None, "a tuning problem has them"
        named = zip(self.job.description.coordinates, (row["x"], row["c"]), strict=True)
        knobs, conditions = (
            {name: _plain(value) for name, value in part.in_units(z).items() if not part[name].observed}
            for part, z in named
        )
        return Point(key_name(row), knobs, conditions)

    def tell(self, answers: Mapping[str, Any], close: bool = False) -> int:
        """Takes what was measured, keeps it in the archive, and goes on as far as it suffices.

        A point that is told after its round was closed is learned from in the next one.

        Args:
            answers: by the id of a point: f, or (f, g) with constraints; ``"failed"`` where f cannot be had there;
                ``"skipped"`` where it was not measured. Where conditions are observed, they follow by name:
                ``(f, {"wind": 7.2})``; beside ``"failed"`` where they are known.
            close: takes the points of the round that are still open for skipped.

        Returns:
            How many points of the round are still open; 0 also if another one has begun.

        Raises:
            UsageError: an id is unknown or told already, or a value is none; nothing is taken then.
        """
        if self._asked is None and self._advance() is None:
            raise UsageError(f"{self.files.shown}: all points are told, and no round is open")
        assert self._asked is not None, "a round is open"
        open_rows = {key_name(row): row.copy() for row in self._asked}
        known = self.rounds.recorded_rows()
        rows = [self._answered(name, answer, open_rows, known) for name, answer in answers.items()]
        told = [row for row in rows if row is not None]
        left = [row for name, row in open_rows.items() if name not in answers]
        for row in left if close else ():
            row["f"], row["failed"] = SKIPPED, True
            told.append(row)
        if told:
            self.rounds.tell(in_order(np.array(told)))
        if not left or close:
            self._advance()
            return 0
        self._asked = np.array(left)
        return len(left)

    def _answered(self, name: str, answer: Any, open_rows: Mapping[str, np.void], known: np.ndarray) -> np.void | None:
        """Returns the row of an answer; None for one that was given before."""
        if name in open_rows:
            return _with_answer(open_rows[name].copy(), name, answer, self.job.description)
        before = known[[key_name(row) == name for row in known]] if len(known) else known
        if not len(before):
            raise UsageError(f"id {name}: no point of this run has it{nearest(name, open_rows)}")
        row = _with_answer(before[0].copy(), name, answer, self.job.description)
        place = place_of(row, self.job, self.config.training_steps)
        late = known[(known["kind"] == LATE) & (known["slot"] == place)]
        if len(late):
            before = late
        parts = [part for part in ("f", "g", "c") if part in (known.dtype.names or ())]
        if all(np.array_equal(row[part], before[0][part], equal_nan=True) for part in parts):
            return None
        if before[0]["f"] != SKIPPED:
            raise UsageError(f"id {name}: was told before as {before[0]['f']:.9g}, and cannot be another value now")
        row["kind"], row["step"], row["slot"] = LATE, self.learner.step, place
        return row


def place_of(row: np.void, job: Job, training_steps: int) -> int:
    """Returns the place of a point among all that a run could ask, in the order of their keys."""
    length = 1 + max(job.evaluations(kind) for kind in Kind)
    width = length * max(job.slots(kind) for kind in Kind)
    before = int(row["kind"]) * (training_steps + 1) + int(row["step"])
    return before * width + int(row["slot"]) * length + int(row["time_step"])


def _with_answer(row: np.void, name: str, answer: Any, described: Description) -> np.void:
    """Fills an answer into a row.

    Raises:
        UsageError: it is none.
    """
    constraints = described.constraints
    if described.observed:
        answer = _with_conditions(row, name, answer, described)
    if isinstance(answer, str):
        if answer not in (FAILED, SKIP):
            raise UsageError(f"id {name}: {answer!r} must be a number, {FAILED} or {SKIP}")
        row["f"], row["failed"] = (np.nan if answer == FAILED else SKIPPED), True
        if constraints:
            row["g"] = np.nan
        return row
    values = np.ravel(np.asarray(answer if not isinstance(answer, tuple) else [answer[0], *np.ravel(answer[1])]))
    if values.dtype.kind not in "fiu" or values.shape != (1 + constraints,) or not np.isfinite(values).all():
        beside = f" and {constraints} constraints beside it, as (f, g)" if constraints else ""
        raise UsageError(f"id {name}: {answer!r} must be a finite number{beside}, or {FAILED} or {SKIP}")
    row["f"], row["failed"] = values[0], False
    if constraints:
        row["g"] = values[1:]
    return row


def _with_conditions(row: np.void, name: str, answer: Any, described: Description) -> Any:
    """Fills the conditions that were observed into a row, and returns the rest of an answer.

    Raises:
        UsageError: they are missing, or one of them is none.
    """
    assert described.coordinates is not None, "a tuning problem has them"
    conditions = described.coordinates[1]
    names = [list(conditions)[j] for j in described.observed]
    whole = isinstance(answer, tuple) and len(answer) > 1 and isinstance(answer[-1], Mapping)
    *parts, found = answer if whole else (answer, None)
    if (found is None and isinstance(answer, str)) or parts == [SKIP]:
        return parts[0]
    if found is None or set(found) != set(names):
        wanted = ", ".join(f'"{one}": ...' for one in names)
        raise UsageError(f"id {name}: {answer!r} must have the observed conditions last, as (f, {{{wanted}}})")
    try:
        row["c"] = with_observed(conditions, row["c"][None], found)[0]
    except UsageError as error:
        raise UsageError(f"id {name}: {error}; tell what was measured beyond it as {SKIP}") from None
    return parts[0] if len(parts) == 1 else tuple(parts)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic | np.ndarray) else value
