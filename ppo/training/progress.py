"""What a user sees: the progress bar, the table at the end, TensorBoard events."""

import pathlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from actors.job import TRAINING, Kind
from env.errors import UsageError
from ppo.algorithm.learner import Learner
from ppo.config import ResolvedConfig
from ppo.evaluation.plots import matplotlib_installed
from ppo.evaluation.regret import regret_words
from ppo.evaluation.statistics import told_apart
from ppo.training.run_dir import Row, RunDir
from ppo.training.summary import all_failed, evaluations_of
from ppo.training.timing import PHASES, Timing


class Progress:
    """A bar with the training step or the evaluations paid of the budget, the time left, the current score, env steps
    per second and the split of the time."""

    def __init__(
        self,
        config: ResolvedConfig,
        learner: Learner,
        column: str,
        quiet: bool,
        message: Callable[[str], None] | None = None,
    ):
        self._elsewhere = message
        self._counts_evaluations = config.evaluations is not None
        self._learner = learner
        first, total, unit = learner.step, config.training_steps, "step"
        if config.evaluations is not None:
            first, total, unit = learner.evaluations, config.evaluations, "evaluation"
        self._bar = tqdm(total=total, initial=first, unit=unit, disable=quiet, dynamic_ncols=True)
        self._name = column.rpartition("/")[2]
        self._score, self._model, self._failure = "", "", ""
        self._env_steps = 0
        self._counting = threading.Lock()

    def scored(self, score: float) -> None:
        """Shows a new score."""
        self._score = f"{self._name} {score:.3g}, "

    def learned(self, scalars: dict[str, float]) -> None:
        """Shows how well a model of f predicted the round that it learned from, before it did."""
        if "charts/model_gain" in scalars:
            self._model = f"model {scalars['charts/model_gain']:+.2g} nats, "

    def step(self, env_steps: int, timing: Timing, gpu: str = "") -> None:
        """Shows that a training step is done, for which so many env steps were run, and the use of a GPU, in words."""
        self._env_steps += env_steps
        if not self._bar.disable:
            rate = self._env_steps / max(self._bar.format_dict["elapsed"], 1e-9)
            shown = f"{self._score}{self._model}{rate:,.0f} env steps/s"
            split = f"collect/train/broadcast {timing.split()} %{', ' if gpu else ''}{gpu}"
            self._bar.set_postfix_str(f"{shown}, {split}", refresh=False)
            with self._counting:
                self._bar.update(0 if self._counts_evaluations else self._learner.step - self._bar.n)

    def paid(self, kind: Kind, evaluations: int) -> None:
        """Counts evaluations of f that have arrived; with a lag another thread tells of them."""
        if self._counts_evaluations and kind in TRAINING:
            with self._counting:
                self._bar.update(evaluations)

    def failed(self, reason: str) -> None:
        """Says once that an evaluation of f has failed, given why; empty for none."""
        if reason and not self._failure:
            self._failure = reason
            self.message(failed_words(reason))

    def message(self, text: str) -> None:
        """Shows a line above the bar, or wherever the lines of a run go that has none."""
        if self._elsewhere is not None:
            self._elsewhere(text)
        elif not self._bar.disable:
            self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()


def failed_words(reason: str) -> str:
    """Returns what to say of the first evaluation of f that failed and is kept, given why."""
    return f"an evaluation of f failed, and counts as worse than any other ({reason})"


class Tracker:
    """TensorBoard events, or nothing where they are not wanted.

    Args:
        wanted: whether they are.
        first: training step of the first rows to come; what an earlier part of the run wrote from it on is hidden.
    """

    def __init__(self, wanted: bool, first: int):
        self._first = first
        self._writer_class: Any = None
        if wanted:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise UsageError("--track: TensorBoard is not installed; pip install 'tuninglaw[track]'") from None
            self._writer_class = SummaryWriter
        self._writer: Any = None

    def log(self, directory: pathlib.Path, row: Row) -> None:
        """Writes the scalars of a row of ``metrics.csv``."""
        if self._writer_class is None:
            return
        if self._writer is None:
            self._writer = self._writer_class(str(directory), purge_step=self._first)
        for name, value in row.items():
            if "/" in name:
                self._writer.add_scalar(name, value, int(row["training_step"]))
        sps = row["env_steps"] / max(row["time/loop"], 1e-9)
        self._writer.add_scalar("charts/SPS", sps, int(row["training_step"]))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


