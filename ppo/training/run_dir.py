"""The files of a run."""

import contextlib
import csv
import dataclasses
import datetime
import io
import itertools
import json
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from actors.law_file import About, save_law
from actors.snapshot import Snapshot
from actors.step_limit import StepLimit
from env.errors import UsageError
from ppo.config import Config, ResolvedConfig
from ppo.config.command_line import FROM_NOW_ON
from ppo.config.file import read_config
from ppo.data.files import (
    append_to,
    make_directories,
    make_durable,
    missing_directories,
    remove_empty,
    remove_unfinished,
    unfinished,
    unwritable,
    write_atomically,
    write_new,
)
from ppo.data.locks import locked
from ppo.evaluation.evaluator import Evaluator
from ppo.processor import kernels
from ppo.training.checkpoint import load_checkpoint, save_checkpoint

Row = dict[str, float]
MISSING = "nan"
START_LAW = "start_law.npz"
WRITTEN = (
    *("config.json", "archive.bin", "checkpoint.npz", "law.npz", "metrics.csv", "summary.json", "timing.json"),
    START_LAW,
)
"""Files that only a training writes."""


def default_path(config: Config, seeds: str = "") -> pathlib.Path:
    """Returns ``runs/<environment>-<seed>-<date and time>``; for several seeds, named by these words."""
    name = "".join(c if c.isalnum() else "-" for c in config.env.rpartition(":")[2])
    stem = f"{name}-{seeds or config.seed}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(path for path in (pathlib.Path("runs", name) for name in names) if not path.exists())


