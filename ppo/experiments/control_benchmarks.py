"""The figures of ``python -m ppo.bench`` on Gymnasium's tasks."""

import dataclasses
import math
import os
import pathlib
import statistics
import time
from collections.abc import Callable

import gymnasium
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from env.errors import UsageError
from env.make import Problem
from ppo.config import Config
from ppo.evaluation.held_out import TrainedPolicy, held_out_returns
from ppo.experiments.cleanrl import run_cleanrl
from ppo.experiments.stable_baselines3 import PeerSetup, StableBaselines3PPO
from ppo.experiments.workloads import Values, alternated, training

HALF_CHEETAH = Config(
    env="HalfCheetah-v5",
    training_steps=500,
    episodes=10,
    time_steps=200,
    learning_rate=6e-4,
    num_minibatches=16,
    gamma=0.98,
    gae_lambda=0.92,
    init_std=0.3,
)
HALF_CHEETAH_PEER = PeerSetup(  # with the same discount, lambda and initial std
    normalise={"gamma": 0.98},
    settings={"gamma": 0.98, "gae_lambda": 0.92, "policy_kwargs": {"log_std_init": math.log(0.3)}},
)
CART_POLE = "CartPole-v1"
SOLVED, EPISODES = 475.0, 20
MOST_STEPS = 200_000
SEEDS = range(71, 76)
STEPS = 3
CLEANRL = "CLEANRL_PPO"
"""Environment variable with the path of CleanRL's ``ppo.py``, if that is to be measured too."""


def half_cheetah(drivers: int, target: str) -> Values:
    """Measures the time steps a second of training on HalfCheetah-v5."""
    try:
        gymnasium.make("HalfCheetah-v5").close()
    except gymnasium.error.Error:
        raise UsageError("ppo.bench: trains on HalfCheetah-v5; pip install 'tuninglaw[mujoco]'") from None
    config = dataclasses.replace(HALF_CHEETAH, drivers=drivers, eval_every=0)
    with training(config) as trainer:
        next(trainer)
        peer = StableBaselines3PPO(lambda: gymnasium.make("HalfCheetah-v5"), HALF_CHEETAH_PEER, 0)
        peer.train(2048)

        def ours() -> float:
            started, before = time.perf_counter(), trainer.learner.env_steps
            for _ in range(STEPS):
                next(trainer)
            return (trainer.learner.env_steps - before) / (time.perf_counter() - started)

        def theirs() -> float:
            started = time.perf_counter()
            peer.train(2048)
            return 2048 / (time.perf_counter() - started)

        here, there = alternated(ours, theirs)
        peer.close()
    return f"{here:,.0f} a second", f"{there:,.0f} a second", f"1/{here / there:.1f}", target


def cart_pole(target: str) -> Values:
    """Measures the seconds of training until the mean of 20 held-out episodes of CartPole-v1 is 475.

    Each side has its defaults; it is looked at after each of its updates, which is not counted. Medians of 5 seeds.
    """
    torch.set_num_threads(1)
    script = os.environ.get(CLEANRL)
    with threadpool_limits(1, "blas"):
        sides = {"this": _ours, "Stable-Baselines3": _stable_baselines3}
        if script:
            sides["CleanRL"] = lambda seed: _cleanrl(pathlib.Path(script), seed)
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in sides}
        for seed in SEEDS:
            for name, measure in sides.items():
                found[name].append(measure(seed))
    seconds = {name: statistics.median(took for took, _ in runs) for name, runs in found.items()}
    steps = {name: statistics.median(steps for _, steps in runs) for name, runs in found.items()}
    shown = [f"{seconds[name]:.2f} s ({steps[name]:,.0f} time steps)" for name in sides]
    ours, *peers = sides
    ratios = [f"{'' if name == peers[0] else f'{name} '}1/{seconds[name] / seconds[ours]:.1f}" for name in peers]
    others = "; ".join(
        words if name == peers[0] else f"{name} {words}" for name, words in zip(peers, shown[1:], strict=True)
    )
    return shown[0], others, ", ".join(ratios), target


class _Watch:
    """Counts the seconds of a training, without those in which it is looked at."""

    def __init__(self) -> None:
        self._problem = Problem(CART_POLE)
        self._started, self._looking = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started - self._looking

    def solved(self, act: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Returns whether the likeliest actions reach the mean return."""
        began = time.perf_counter()
        mean = held_out_returns(self._problem, _Acting(act), EPISODES).mean()
        self._looking += time.perf_counter() - began
        return bool(mean >= SOLVED)


class _Acting:
    """A controller of a function (``ppo.evaluation.held_out.Controller``)."""

    def __init__(self, act: Callable[[np.ndarray], np.ndarray]):
        self.act = act

    def reset(self, rows: int) -> None:
        """Starts episodes."""


def _ours(seed: int) -> tuple[float, int]:
    with training(Config(env=CART_POLE, drivers=0, seed=seed, eval_every=0)) as trainer:
        watch = _Watch()
        for _ in trainer:
            over = trainer.learner.env_steps >= MOST_STEPS
            if over or watch.solved(TrainedPolicy(trainer.learner.policy, trainer.job.problem).act):
                break
        return watch.seconds, trainer.learner.env_steps


def _stable_baselines3(seed: int) -> tuple[float, int]:
    peer, watch = StableBaselines3PPO(lambda: gymnasium.make(CART_POLE), PeerSetup(), seed), _Watch()
    while peer.model.num_timesteps < MOST_STEPS:
        peer.train(2048)
        if watch.solved(peer.act):
            break
    peer.close()
    return watch.seconds, peer.model.num_timesteps


def _cleanrl(script: pathlib.Path, seed: int) -> tuple[float, int]:
    watch, steps = _Watch(), 0

    def updated(act: Callable[[np.ndarray], np.ndarray], done: int) -> bool:
        nonlocal steps
        steps = done
        return done >= MOST_STEPS or watch.solved(act)

    run_cleanrl(script, seed, updated)
    return watch.seconds, steps
