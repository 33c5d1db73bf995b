"""resolve() fills in defaults by family, algorithm and kind of advantages, checks each field, and is idempotent."""

import dataclasses
import pathlib

import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.config import GAEConfig, ResolvedConfig, SlotConfig
from ppo.config.budget import schedules
from ppo.config.file import read_config
from ppo.train import train
from ppo.training.run_dir import RunDir

REFERENCE = pathlib.Path(__file__).parents[3] / "runs" / "reference"
CASES = {
    "tuning": (Config(), SlotConfig),
    "tuning with gae": (Config(advantages="gae"), GAEConfig),
    "tuning with a reward": (Config(reward="improvement"), GAEConfig),
    "tuning in one time step": (Config(time_steps=1), GAEConfig),
    "another objective": (Config(env="tests.problems:Quadratic"), SlotConfig),
    "ten dimensions": (Config(env="ackley", dims=10, knobs=5, rank_fade=0.0, density_bandwidth=9.0), SlotConfig),
    "reinforce": (Config(algo="reinforce"), GAEConfig),
    "control": (Config(env="Pendulum-v1"), GAEConfig),
    "choices": (Config(env="CartPole-v1", time_steps=50), GAEConfig),
    "reinforce in control": (Config(env="CartPole-v1", algo="reinforce"), GAEConfig),
    "keywords": (Config(env="TempControl-v1", env_kwargs={"level": "high", "actions": True}), GAEConfig),
    "sizes of its own": (Config(env="hartmann", dims=4), SlotConfig),
    "a wrapped objective": (Config(env="noisy", env_kwargs={"of": "crossing-valleys", "valleys": 4}), SlotConfig),
    "a budget": (Config(evaluations=300), SlotConfig),
    "a budget and some of what it sets": (Config(evaluations=301, episodes=7, std_floor=0.5, warmup=0.3), SlotConfig),
    "a budget with gae": (Config(evaluations=1000, reward="improvement"), GAEConfig),
    "a budget with reinforce": (Config(evaluations=60, algo="reinforce"), GAEConfig),
    "a check": (Config(env="tests.problems:UnknownOptimum", evaluations=90, check=15), SlotConfig),
    "reuse": (Config(reuse=("runs/a", "table.csv"), eval_every=3), SlotConfig),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    """Each configuration with the type that it resolves to."""
    return request.param


def declared(config):
    """Returns the names of the fields that the classes between ``Config`` and the configuration's own declare."""
    kinds = [kind for kind in type(config).__mro__ if issubclass(kind, ResolvedConfig)]
    return {name for kind in kinds for name in vars(kind)["__annotations__"]}


def test_resolving_twice_changes_nothing(case):
    config, kind = case
    resolved = resolve(config)
    assert type(resolved) is kind
    assert type(resolve(resolved)) is kind
    assert resolve(resolved) == resolved


def test_a_stored_configuration_resolves_to_the_same(case, tmp_path):
    config, _ = case
    resolved = resolve(config)
    (tmp_path / "config.json").write_text(resolved.to_json())
    stored = read_config(tmp_path / "config.json")
    assert type(stored) is Config
    assert resolve(stored) == resolved
    assert stored.to_json() == resolved.to_json()


def test_no_field_that_a_resolved_type_declares_is_none(case):
    resolved = resolve(case[0])
    assert len(declared(resolved)) > 17
    assert {name for name in declared(resolved) if getattr(resolved, name) is None} == set()


def test_what_was_given_is_kept(case):
    config, _ = case
    assert {name: getattr(resolve(config), name) for name in config.changed()} == config.changed()


def test_the_configurations_of_reference_runs_resolve():
    paths = sorted(REFERENCE.rglob("config.json"))
    assert paths
    for path in paths:
        resolved = resolve(read_config(path))
        assert type(resolved) in (SlotConfig, GAEConfig)
        assert resolve(resolved) == resolved, path


def test_each_type_requires_all_that_it_declares():
    values = dataclasses.asdict(resolve(Config()))
    assert SlotConfig(**values) == resolve(Config())
    for name in declared(resolve(Config())):
        with pytest.raises(TypeError, match=name):
            SlotConfig(**{other: value for other, value in values.items() if other != name})


def test_fields_of_the_other_kind_of_advantages_stay_none():
    slot, gae, control = resolve(Config()), resolve(Config(advantages="gae")), resolve(Config(env="Pendulum-v1"))
    assert (slot.gamma, slot.reward, slot.transform) == (None, None, None)
    assert (slot.rank_fade, slot.density_bandwidth) == (0.03, 0.2)
    assert (gae.gamma, gae.reward, gae.transform) == (0.0, "objective", "symlog")
    assert (gae.rank_fade, gae.density_bandwidth) == (None, None)
    assert (control.reward, control.transform, control.rank_fade, control.dims, control.knobs) == (None,) * 5


def test_defaults_by_family_are_resolved_and_stored(tmp_path):
    tuning, control = resolve(Config()), resolve(Config(env="Pendulum-v1"))
    assert (tuning.advantages, tuning.time_steps, tuning.sampler, tuning.norm_obs) == ("slot", 2, "random", False)
    assert (control.gamma, control.time_steps, control.sampler, control.norm_obs) == (0.99, 200, "env", True)
    assert (control.training_steps, tuning.training_steps, tuning.episodes) == (250, 5000, 30)
    config = Config(training_steps=1, hidden_sizes=(4,))
    train(config, tmp_path, quiet=True, pictures=False)
    stored = RunDir(tmp_path).config()
    assert dataclasses.asdict(stored) == dataclasses.asdict(dataclasses.replace(resolve(config), gradients="compiled"))
    assert dataclasses.asdict(resolve(stored)) == dataclasses.asdict(stored)


def test_reinforce_takes_each_batch_once_and_whole():
    tuning, control = (resolve(Config(env=env, algo="reinforce")) for env in ("sphere", "CartPole-v1"))
    for config in (tuning, control):
        assert (config.update_epochs, config.num_minibatches, config.update_damping, config.warmup) == (1, 1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "episodes", "minibatches"),
    [({}, 20, 62), ({"time_steps": 50}, 80, 62), ({"episodes": 3}, 3, 9), ({"time_steps": 9000}, 1, 140)],
)
def test_control_takes_as_many_time_steps_for_any_slot(changes, episodes, minibatches):
    config = resolve(Config(env="Pendulum-v1", **changes))
    assert (config.episodes, config.num_minibatches) == (episodes, minibatches)