def check_free(path: pathlib.Path) -> None:
    """Raises UsageError unless ``path`` can become a new run's directory."""
    if len(path.name) > 200:
        raise UsageError(f"--run-dir {path.name[:20]}...: a name of {len(path.name)} characters is too long")
    if path.exists() and (not path.is_dir() or set(path.iterdir()) > set(unfinished(path, ["config.json"]))):
        raise UsageError(f"--run-dir {path}: exists and is not empty; name another one, or go on with --resume {path}")
    parent = next(p for p in [path, *path.absolute().parents] if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UsageError(f"--run-dir {path}: {parent} is not a directory that can be written to")


class RunDir:
    """A run's directory: ``config.json``, ``metrics.csv``, ``timing.json``, ``summary.json``, ``checkpoint.npz``,
    ``law.npz``, the archive and pictures.

    Args:
        path: the directory, relative to where the program is now.

    Attributes:
        path: the same wherever the program goes, as an environment may make it.
        shown: as it was given, for messages.
        made: whether ``create`` has made the directory of a run here.
        rows: of ``metrics.csv``, as far as they were read or written.
    """

    def __init__(self, path: str | pathlib.Path):
        self.shown, self.path = pathlib.Path(path), pathlib.Path(path).absolute()
        self.made = False
        self.rows: list[Row] = []
        self._columns: list[str] = []
        self._metrics_durable = True

    @property
    def metrics(self) -> pathlib.Path:
        return self.path / "metrics.csv"

    @property
    def checkpoint(self) -> pathlib.Path:
        return self.path / "checkpoint.npz"

    def create(self, config: ResolvedConfig, limit: StepLimit | None = None) -> None:
        """Makes the directory of a new run, which keeps the start law of a limit: its own run may be removed.

        Raises:
            UsageError: it cannot be made, or another run has begun in it.
        """
        absent = missing_directories([self.path])
        try:
            make_directories(self.path)
            write_new(self.path / "config.json", config.to_json().encode())
            if limit is not None and limit.start is not None:
                self.write_law(limit.start, About(limit=limit.within), START_LAW)
        except FileExistsError:
            raise UsageError(f"--run-dir {self.shown}: another run has just begun in it") from None
        except (OSError, UsageError) as error:
            with contextlib.suppress(OSError):
                (self.path / "config.json").unlink(missing_ok=True)
            remove_empty(absent)
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"--run-dir {self.shown}: cannot be made ({reason})") from None
        self.made = True

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other trainings out of the directory, and removes what a killed one had not finished writing.

        Raises:
            UsageError: another process is training in it.
        """
        with (self.path / "config.json").open("rb") as file:
            if not locked(file.fileno()):
                raise UsageError(
                    f"--resume {self.shown}: another process is training in it; wait for that one, or end it"
                )
            remove_unfinished(self.path, WRITTEN)
            yield

    @contextlib.contextmanager
    def taken_up(self, config: ResolvedConfig) -> Iterator[None]:
        """Locks the directory of a run that goes on, and writes to ``config.json`` what it does otherwise from now on.

        Raises:
            UsageError: another process is training in it, or it cannot be written to.
        """
        with self.locked(), contextlib.ExitStack() as stack:
            before = self.config()
            now = dataclasses.replace(before, **{name: getattr(config, name) for name in FROM_NOW_ON})
            if now != before:
                write_atomically(self.path / "config.json", now.to_json().encode())
                stack.enter_context(self.locked())  # the file that has taken its place
            yield

    def config(self, flag: str = "--resume") -> Config:
        """Returns the configuration of an existing run.

        Raises:
            UsageError: it is not a run's directory; the text names ``flag``.
        """
        if not (self.path / "config.json").is_file():
            raise UsageError(f"{flag} {self.shown}: not a run directory, there is no config.json in it")
        try:
            return read_config(self.path / "config.json", flag)
        except UsageError as error:
            raise UsageError(str(error).replace(str(self.path), str(self.shown), 1)) from None

    def summary(self) -> dict[str, Any] | None:
        """Returns what a finished run's ``summary.json`` holds; None where there is none."""
        return self.read_json("summary.json")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Returns what a JSON file of the run holds; None where there is none, or it is damaged."""
        try:
            content = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None

    def append(self, row: Row) -> None:
        """Adds a row to ``metrics.csv``; values that it does not have, and others do, are NaN."""
        self.rows.append(row)
        new = [name for name in row if name not in self._columns]
        try:
            if new:
                self._add_columns(new)
            text = io.StringIO(newline="")
            self._writer(text).writerow(row)
            self._metrics_durable = False
            append_to(self.metrics, text.getvalue().encode())
        except OSError as error:
            raise unwritable(self.metrics, error) from None

    def _add_columns(self, names: list[str]) -> None:
        """Writes ``metrics.csv`` again with more columns, its rows as the same text."""
        texts: list[dict[str, str]] = []
        if self._columns:
            with self.metrics.open(newline="", encoding="utf-8") as file:
                texts = list(csv.DictReader(file))
        self._columns += names
        buffer = io.StringIO(newline="")
        writer = self._writer(buffer)
        writer.writeheader()
        writer.writerows(texts)
        write_atomically(self.metrics, buffer.getvalue().encode())

    def _writer(self, file: TextIO) -> csv.DictWriter:
        return csv.DictWriter(file, self._columns, restval=MISSING, lineterminator="\n")

    def rewind(self, step: int) -> None:
        """Drops the rows after training step ``step``, which a resumed run writes again."""
        if not self.metrics.is_file():
            return
        lines = self.metrics.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        try:
            kept = whole[:1] + [line for line in whole[1:] if int(line.split(",")[0]) <= step]
            self.rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(kept)]
        except (ValueError, TypeError):
            raise UsageError(f"--resume {self.shown}: metrics.csv is damaged") from None
        self._columns = list(self.rows[0]) if self.rows else []
        write_atomically(self.metrics, "".join(kept if self.rows else []).encode())

    def save(self, state: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Writes the checkpoint; the metrics before it are durable then."""
        if not self._metrics_durable:
            make_durable(self.metrics)
            self._metrics_durable = True
        save_checkpoint(self.checkpoint, state, meta | {"kernels": kernels()})

    def load(self, flag: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Reads the checkpoint."""
        return load_checkpoint(self.checkpoint, flag, self.shown)

    def write_json(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        """Writes ``timing.json`` or ``summary.json``; returns what it holds, which is None for what is not finite."""
        known = _finite(content)
        write_atomically(self.path / name, (json.dumps(known, indent=2, allow_nan=False) + "\n").encode())
        return known

    def write_law(self, snapshot: Snapshot, about: About | None = None, name: str = "law.npz") -> None:
        """Writes ``law.npz`` or ``start_law.npz``: a law, and what it says of itself."""
        buffer = io.BytesIO()
        save_law(buffer, snapshot, about)
        write_atomically(self.path / name, buffer.getvalue())

    def eval_summary(self, evaluator: Evaluator) -> dict[str, Any]:
        """Returns statistics of the evaluations, over the thesis's first and last 1,000 training steps.

        Scores that are not finite are counted, where there are any, and left out of the statistics of others.
        """
        steps = np.array([row["training_step"] for row in self.rows])
        scores = np.array([row[evaluator.column] for row in self.rows])
        names = ("first_1000_mean", "first_1000_variance", "last_1000_mean", "last_1000_variance", "best", "final")
        if not len(steps):
            return {"metric": evaluator.metric} | dict.fromkeys(names)
        first, last = scores[steps <= 1000], scores[steps > steps[-1] - 1000]
        first, last, best = (_sound(part) for part in (first if len(first) else scores[:1], last, scores))
        best_score = best.max() if evaluator.metric == "mean_return" else best.min()
        with np.errstate(all="ignore"):
            values = (first.mean(), first.var(), last.mean(), last.var(), best_score, scores[-1])
        missing = int(len(scores) - np.isfinite(scores).sum())
        counted = {"not_finite": missing} if missing else {}
        return {"metric": evaluator.metric} | dict(zip(names, map(float, values), strict=True)) | counted


def _sound(scores: np.ndarray) -> np.ndarray:
    """Returns the finite scores; all of them where none is finite."""
    finite = scores[np.isfinite(scores)]
    return finite if len(finite) else scores


def _finite(content: Any) -> Any:
    """Returns what JSON can hold: None in place of numbers that are not finite."""
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
