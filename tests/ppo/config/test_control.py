"""Defaults of control follow rules: by the time limit, the spaces, the sampler, and the budget of time steps."""

import dataclasses

import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.config.command_line import parse
from ppo.config.control import slot_length


def sizes(**given):
    config = resolve(Config(**given))
    return config.training_steps, config.episodes, config.time_steps


def test_a_budget_of_time_steps_is_never_exceeded_and_almost_spent():
    for budget in (200, 3_333, 20_000, 149_999, 1_000_000, 7_654_321):
        steps, slots, length = sizes(env="Pendulum-v1", env_steps=budget)
        assert budget - slots * length < steps * slots * length <= budget


def test_batch_and_rate_follow_the_budget():
    rates = {budget: resolve(Config(env="Pendulum-v1", env_steps=budget)).learning_rate for budget in (4_000, 10**6)}
    assert rates == {4_000: 3e-3, 10**6: 6e-4}
    quarter = resolve(Config(env="Pendulum-v1", env_steps=250_000))
    assert quarter.learning_rate == pytest.approx(6e-4 * 4**0.3)
    few = resolve(Config(env="Pendulum-v1", env_steps=50_000))
    assert few.learning_rate == pytest.approx(6e-4 * 20**0.3 * 2 ** (1 / 4))
    assert quarter.episodes * quarter.time_steps == 4000 / 2
    assert sizes(env="Pendulum-v1", env_steps=4_000_000) == (500, 40, 200)
    assert sizes(env="Pendulum-v1") == (250, 20, 200) == sizes(env="Pendulum-v1", env_steps=1_000_000)


def test_what_is_given_stays_and_the_budget_is_kept():
    assert sizes(env="Pendulum-v1", env_steps=20_000, episodes=3) == (33, 3, 200)
    assert sizes(env="Pendulum-v1", env_steps=20_000, time_steps=50) == (36, 11, 50)
    assert sizes(env="Pendulum-v1", training_steps=7) == (7, 20, 200)
    assert resolve(Config(env="Pendulum-v1", env_steps=20_000, learning_rate=1e-5)).learning_rate == 1e-5


def test_a_sampler_of_starts_makes_slots_of_a_fifth_of_an_episode():
    own, sampled = (sizes(env="TempControl-v1", **given)[1:] for given in ({}, {"sampler": "lhs"}))
    assert own == (8, 500)
    assert sampled == (40, 100)
    seven = dataclasses.replace(Config(env="TempControl-v1").problem().describe(), episode_limit=7)
    assert slot_length(Config(env="TempControl-v1", sampler="random"), seven, 7) == 2
    unlimited = dataclasses.replace(seven, episode_limit=None)
    assert slot_length(Config(env="TempControl-v1", sampler="random"), unlimited, 7) == 7
    assert sizes(env="TempControl-v1", sampler="lhs", time_steps=500)[1:] == (8, 500)


@pytest.mark.parametrize(
    ("env", "std", "gae_lambda"), [("Pendulum-v1", 1.0, 0.95), ("tests.problems:WideEnv", 2**-0.5, 0.9)]
)
def test_an_action_of_several_values_has_less_noise_and_a_lower_lambda(env, std, gae_lambda):
    for steps in (10**6, 25_000):
        config = resolve(Config(env=env, time_steps=10, env_steps=steps))
        assert (config.init_std, config.gae_lambda) == (pytest.approx(std), gae_lambda)


@pytest.mark.parametrize(("steps", "gae_lambda"), [(10**6, 0.95), (100_000, 0.95), (25_000, 0.975)])
def test_with_few_time_steps_and_parts_of_episodes_lambda_is_nearer_to_1(steps, gae_lambda):
    resolved = {
        sampler: resolve(Config(env="TempControl-v1", sampler=sampler, env_steps=steps)).gae_lambda
        for sampler in ("env", "lhs", "heterogeneous")
    }
    assert resolved == {"env": 0.95, "lhs": pytest.approx(gae_lambda), "heterogeneous": pytest.approx(gae_lambda)}


@pytest.mark.parametrize("steps", [10**6, 20_000])
def test_where_starts_explore_there_is_less_noise(steps):
    stds = {
        sampler: resolve(Config(env="TempControl-v1", sampler=sampler, env_steps=steps)).init_std
        for sampler in ("env", "lhs", "random")
    }
    assert stds == {"env": 1, "lhs": 0.7, "random": 0.7}


@pytest.mark.parametrize(
    ("sampler", "std"),
    [
        ("env", "free"),
        ("lhs", "free"),
        ("random:2,lhs:1", "free"),
        ("heterogeneous", "state"),
        ("lhs,uncertainty:2", "state"),
    ],
)
def test_a_sampler_that_asks_the_policy_needs_a_std_of_the_state(sampler, std):
    assert resolve(Config(env="TempControl-v1", sampler=sampler)).std == std


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"env": "Pendulum-v1", "env_steps": 199}, "--env-steps 199: a training step has 200 time steps"),
        ({"env": "Pendulum-v1", "env_steps": 20_000, "training_steps": 7}, "--training-steps 7 cannot be given"),
        ({"env": "Pendulum-v1", "env_steps": 0}, "--env-steps 0: must be at least 1"),
        ({"env_steps": 20_000}, "--env-steps 20000: a tuning problem does not take it, and"),
        ({"std": "free", "sampler": "heterogeneous"}, "--std free: is the same in all states, and --sampler"),
    ],
)
def test_what_cannot_work_is_told(given, words):
    with pytest.raises(UsageError) as told:
        resolve(Config(**given))
    assert words in str(told.value)


def test_a_stored_run_is_repeated_with_another_budget(tmp_path):
    (tmp_path / "config.json").write_text(resolve(Config(env="Pendulum-v1", env_steps=20_000, gamma=0.9)).to_json())
    again = parse(["--config", str(tmp_path / "config.json"), "--env-steps", "300000", "--episodes", "3"]).to_config()
    assert resolve(again) == resolve(Config(env="Pendulum-v1", env_steps=300_000, episodes=3, gamma=0.9))