def test_an_objective_must_be_importable_by_the_drivers():
    with pytest.raises(UsageError, match="__main__"):
        resolve(Config(env="__main__:Mine"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank_fade": -0.1}, "--rank-fade -0.1: must be 0 or more"),
        ({"density_bandwidth": 0.0}, "--density-bandwidth 0.0: must be above 0"),
        ({"std_floor_power": 0.0}, "--std-floor-power 0.0: must be above 0"),
        ({"learning_rate_power": -1.0}, "--learning-rate-power -1.0: must be 0 or more"),
        ({"checkpoint_seconds": -1.0}, "--checkpoint-seconds -1.0: must be 0 or more"),
        ({"update_damping": 1.0}, "--update-damping 1.0: must be from 0 to below 1"),
        ({"advantages": "gae", "rank_fade": 0.1}, "--rank-fade 0.1: only with --advantages slot"),
        ({"env": "Pendulum-v1", "density_bandwidth": 0.1}, "--density-bandwidth 0.1: only with --advantages slot"),
        ({"advantages": "slot", "gamma": 0.5}, "--gamma 0.5: only with --advantages gae"),
        ({"advantages": "slot", "reward": "objective"}, "--reward objective: only with --advantages gae"),
        ({"advantages": "slot", "time_steps": 1}, "--advantages slot: compares the time steps of a slot"),
        ({"env": "Pendulum-v1", "advantages": "slot"}, "--advantages slot: only a tuning problem takes it"),
        ({"env": "Pendulum-v1", "first_layer": "law"}, "--first-layer law: only a tuning problem takes it"),
        ({"env": "Pendulum-v1", "evaluations": 300}, "--evaluations 300: only a tuning problem takes it"),
        ({"reuse": ("a",), "warm_start": "b"}, "--reuse and --warm-start: both say where the law starts from"),
        ({"env": "Pendulum-v1", "check": 60}, "--check 60: only a tuning problem takes it"),
        ({"env": "Pendulum-v1", "reuse": ("a",)}, "--reuse a: only a tuning problem takes it"),
        ({"env": "Pendulum-v1", "on_failure": "infeasible"}, "--on-failure infeasible: only a tuning problem takes it"),
        ({"check": 3}, "--check 3: must be at least 15, or 0 for no check"),
        ({"check": 14}, "--check 14: must be at least 15, or 0 for no check"),
        ({"check": -1}, "--check -1: must be 0 or more"),
        ({"evaluations": 0}, "--evaluations 0: must be at least 1"),
        ({"evaluations": 5}, "--evaluations 5: the least that a law can be trained with is 6"),
        ({"evaluations": 8, "reward": "improvement"}, "--evaluations 8: the least that a law can be trained with is 9"),
        (
            {"evaluations": 99, "episodes": 50, "model": "none"},
            "--evaluations 99: the least that a law can be trained with in steps of",
        ),
        ({"evaluations": 300, "training_steps": 10}, "--evaluations 300: sets the training steps by itself (15), so"),
    ],
)
def test_a_value_that_cannot_work_is_named_by_its_flag(changes, message):
    with pytest.raises(UsageError) as error:
        resolve(Config(**changes))
    assert str(error.value).startswith(message)


def test_a_budget_of_300_000_evaluations_without_a_model_has_the_defaults():
    budget = resolve(Config(evaluations=300_000, model="none"))
    assert budget == dataclasses.replace(resolve(Config()), evaluations=300_000, eval_every=0)


