"""A run ends in the same bits for any number of drivers and any backend, whichever drivers die."""

import dataclasses
import multiprocessing
import random
import threading
import time

import psutil
import pytest

from ppo import Config
from ppo.train import train
from tests.ppo.configs import TEMP_CONTROL

CONFIG = Config(training_steps=4, eval_every=2, norm_obs=True, candidates=16, hidden_sizes=(16, 16), update_epochs=2)
SAMPLERS = ("random", "lhs", "uncertainty", "heterogeneous")


def run(config, path):
    return train(config, path, quiet=True, pictures=False)


@pytest.mark.parametrize("episodes", [30, 64])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_same_bits_for_any_drivers_and_backend(sampler, episodes, tmp_path, bits):
    config = dataclasses.replace(CONFIG, sampler=sampler, episodes=episodes, num_minibatches=2)
    expected = bits(tmp_path / "0", run(config, tmp_path / "0"))
    assert len(expected[1]) == 2
    for backend in ("process", "thread"):
        for drivers in (1, 2, 3, 7, 16):
            path = tmp_path / f"{backend}-{drivers}"
            summary = run(dataclasses.replace(config, drivers=drivers, backend=backend), path)
            assert bits(path, summary) == expected, (backend, drivers)


@pytest.mark.parametrize(
    "changes",
    [
        {"env": "CartPole-v1", "episodes": 5, "time_steps": 60, "eval_episodes": 3},
        {"env": "Pendulum-v1", "episodes": 5, "time_steps": 60, "eval_episodes": 3},
        TEMP_CONTROL,
        {"env": "tests.problems:TwoDialsEnv", "episodes": 5, "time_steps": 8},
        {"env": "rosenbrock", "dims": 5, "knobs": 2, "sampler": "lhs:2,uncertainty:1", "time_steps": 3},
        {"env": "sphere", "sampler": "env"},
        {"env": "ackley", "advantages": "gae", "reward": "improvement"},
        {"env": "tests.problems:UnknownOptimum", "sampler": "tests.problems:CornerSampler"},
        {"env": "tests.chance:OwnChance"},
        {"env": "shifted-ackley", "algo": "reinforce", "update_epochs": None},
    ],
    ids=lambda changes: changes["env"],
)
def test_same_bits_for_any_problem(changes, tmp_path, bits):
    config = dataclasses.replace(CONFIG, **changes)
    expected = bits(tmp_path / "0", run(config, tmp_path / "0"))
    for drivers, backend in ((3, "process"), (4, "process"), (2, "thread")):
        path = tmp_path / f"{backend}-{drivers}"
        summary = run(dataclasses.replace(config, drivers=drivers, backend=backend), path)
        assert bits(path, summary) == expected


def test_another_seed_gives_other_bits(tmp_path, bits):
    a = bits(tmp_path / "a", run(CONFIG, tmp_path / "a"))
    b = bits(tmp_path / "b", run(dataclasses.replace(CONFIG, seed=1), tmp_path / "b"))
    assert a[0]["policy_sha256"] != b[0]["policy_sha256"]


class Killer(threading.Thread):
    """Kills a driver of this process, again and again."""

    def __init__(self, kills):
        super().__init__(daemon=True)
        self.kills, self.killed = kills, 0

    def run(self):
        dice = random.Random(0)
        while self.killed < self.kills:
            time.sleep(0.15)
            drivers = [process.pid for process in multiprocessing.active_children()]
            if drivers:
                psutil.Process(dice.choice(drivers)).kill()
                self.killed += 1


@pytest.mark.parametrize("sampler", ["random", "heterogeneous"])
def test_same_bits_when_drivers_are_killed_mid_run(sampler, tmp_path, bits):
    config = dataclasses.replace(CONFIG, training_steps=12, sampler=sampler, evaluation_cost_ms=5.0)
    free = dataclasses.replace(config, evaluation_cost_ms=0.0)
    expected = bits(tmp_path / "0", run(free, tmp_path / "0"))
    killer = Killer(kills=6)
    killer.start()
    summary = run(dataclasses.replace(config, drivers=3), tmp_path / "killed")
    assert killer.killed > 2
    assert summary["driver_restarts"] > 2
    assert bits(tmp_path / "killed", summary) == expected
