"""Learners of several components without a model, and the rounds that they learn from."""

import numpy as np

from actors.job import Task
from actors.rollout import Collector
from ppo import Config, resolve
from ppo.algorithm.model import make_learner
from ppo.training.job import make_job

SMALL = {"training_steps": 40, "episodes": 8, "hidden_sizes": (8,), "update_epochs": 3}


def learner_and_collector(components=3, env="tests.problems:TwoValleys", **changes):
    config = resolve(Config(env=env, components=components, **(SMALL | changes)))
    job = make_job(config, np.zeros((1, config.problem().describe().obs_dim)))
    return make_learner(config, job), Collector(job)


def collect(learner, collector):
    collector.update(learner.round_snapshot())
    return collector.run(Task(learner.kind, learner.step, 0, learner.config.episodes))


def learned(learner, collector, steps):
    """Learns for so many training steps; returns the scalars of the last."""
    scalars = {}
    for _ in range(steps):
        scalars = learner.learn(collect(learner, collector))
    return scalars
