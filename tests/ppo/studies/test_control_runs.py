import dataclasses

import numpy as np
import pytest

from env.controllers import PID, Constant
from ppo import Config
from ppo.evaluation.held_out import held_out_returns, without_load
from ppo.experiments.stable_baselines3 import PeerSetup
from ppo.studies import race
from ppo.studies.control_runs import MeasuredTraining, RandomActionsRun, returns_of
from ppo.studies.tempcontrol_race import RaceRun
from ppo.studies.training_runs import run_all

TEMPCONTROL = Config(
    env="TempControl-v1", env_kwargs={"load_rounds": 0}, training_steps=3, episodes=2, time_steps=50, drivers=0
)


def test_a_row_has_the_returns_of_the_policy_that_was_trained(tmp_path):
    config = Config(env="CartPole-v1", training_steps=2, episodes=2, time_steps=60, eval_every=1, drivers=0)
    cells = [MeasuredTraining("group", "pole", "plain", dataclasses.replace(config, seed=seed)) for seed in (1, 2)]
    first, second = run_all(tmp_path, cells)["group"]
    assert first["cell"].startswith("group/pole/plain/1/")
    assert int(first["env steps"]) == 240
    assert len(first["curve"].split()) == 2
    assert len(returns_of(first)) == 100
    assert (returns_of(first) >= 8).all()
    assert first["policy sha256"] != second["policy sha256"]
    text = (tmp_path / "group.csv").read_text()
    assert run_all(tmp_path, cells)["group"] == [first, second]
    assert (tmp_path / "group.csv").read_text() == text


def test_a_policy_is_measured_without_the_load():
    loaded = dataclasses.replace(TEMPCONTROL, env_kwargs={"level": "low", "load_rounds": 9}).problem()
    assert without_load(loaded).env_kwargs == ("level=low", "load_rounds=0")
    other = Config(env="CartPole-v1").problem()
    assert without_load(other) is other


def test_a_race_ends_with_the_last_training_step_or_once_the_mark_is_passed():
    def raced(*rivals):
        return dict(zip(race.COLUMNS, RaceRun("race", "v1", "plain", TEMPCONTROL, None, rivals).run(), strict=True))

    row = raced(PID(0.083, 40.0))
    assert (row["passed"], row["env steps"]) == (False, 300)
    assert float(row["return"]) < float(row["PID"])
    assert float(row["PID"]) == pytest.approx(-2800, abs=150)
    row = raced(Constant(-1.0))
    assert (row["passed"], row["env steps"]) == (True, 100)
    coldest = held_out_returns(TEMPCONTROL.problem(), Constant(-1.0), race.EPISODES).mean()
    assert float(row["PID"]) == pytest.approx(coldest, abs=0.1)
    assert float(row["return"]) > coldest


def test_other_settings_are_another_run():
    keys = {
        cell.key
        for cell in (
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL),
            MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL, gamma=0.9)),
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL, PeerSetup()),
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL, PeerSetup(settings={"gamma": 0.9})),
            RaceRun("group", "v1", "plain", TEMPCONTROL, None, (PID(0.1),)),
        )
    }
    assert len(keys) == 5
    assert MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL)).key in keys


def test_chance_is_a_row_like_any_other(tmp_path):
    config = Config(env="CartPole-v1", drivers=0)
    (row,) = run_all(tmp_path, [RandomActionsRun("group", "pole", "chance", config)])["group"]
    assert returns_of(row).mean() == pytest.approx(22, abs=5)  # as is known of it


def test_other_seeds_are_other_episodes():
    problem = TEMPCONTROL.problem()
    a, b = (held_out_returns(problem, Constant(0.0), 3, seed) for seed in (0, 1))
    assert not np.isclose(a, b).any()
