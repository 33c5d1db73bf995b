"""The figure of ``python -m ppo.bench`` that says what it costs to train ten seeds side by side."""

import dataclasses
import subprocess
import sys
import tempfile
import time

from ppo.config import Config
from ppo.experiments.workloads import BLOCKS, STANDARD, Values, alternated, median_ms, side_by_side, step_ms, training

SEEDS = range(71, 81)
ALONE = dataclasses.replace(STANDARD, drivers=0)
SLOW = dataclasses.replace(STANDARD, evaluation_cost_ms=20.0, drivers=16)


def ten_commands(target: str) -> Values:
    """Measures the seconds of the command with the defaults, in this process, for ten seeds and for one."""
    with tempfile.TemporaryDirectory() as directory:

        def seconds(name: str, *flags: str) -> float:
            words = [sys.executable, "-m", "ppo.train", "--drivers", "0", "--quiet", "--no-pictures", *flags]
            started = time.perf_counter()
            subprocess.run([*words, "--run-dir", f"{directory}/{name}"], check=True)
            return time.perf_counter() - started

        seconds("first", "--training-steps", "5")  # compiles, if nothing has yet
        before = seconds("before")
        ten = seconds("ten", "--seeds", f"{SEEDS.start}:{SEEDS.stop}")
        one = (before + seconds("after")) / 2
    return f"{ten:.1f} s", f"{one:.1f} s for one", f"{ten / one:.1f} times", target


def ten_seeds(config: Config, target: str) -> Values:
    """Measures the milliseconds of a training step of ten seeds side by side, and of one alone, without the start."""
    steps = 3 if config.evaluation_cost_ms else 40
    configs = [dataclasses.replace(config, seed=seed) for seed in SEEDS]
    with training(config) as alone, side_by_side(configs) as together:
        for _ in range(3):
            step_ms(alone, 1)
            together.step()
        ten, one = alternated(lambda: median_ms(together.step, steps), lambda: step_ms(alone, steps), BLOCKS)
    return f"{ten:.2f} ms", f"{one:.2f} ms for one", f"{ten / one:.1f} times", target
