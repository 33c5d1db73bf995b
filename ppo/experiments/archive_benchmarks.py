"""The figures of ``python -m ppo.bench`` on the archive: what it costs in a training step, how fast it is replayed."""

import dataclasses
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from ppo.config import Config, resolve
from ppo.data.recorder import Recorder
from ppo.experiments.workloads import STANDARD, step_ms, training
from ppo.training.trainer import Trainer

REPLAYED_STEPS, BLOCK = 1000, 20


def recording(cost_ms: float, steps: int, target: str) -> tuple[str, str, str, str]:
    """Measures the share of a training step that the archive takes, in this process.

    The calls of the recorder are timed one by one, since their share is smaller than what a noisy machine makes of two
    runs side by side.

    Args:
        cost_ms: milliseconds of an evaluation.
        steps: training steps to measure.
        target: text of the target.
    """
    config = dataclasses.replace(STANDARD, drivers=0, evaluation_cost_ms=cost_ms)
    with training(config) as trainer:
        recorder = trainer.rounds.recorder
        assert recorder is not None, "a tuning problem is archived"
        next(trainer)
        seconds = _timed(recorder)
        whole = step_ms(trainer, steps)
    archive = 1000 * sum(seconds) / steps
    return f"{archive:.2f} ms of {whole:.2f} ms", "-", f"{100 * archive / whole:.1f} %", target


def _timed(recorder: Recorder) -> list[float]:
    """Lets a recorder's calls be timed; returns the list to which each one adds its seconds."""
    seconds: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.perf_counter()
            result = function(*arguments)
            seconds.append(time.perf_counter() - started)
            return result

        return call

    for name in ("begin", "arrived", "end"):
        setattr(recorder, name, timed(getattr(recorder, name)))
    return seconds


def replay(target: str) -> tuple[str, str, str, str]:
    """Measures a training step of a training with the defaults, and of its replay from the archive alone, in turn."""
    config = resolve(Config(training_steps=REPLAYED_STEPS, eval_every=0, drivers=0))
    pairs = []
    with tempfile.TemporaryDirectory() as directory:
        played = pathlib.Path(directory, "played")
        with Trainer(config, played, quiet=True) as trainer:
            for _ in trainer:
                pass
        (played / "checkpoint.npz").unlink()
        trained = Trainer(config, pathlib.Path(directory, "trained"), quiet=True)
        replayed = Trainer(config, played, resume=True, quiet=True)
        with trained, replayed:
            while not trained.complete:
                pairs.append((step_ms(replayed, BLOCK), step_ms(trained, BLOCK)))
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return f"{ours:.2f} ms a step", f"{theirs:.2f} ms a step (trained)", f"{ratio:.2f} times", target