def test_a_budget_sets_what_is_not_given():
    budget = resolve(Config(model="none", evaluations=300))
    assert (budget.training_steps, budget.episodes, budget.eval_every) == (15, 10, 0)
    assert {name: getattr(budget, name) for name in schedules(150)} == schedules(150)
    given = {"episodes": 6, "std_floor": 0.2, "std_floor_final": 0.01, "std_floor_power": 0.7, "rank_fade": 0.0}
    given |= {"warmup": 0.4, "update_damping": 0.0, "eval_every": 5, "learning_rate": 0.1}
    for name, value in given.items():
        steps = 25 if name == "episodes" else 15
        final = {"std_floor_final": 0.04} if name == "std_floor" else {}  # a fifth of the first, here too
        expected = dataclasses.replace(budget, training_steps=steps, **{name: value}, **final)
        assert resolve(Config(model="none", evaluations=300, **{name: value})) == expected
    everything = resolve(Config(model="none", evaluations=300, **given))
    assert everything == dataclasses.replace(budget, training_steps=25, **given)


def test_a_budget_leaves_what_reinforce_does_without():
    budget, plain = resolve(Config(algo="reinforce", evaluations=300)), resolve(Config(algo="reinforce"))
    assert (budget.update_damping, budget.warmup) == (plain.update_damping, plain.warmup) == (0, 0)


@pytest.mark.parametrize("evaluations", range(3, 12))
def test_with_one_time_step_a_training_step_has_two_slots_at_least(evaluations):
    budget = resolve(Config(time_steps=1, evaluations=evaluations))
    assert budget.episodes >= 2
    assert budget.training_steps * budget.episodes <= evaluations


def test_no_field_of_the_other_kind_of_advantages_comes_from_a_budget():
    assert resolve(Config(evaluations=300, advantages="gae")).rank_fade is None


def test_sizes_may_come_as_keywords_of_a_built_in_objective():
    resolved = resolve(Config(env="rosenbrock", env_kwargs={"dims": 3}))
    assert (resolved.dims, resolved.knobs) == (None, 1)
    assert resolved.problem().describe().obs_dim == 3
    assert resolve(resolved) == resolved


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"env": "hartmann"}, (6, 4)),
        ({"env": "tuninglaw/Hartmann-v0", "dims": 3}, (3, 2)),
        ({"env": "hartmann", "knobs": 1}, (6, 1)),
        ({"env": "branin", "env_kwargs": {"given": 1}}, (2, 1)),
        ({"env": "crossing-valleys", "dims": 5}, (5, 1)),
        ({"env": "noisy"}, (2, 1)),
        ({"env": "noisy", "knobs": 3, "env_kwargs": {"of": "hartmann"}}, (6, 3)),
        ({"env": "noisy", "env_kwargs": {"of": "tests.problems:Quadratic"}}, (3, 2)),
    ],
)
def test_each_built_in_objective_has_its_own_default_sizes(given, sizes):
    resolved = resolve(Config(**given))
    assert (resolved.dims, resolved.knobs) == sizes
    assert resolve(resolved) == resolved
    described = resolved.problem().describe()
    assert (described.obs_dim, described.action_dim) == sizes


def test_sizes_that_cannot_be_are_named():
    for config, message in (
        (Config(env="sphere", dims=1), "--dims 1: at least 2"),
        (Config(env="hartmann", dims=5), "--dims 5: must be 3, 4 or 6"),
        (Config(env="noisy", env_kwargs={"of": "sfere"}), r"--env-kwargs of=sfere: unknown \(did you mean 'sphere'"),
    ):
        with pytest.raises(UsageError, match=f"^{message}"):
            resolve(config)


def test_old_checkpoints_are_named_where_one_is_needed(tmp_path):
    (tmp_path / "config.json").write_text('{"agreement": 0.8}')
    for flag in ("--resume", "--warm-start"):
        with pytest.raises(UsageError, match=f"{flag} .* whose checkpoints this version cannot use"):
            read_config(tmp_path / "config.json", flag)


@pytest.mark.parametrize("drivers", [0, 1, 2, "auto"])
def test_as_many_drivers_as_evaluations_may_be_under_way(drivers):
    keywords = {"env": "tests.problems:Instrument", "env_kwargs": {"address": "GPIB::7"}}
    assert resolve(Config(**keywords, drivers=drivers)).drivers == drivers


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_more_drivers_than_evaluations_may_be_under_way_are_told(backend):
    config = Config(
        env="tests.problems:Instrument", env_kwargs={"address": "GPIB::7"}, drivers=3, backend=backend
    )  # fmt: skip
    message = (
        "--drivers 3: --env tests.problems:Instrument says at_once = 2, as many evaluations of it may be under way; "
        "use --drivers 2 or auto"
    )
    with pytest.raises(UsageError, match=f"^{message}$"):
        resolve(config)
