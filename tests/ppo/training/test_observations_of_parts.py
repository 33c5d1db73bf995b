"""Observations of several parts: any number of drivers gives the same policy, which takes them as they are shown."""

import dataclasses

import numpy as np
import pytest
from gymnasium import spaces

from actors.control_policy import ControlPolicy
from actors.law_file import load_snapshot
from actors.load import load
from actors.policy import Policy
from ppo import Config
from ppo.train import train
from tests.observing import SeesParts, SeesTuple

SMALL = Config(env="tests.observing:SeesParts", training_steps=3, episodes=6, hidden_sizes=(8,), eval_episodes=3)


@pytest.mark.parametrize("kind", [SeesParts, SeesTuple])
def test_any_number_of_drivers_gives_the_same_policy(kind, bits, tmp_path):
    config, found = dataclasses.replace(SMALL, env=f"tests.observing:{kind.__name__}"), []
    for drivers, backend in ((0, "process"), (2, "process"), (3, "thread")):
        path = tmp_path / f"{backend}-{drivers}"
        run = dataclasses.replace(config, drivers=drivers, backend=backend)
        found.append(bits(path, train(run, path, quiet=True, pictures=False)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", [SeesParts, SeesTuple])
def test_a_policy_takes_what_the_environment_shows(kind, tmp_path):
    config = dataclasses.replace(SMALL, env=f"tests.observing:{kind.__name__}", drivers=0)
    train(config, tmp_path, quiet=True, pictures=False)
    policy, env = load(tmp_path), kind()
    assert isinstance(policy, ControlPolicy)
    assert policy.observation_space == kind.observation_space
    if kind is SeesParts:
        assert list(policy.observation_space.spaces) == ["speed", "place", "dials", "alarm"]
    bare = Policy(load_snapshot(tmp_path / "law.npz"))
    obs, _ = env.reset(seed=0)
    actions = []
    for seed in range(20):
        flat = np.asarray(spaces.flatten(kind.observation_space, obs), np.float64)
        actions.append(policy(obs))
        assert actions[-1] == 1 + bare.mode(flat[None])[0, 0]
        assert env.action_space.contains(actions[-1])
        obs, _ = env.reset(seed=seed)
    assert len(set(actions)) > 1  # so that another order of the parts would be seen


def test_it_learns_to_tell_the_parts_apart(tmp_path):
    config = Config(env="tests.observing:SeesParts", training_steps=25, episodes=32, hidden_sizes=(16,), drivers=0)
    summary = train(config, tmp_path, quiet=True, pictures=False)
    assert summary["eval"]["best"] > 5  # of 6; 2 are had without looking
