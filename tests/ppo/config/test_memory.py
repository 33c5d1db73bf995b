"""The memory that a configuration asks for is counted by hand, and more than there is is blamed on a flag."""

import types

import psutil
import pytest

from actors import NetworkSpec
from env import UsageError
from ppo import Config, resolve
from ppo.config.memory import check_memory, needed_bytes

SMALL = {"hidden_sizes": (8, 4), "training_steps": 1}
SPEC = NetworkSpec(2, (8, 4), "tanh", "gaussian", 1)  # of Rosenbrock's function with one knob and one condition


def needed(**fields):
    config = resolve(Config(**(SMALL | fields)))
    return needed_bytes(config, config.problem().describe())


def test_bytes_by_hand():
    """60 time steps of 2 observations of 2 values, an action, its log-probability and a reward; 8 bytes a number."""
    assert needed() == {
        "--hidden-sizes 8 4": 8 * 5 * SPEC.size,
        "--episodes 30 --time-steps 2": 60 * 8 * (4 + 1 + 1 + 1) + 60 * 8 * (8 + 4),
        "--candidates 256": 8 * 256,
        "--check 0": 0,
        "--eval-episodes 20": 0,
    }


def test_what_the_layers_give_is_due_to_the_wider_of_batch_and_network():
    spec = NetworkSpec(2, (100,), "tanh", "gaussian", 1)
    assert needed(hidden_sizes=(100,))["--hidden-sizes 100"] == 8 * (5 * spec.size + 60 * 100)
    assert needed(hidden_sizes=(100,), components=3)["--episodes 30 --time-steps 6"] > 180 * 8 * 100


def test_what_else_takes_memory_counts():
    assert needed(sampler="uncertainty")["--candidates 256"] == 8 * 256 * 30 * 2
    assert needed(sampler="heterogeneous")["--candidates 256"] == 8 * 256 * 10 * 2
    assert needed(check=300)["--check 300"] == 8 * 2 * 100
    control = needed(env="CartPole-v1", episodes=3, time_steps=10)  # episodes of evaluations have up to 500 time steps
    assert control["--episodes 3 --time-steps 10"] == 30 * 8 * (8 + 1 + 1 + 1) + 30 * 8 * 12
    assert control["--eval-episodes 20"] == 20 * 500 * 8 * (8 + 1 + 1 + 1)


@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        ({"hidden_sizes": (5000, 5000)}, "--hidden-sizes 5000 5000"),
        ({"episodes": 10**7}, "--episodes 10000000 --time-steps 2"),
        ({"candidates": 10**9}, "--candidates 1000000000"),
        ({"check": 10**9}, "--check 1000000000"),
        ({"env": "CartPole-v1", "eval_episodes": 10**7}, "--eval-episodes 10000000"),
    ],
)
def test_more_than_there_is_is_blamed_on_a_flag(fields, blamed, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: types.SimpleNamespace(total=2**29))
    check_memory(resolve(Config(**SMALL)))
    with pytest.raises(UsageError, match=rf"^{blamed}: needs about \d+ GiB of memory, and this machine has 0.5$"):
        check_memory(resolve(Config(**(SMALL | fields))))


def test_runs_of_several_seeds_need_as_much_each(monkeypatch):
    config, alone = resolve(Config(**SMALL)), sum(needed().values())
    monkeypatch.setattr(psutil, "virtual_memory", lambda: types.SimpleNamespace(total=3 * alone))
    check_memory(config, 3)
    with pytest.raises(UsageError, match=r"--seeds with 4 runs: needs about 1 GiB of memory"):
        check_memory(config, 4)
