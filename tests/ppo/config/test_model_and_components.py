"""A budget chooses a model where one can be used; what model and components need is told in one line."""

import dataclasses

import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.config import GAEConfig, SlotConfig
from ppo.config.budget import MODEL_COMPONENTS, planned_rounds, schedules
from ppo.config.file import read_config

CASES = {
    "components": Config(components=3),
    "components and their time steps": Config(components=3, time_steps=6),
    "components and a budget too small for a model": Config(env="hartmann", components=2, evaluations=20),
    "components and a budget without a model": Config(components=4, evaluations=500, model="none"),
    "a model by the budget": Config(evaluations=300),
    "a model of another objective": Config(env="tests.problems:Quadratic", evaluations=300),
    "a model of six coordinates": Config(env="hartmann", evaluations=2000, seed=3),
    "a model that is asked for": Config(evaluations=60_000, model="gp"),
    "a model of a small budget": Config(evaluations=7, model="gp"),
    "a model with other components": Config(evaluations=300, components=2),
    "a model with one component": Config(evaluations=300, components=1),
    "a model and some of what a budget sets": Config(evaluations=300, episodes=5, std_floor=0.2, warmup=0.3),
    "no model": Config(evaluations=300, model="none"),
    "neither": Config(components=1, model="none"),
    "neither in control": Config(env="Pendulum-v1", components=1, model="none"),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def config(request):
    """Each configuration."""
    return request.param


def test_resolving_twice_changes_nothing(config):
    resolved = resolve(config)
    assert resolve(resolved) == resolved
    assert type(resolved) is (GAEConfig if config.env == "Pendulum-v1" else SlotConfig)


def test_a_stored_configuration_resolves_to_the_same(config, tmp_path):
    (tmp_path / "config.json").write_text(resolve(config).to_json())
    assert resolve(read_config(tmp_path / "config.json")) == resolve(config)


def test_what_was_given_is_kept(config):
    assert {name: getattr(resolve(config), name) for name in config.changed()} == config.changed()


@pytest.mark.parametrize(
    ("given", "model"),
    [
        ({"evaluations": 300}, "gp"),
        ({"evaluations": 8}, "gp"),
        ({"evaluations": 7}, "none"),
        ({"evaluations": 1_000_000}, "gp"),
        ({"evaluations": 1_000_001}, "none"),
        ({"dims": 10, "knobs": 5, "evaluations": 1_000_000}, "gp"),
        ({"env": "hartmann", "evaluations": 23}, "none"),
        ({"env": "hartmann", "evaluations": 24}, "gp"),
        ({"evaluations": 300, "noise": "mirrored"}, "gp"),
        ({"evaluations": 300, "advantages": "slot"}, "gp"),
        ({"evaluations": 300, "components": 2}, "gp"),
        ({"evaluations": 300, "time_steps": 4}, "none"),
        ({"evaluations": 300, "time_steps": 1}, "none"),
        ({"evaluations": 300, "training_steps": 15}, "none"),
        ({"evaluations": 300, "advantages": "gae"}, "none"),
        ({"evaluations": 300, "reward": "improvement"}, "none"),
        ({"evaluations": 300, "gamma": 0.5}, "none"),
        ({"evaluations": 300, "algo": "reinforce"}, "none"),
        ({"evaluations": 300, "noise": "independent"}, "none"),
        ({}, "none"),
        ({"env": "Pendulum-v1"}, "none"),
    ],
)
def test_a_budget_chooses_a_model_where_nothing_speaks_against_it(given, model):
    resolved = resolve(Config(**given))
    assert resolved.model == model
    components = given.get("components", MODEL_COMPONENTS if model == "gp" else 1)
    assert resolved.components == components
    if model == "gp":
        assert resolved.time_steps == 2 * components
    assert resolve(resolved) == resolved


@pytest.mark.parametrize(("components", "time_steps"), [(1, 2), (2, 4), (5, 10)])
def test_a_slot_has_two_time_steps_for_each_component(components, time_steps):
    assert resolve(Config(components=components)).time_steps == time_steps
    resolved = resolve(Config(components=components, time_steps=time_steps))
    assert (resolved.time_steps, resolved.components, resolved.noise) == (time_steps, components, "mirrored")


@pytest.mark.parametrize("evaluations", [8, 100, 300, 5000])
@pytest.mark.parametrize("env", ["sphere", "tests.problems:Quadratic"])
def test_the_training_steps_of_a_model_are_its_rounds(env, evaluations):
    resolved = resolve(Config(env=env, evaluations=evaluations, model="gp"))
    rounds = planned_rounds(evaluations, resolved.problem().describe().obs_dim)
    assert resolved.training_steps == rounds[2]
    assert resolved.episodes >= 3
    per_slot = 2 * MODEL_COMPONENTS
    assert {name: getattr(resolved, name) for name in schedules(1)} == schedules(evaluations // per_slot)


@pytest.mark.parametrize(
    ("given", "sizes", "rate"),
    [
        ({"evaluations": 1_000_000}, (32, 32, 32), 6e-3),
        ({"evaluations": 1_000_001}, (64, 64, 64), 2e-3),
        ({"evaluations": 3_000_000, "hidden_sizes": (8,)}, (8,), 2e-3),
        ({"evaluations": 3_000_000, "advantages": "gae"}, (32, 32, 32), 6e-3),
        ({"training_steps": 50_000}, (32, 32, 32), 6e-3),
    ],
)
def test_a_budget_too_large_for_a_model_has_a_wider_network_that_learns_more_slowly(given, sizes, rate):
    config = resolve(Config(**given))
    assert (config.hidden_sizes, config.learning_rate) == (sizes, rate)


def test_a_budget_without_a_model_is_spent_in_slots_of_all_components():
    resolved = resolve(Config(evaluations=1000, components=3, model="none"))
    assert 900 <= resolved.training_steps * resolved.episodes * 6 <= 1000


@pytest.mark.parametrize(("components", "slots"), [(1, 30), (2, 16), (6, 16)])
def test_a_step_of_several_components_has_fewer_slots(components, slots):
    """The number near it is taken that leaves the least unspent."""
    resolved = resolve(Config(evaluations=100_000, components=components, model="none"))
    assert 0.8 * slots <= resolved.episodes <= 1.25 * slots


NEEDS = "needs --advantages slot and --noise mirrored"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"components": 0}, "--components 0: must be at least 1"),
        ({"components": 3, "advantages": "gae"}, f"--components 3: {NEEDS}"),
        ({"components": 3, "reward": "objective"}, f"--components 3: {NEEDS}"),
        ({"components": 3, "algo": "reinforce"}, f"--components 3: {NEEDS}"),
        ({"components": 3, "noise": "independent"}, f"--components 3: {NEEDS}"),
        ({"components": 3, "time_steps": 2}, "--time-steps 2: with --components 3 a slot has 6, two for each"),
        ({"components": 3, "time_steps": 8}, "--time-steps 8: with --components 3 a slot has 6, two for each"),
        ({"model": "gp"}, "--model gp: needs a budget, --evaluations N"),
        ({"model": "gp", "components": 1}, "--model gp: needs a budget, --evaluations N"),
        ({"model": "gp", "evaluations": 300, "advantages": "gae"}, f"--model gp: {NEEDS}"),
        ({"model": "gp", "evaluations": 300, "noise": "independent"}, f"--model gp: {NEEDS}"),
        ({"model": "gp", "evaluations": 300, "time_steps": 1}, f"--model gp: {NEEDS}"),
        (
            {"model": "gp", "evaluations": 300, "time_steps": 4},
            f"--time-steps 4: with --components {MODEL_COMPONENTS} a slot has {2 * MODEL_COMPONENTS}, two for each",
        ),
        (
            {"model": "gp", "evaluations": 100, "training_steps": 9},
            "--evaluations 100: sets the training steps by itself (5), so --training-steps 9 cannot be given",
        ),
        ({"env": "Pendulum-v1", "model": "gp"}, "--model gp: only a tuning problem takes it, and --env Pendulum-v1 is"),
        ({"env": "Pendulum-v1", "components": 2}, "--components 2: only a tuning problem takes it"),
    ],
)
def test_what_cannot_work_is_told_in_one_line_by_the_flag_that_was_given(changes, message):
    with pytest.raises(UsageError) as error:
        resolve(Config(**changes))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_other_fields_are_those_without_components():
    several, one = resolve(Config(components=3)), resolve(Config())
    assert dataclasses.replace(several, components=1, time_steps=2) == one