TOO_LARGE = "f is too large, or below -1 where its logarithm is asked for"


def _results(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the lines of the table on how good the law is; None stands for what is not finite."""
    if all_failed(summary):
        return [("result", "every evaluation of f failed: nothing was learned, and the law is not to be used")]
    score, lines = summary["eval"], []
    failed = "f failed at all conditions, or " if summary["failed_evaluations"] else ""
    not_finite = f"not finite: {failed}{TOO_LARGE}"
    if score["final"] is not None:
        known = score["last_1000_mean"] is not None
        final, best, mean = told_apart(
            score["final"], score["best"], score["last_1000_mean"] if known else score["best"]
        )
        steps = "the last 1,000" if summary["training_steps"] > 1000 else "all"
        text = f"{final} (best {best}, mean of {steps} training steps {mean if known else 'not finite'})"
        lines.append(("result", f"{score['metric']} {text}"))
    if "not_finite" in score:
        best = "" if score["best"] is None else f"; the best of the others {score['best']:.4g}"
        lines.append(("result", f"{score['metric']} of {score['not_finite']} evaluations {not_finite}{best}"))
    if "regret" in summary:
        regret = summary["regret"]
        known = None not in regret.values()
        words = regret_words(regret["median"], regret["constant_median"]) if known else f"regret {not_finite}"
        lines.append(("result", words))
    return lines


def table(summary: dict[str, Any], timing: Timing, files: RunDir, pictures: list[str]) -> str:
    """Returns the short table at the end of a run."""
    lines = _results(summary)
    if "model" in summary:
        lines.append(("model", summary["model"]["words"]))
    if "check" in summary:
        lines.append(("check", summary["check"]["words"]))
    spent = f"{summary['env_steps']:,} env steps"
    if summary["objective_evaluations"]:
        spent += f", {summary['objective_evaluations']:,} evaluations of f"
        others = {"eval_evaluations": "to evaluate the law", "lost_evaluations": "of which nothing was recorded"}
        spent += "".join(f", {summary[name]:,} {what}" for name, what in others.items() if summary[name])
        if "check" in summary:
            spent += f", {summary['check']['evaluations']} to check it"
    lines.append(("spent", spent))
    if failed := summary["failed_evaluations"]:
        under_law = summary.get("regret", {}).get("failed", 0)
        also = f"; f fails under the law at {under_law} of the conditions of the regret" if under_law else ""
        lines.append(("failed", f"{failed:,} of {evaluations_of(summary):,} evaluations of f{also}"))
    parts = ", ".join(f"{phase} {timing.totals[phase]:.1f} s" for phase in PHASES)
    beside = f"; {timing.overlapped:.1f} s of collecting beside them" if timing.overlapped else ""
    lines.append(("time", f"{timing.loop:.1f} s: {parts}{beside}"))
    use = summary["resources"]
    processes = "1 process" if use["processes"] == 1 else f"{use['processes']} processes"
    usage = f"{use['cpu_percent']:.0f} % CPU, {use['peak_memory_mb']:,.0f} MB in {processes}"
    if "gpu_percent" in use:
        usage += f", {use['gpu_percent']:.0f} % GPU with at most {use['gpu_peak_memory_mb']:,.0f} MB"
    lines.append(("machine", usage))
    if summary["skipped_steps"]:
        lines.append(("skipped", f"{summary['skipped_steps']:,} updates whose values were not finite"))
    if summary["driver_restarts"]:
        lines.append(("drivers", f"{summary['driver_restarts']} died or hung and were replaced"))
    names = ("law.npz", "archive.bin", "metrics.csv", "summary.json")
    there = [name for name in names if (files.path / name).is_file()]
    lines.append(("files", f"{files.shown}: {', '.join([*there, *pictures])}"))
    if not matplotlib_installed():
        lines.append(("note", "no pictures without matplotlib: pip install 'tuninglaw[plot]'"))
    return "\n".join(f"{name:>8}  {text}" for name, text in lines)
