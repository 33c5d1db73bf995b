"""A row holds the held-out returns of what was trained, and other settings are another run."""

import dataclasses

import pytest

from env.controllers import PID
from ppo import Config, resolve
from ppo.experiments.stable_baselines3 import PeerSetup
from ppo.studies.control_runs import MeasuredTraining, RandomActionsRun, returns_of, rows_of, shortened
from ppo.studies.runs import run_all
from ppo.studies.tempcontrol_race import RaceRun

TEMPCONTROL = Config(
    env="TempControl-v1", env_kwargs={"load_rounds": 0}, training_steps=3, episodes=2, time_steps=50, drivers=0
)


def test_a_row_has_the_returns_of_the_policy_that_was_trained(tmp_path):
    config = Config(env="CartPole-v1", training_steps=2, episodes=2, time_steps=60, eval_every=1, drivers=0)
    runs = [MeasuredTraining("group", "pole", "plain", dataclasses.replace(config, seed=seed)) for seed in (1, 2)]
    first, second = run_all(tmp_path, runs)["group"]
    assert first["run"].startswith("group/pole/plain/1/")
    assert int(first["env steps"]) == 240
    assert len(first["curve"].split()) == 2
    assert len(returns_of(first)) == 100
    assert (returns_of(first) >= 8).all()
    assert first["policy sha256"] != second["policy sha256"]
    text = (tmp_path / "group.csv").read_text()
    assert run_all(tmp_path, runs)["group"] == [first, second]
    assert (tmp_path / "group.csv").read_text() == text


def test_other_settings_are_another_run():
    level = dataclasses.replace(TEMPCONTROL, env_kwargs={"load_rounds": 0, "level": "high"})
    keys = {
        run.key
        for run in (
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL),
            MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL, gamma=0.9)),
            MeasuredTraining("group", "v1", "plain", level),
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL, PeerSetup()),
            MeasuredTraining("group", "v1", "plain", TEMPCONTROL, PeerSetup(settings={"gamma": 0.9})),
            MeasuredTraining("group", "v1", "plain", level, PeerSetup()),
            RaceRun("group", "v1", "plain", TEMPCONTROL, None, (PID(0.1),)),
        )
    }
    assert len(keys) == 7
    assert MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL)).key in keys


def test_a_row_depends_on_the_defaults_and_not_on_where_it_runs():
    plain = MeasuredTraining("group", "v1", "plain", TEMPCONTROL)
    given = resolve(TEMPCONTROL).gamma
    assert plain.settings["gamma"] == given
    assert MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL, gamma=given)).key == plain.key
    assert MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL, drivers=2)).key == plain.key


def test_a_shortened_training_has_a_few_steps():
    config = Config(env="Pendulum-v1", env_steps=150_000)
    resolved = resolve(shortened(config))
    assert 2 <= resolved.training_steps < resolve(config).training_steps / 3


def test_the_seed_is_in_the_name_and_not_in_the_digest():
    keys = [
        MeasuredTraining("group", "v1", "plain", dataclasses.replace(TEMPCONTROL, seed=seed)).key for seed in (1, 2)
    ]
    assert keys[0].split("/")[:4] == ["group", "v1", "plain", "1"]
    assert keys[0].replace("/1/", "/2/") == keys[1]


def test_random_actions_are_a_row_like_any_other(tmp_path):
    config = Config(env="CartPole-v1", drivers=0)
    (row,) = run_all(tmp_path, [RandomActionsRun("group", "pole", "chance", config)])["group"]
    assert returns_of(row).mean() == pytest.approx(22, abs=5)  # as is known of it


def test_rows_are_found_by_problem_and_variant():
    rows = [{"problem": problem, "variant": variant} for problem in "ab" for variant in "xy"] * 2
    assert rows_of(rows, "a", "y") == [{"problem": "a", "variant": "y"}] * 2
