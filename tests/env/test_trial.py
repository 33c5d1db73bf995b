"""An environment is tried before a run: its time limit is found, and nothing that the run draws is touched."""

import random

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env import Problem
from env.starts import Row
from env.trial import Trial, try_episodes
from tests.mistaken import EndsByChance, FiveSteps, NeverEnds
from tests.problems import CountdownEnv


class Counts(FiveSteps):
    """Counts resets and steps of all instances, and draws from its action space as it is made."""

    resets = steps = 0
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        Counts.resets += 1
        return super().reset(seed=seed)

    def step(self, action):
        Counts.steps += 1
        random.random()
        np.random.random()  # noqa: NPY002
        return super().step(action)


@pytest.mark.parametrize(("env", "length"), [("tests.mistaken:FiveSteps", 5), ("tests.problems:TwoDialsEnv", 8)])
def test_a_limit_that_is_not_registered_is_found(env, length):
    assert Problem(env).slot_length() == length
    assert Problem(env, time_steps=3).slot_length() == 3
    assert Problem(env).describe().episode_limit is None  # which evaluations would be lengthened to


def test_what_is_tried_ends_after_five_truncated_episodes():
    assert try_episodes(Row(FiveSteps())) == Trial(25, 0, (5,) * 5)


def test_an_environment_that_terminates_or_goes_on_has_no_limit():
    found = try_episodes(Row(CountdownEnv()))
    assert (found.time_steps, found.longest, found.cut, found.limit) == (5000, 6, (), None)
    assert "its longest episode had 6; give --time-steps 6 or more" in found.words()
    assert try_episodes(Row(NeverEnds())) == Trial(5000, 0, ())


def test_a_truncation_that_is_not_always_as_late_is_no_limit():
    found = try_episodes(Row(EndsByChance()))
    assert len(set(found.cut)) > 1
    assert found.limit is None
    assert found == try_episodes(Row(EndsByChance()))
    assert Trial(90, 31, (30, 30)).limit is None  # it was longer once, and terminated
    assert Trial(90, 12, (30, 30)).limit == 30


def test_it_takes_no_longer_than_it_may(monkeypatch):
    monkeypatch.setattr("env.trial.SECONDS", -1)
    assert try_episodes(Row(FiveSteps())) == Trial(0, 0, ())


def test_it_resets_and_steps_once_for_a_description_and_leaves_random_numbers_alone():
    name = f"{__name__}:Counts"
    states = random.getstate(), np.random.get_state()[1].tolist(), Counts.action_space.np_random.bit_generator.state  # noqa: NPY002
    Problem(name, time_steps=4).describe()
    assert (Counts.resets, Counts.steps) == (1, 1)
    Problem(name, time_steps=9).describe()
    assert (Counts.resets, Counts.steps) == (1, 1)
    assert Problem(name).slot_length() == Problem(name).slot_length() == 5
    assert (Counts.resets, Counts.steps) == (7, 26)  # the sixth episode is begun
    now = random.getstate(), np.random.get_state()[1].tolist(), Counts.action_space.np_random.bit_generator.state  # noqa: NPY002
    assert now == states


def test_gymnasiums_own_environments_are_not_tried(monkeypatch):
    def step(self, action):
        raise AssertionError("stepped")

    monkeypatch.setattr(gymnasium.envs.classic_control.PendulumEnv, "step", step)
    assert Problem("Pendulum-v1", env_kwargs={"g": 9.0}).slot_length() == 200
