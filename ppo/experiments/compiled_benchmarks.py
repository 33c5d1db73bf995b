"""The figures of ``python -m ppo.bench`` that say what compiling is worth."""

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from actors.job import Kind, Task
from env.errors import UsageError
from ppo.algorithm.learner import policy_spec
from ppo.algorithm.model.imagined import imagining_collector
from ppo.algorithm.model.learner import ModelLearner
from ppo.config import Config, resolve
from ppo.experiments.workloads import STANDARD, Values, alternated, step_ms, training
from ppo.training.job import make_job

BLOCKS, STEPS, SLOTS = 7, 60, 64
KNOWN = 300  # evaluations that the model knows


def beside_jax(target: str) -> Values:
    """Measures the milliseconds of a training step beside those of a whole loop that JAX compiles, on one core."""
    try:
        from ppo.experiments.jax_loop import JaxLoop
    except ModuleNotFoundError:
        raise UsageError("ppo.bench: measures beside JAX; pip install 'tuninglaw[bench]'") from None
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with training(dataclasses.replace(STANDARD, drivers=0)) as trainer:
        step_ms(trainer, STEPS)
        peer = JaxLoop()
        ours, other = alternated(lambda: step_ms(trainer, STEPS), peer.step_ms, BLOCKS)
    return f"{ours:.2f} ms", f"{other:.2f} ms", f"{ours / other:.1f} times", target


def first_command(target: str) -> Values:
    """Measures the seconds of a training by the defaults, 5,000 steps in this process, with its start."""
    seconds = []
    with tempfile.TemporaryDirectory() as directory:
        # A cache of their own, so that the first one compiles.
        variables = os.environ | {"XDG_CACHE_HOME": directory, "NUMBA_CACHE_DIR": ""}
        for number in range(4):
            words = [sys.executable, "-m", "ppo.train", "--drivers", "0", "--quiet", "--no-pictures"]
            started = time.perf_counter()
            subprocess.run([*words, "--run-dir", f"{directory}/{number}"], check=True, env=variables)
            seconds.append(time.perf_counter() - started)
    return f"{statistics.median(seconds[1:]):.1f} s", "-", f"{seconds[0]:.1f} s the first time", target


def imagined_step(target: str) -> Values:
    """Measures the milliseconds of an imagined training step: 64 slots x 2 time steps over a model of 300 evaluations.

    The other side is the same with torch's gradients and slots that are rolled out as real ones are.
    """
    torch.set_num_threads(1)
    with threadpool_limits(1, "blas"):
        compiled, plain = _imagined("compiled"), _imagined("autograd")
        ours, other = alternated(compiled, plain, BLOCKS)
    return f"{ours:.2f} ms", f"{other:.2f} ms, not compiled", f"1/{other / ours:.1f}", target


def _imagined(gradients: str) -> Callable[[], float]:
    """Returns what takes imagined training steps and returns the milliseconds of one."""
    config = resolve(Config(env="rosenbrock", evaluations=KNOWN, components=1, gradients=gradients))  # type: ignore[arg-type]
    described = config.problem().describe()
    spec, job = policy_spec(config, described), make_job(config, np.zeros((1, described.obs_dim)))
    learner = ModelLearner(config, spec, job)
    states = np.random.default_rng(0).uniform(-1, 1, (KNOWN, spec.obs_dim))
    f = config.problem().objective()
    assert f is not None, "it is about tuning"
    learner.surrogate.evidence.add(states, f(states[:, : f.knobs], states[:, f.knobs :]))
    learner.surrogate.fit(learner.policy, learner.schedule.std_floor)
    collector = imagining_collector(job, spec.components, learner.surrogate, gradients, SLOTS)
    number = 0

    def step() -> None:
        nonlocal number
        collector.update(learner.snapshot())
        trajectory = collector.run(Task(Kind.IMAGINE, number, 0, SLOTS))
        learner.improve(trajectory, learner.schedule, number)
        number += 1

    def milliseconds() -> float:
        started = time.perf_counter()
        for _ in range(STEPS):
            step()
        return 1000 * (time.perf_counter() - started) / STEPS

    milliseconds()
    return milliseconds
