"""What a run leaves is loaded by its directory: a policy that acts as the evaluation's, and says how it came about."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import tuninglaw
from actors import Policy
from actors.control_policy import ControlPolicy
from actors.law_file import load_snapshot, read_law
from ppo import Config
from ppo.evaluation.held_out import TrainedPolicy
from ppo.train import train

QUICK = {"training_steps": 2, "episodes": 4, "eval_every": 0, "hidden_sizes": (8,), "update_epochs": 1, "drivers": 0}
CONTROL = {
    "CartPole-v1": Config(env="CartPole-v1", time_steps=60, **QUICK),
    "Pendulum-v1": Config(env="Pendulum-v1", time_steps=30, **QUICK),
    "FrozenLake-v1": Config(env="FrozenLake-v1", time_steps=20, **QUICK),
    "tests.problems:TwoDialsEnv": Config(env="tests.problems:TwoDialsEnv", time_steps=8, **QUICK),
}


@pytest.fixture(scope="module", params=CONTROL)
def trained(request, tmp_path_factory):
    """A run on an environment: its configuration, its directory and its summary."""
    path = tmp_path_factory.mktemp("control") / "run"
    return CONTROL[request.param], path, train(CONTROL[request.param], path, quiet=True, pictures=False)


def test_a_loaded_policy_takes_the_actions_of_the_evaluation(trained):
    config, path, _ = trained
    policy, snapshot = tuninglaw.load(path), load_snapshot(path / "law.npz")
    assert isinstance(policy, ControlPolicy) and snapshot.obs_mean is not None
    evaluated = TrainedPolicy(Policy(snapshot), config.problem())
    make = config.problem().make_single
    shown, flat = make().unwrapped, make()
    obs, _ = shown.reset(seed=3)
    row, _ = flat.reset(seed=3)
    for _ in range(8):
        action = policy(obs)
        assert shown.action_space.contains(action)
        assert np.array_equal(action, evaluated.act(np.asarray(row, np.float64)[None])[0])
        obs, _, over, _, _ = shown.step(action)
        row = flat.step(action)[0]
        if over:
            break


def test_a_loaded_policy_knows_its_spaces(trained):
    config, path, _ = trained
    policy, env = tuninglaw.load(path / "law.npz"), config.problem().make_single().unwrapped
    assert (policy.observation_space, policy.action_space) == (env.observation_space, env.action_space)


@pytest.mark.parametrize("obs", [np.zeros(5), np.zeros((2, 4)), "up", None, [[1.0]]])
def test_what_is_no_observation_is_told_in_one_line(obs, trained):
    policy = tuninglaw.load(trained[1])
    if policy.observation_space.shape == (4,):
        with pytest.raises(ValueError, match="an observation ") as caught:
            policy(obs)
        assert "\n" not in str(caught.value)


def test_the_file_says_how_it_came_about(trained):
    config, path, summary = trained
    about = tuninglaw.load(path).about
    assert about.problem["env"] == config.env and about.knobs is None
    assert about.provenance["policy_sha256"] == summary["policy_sha256"]
    assert about.provenance["config"]["hidden_sizes"] == [8] and about.provenance["env_steps"] == summary["env_steps"]


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """The directory of a run on Pendulum-v1, and observations."""
    path = tmp_path_factory.mktemp("pendulum") / "run"
    train(CONTROL["Pendulum-v1"], path, quiet=True, pictures=False)
    return path, np.random.default_rng(0).uniform(-8, 8, (50, 3))


def test_actions_are_scaled_to_the_bounds_of_the_environment(pendulum):
    """Those of a pendulum are 2."""
    path, obs = pendulum
    policy, env = tuninglaw.load(path), gymnasium.make("Pendulum-v1")
    assert all(env.action_space.contains(policy(row)) for row in obs)
    modes = np.clip(Policy(load_snapshot(path / "law.npz")).mode(obs), -1, 1)
    assert np.array([policy(row) for row in obs]) == pytest.approx(2 * modes, abs=1e-6)


def test_the_normaliser_is_part_of_a_policy(pendulum):
    path, obs = pendulum
    snapshot, about = read_law(path / "law.npz")
    policies = ControlPolicy(snapshot, about), ControlPolicy(replace(snapshot, obs_mean=None, obs_var=None), about)
    assert not any(np.array_equal(policies[0](row), policies[1](row)) for row in obs)


TUNED = Config(env="tests.problems:converter", evaluations=48, check=15, hidden_sizes=(8,), drivers=0, seed=5)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A run on a described function: its directory and its summary."""
    from tests.ppo.algorithm.model.quick import quick

    path = tmp_path_factory.mktemp("tuned") / "run"
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        return path, train(TUNED, path, quiet=True, pictures=False)


def test_a_law_of_a_run_is_asked_in_units(tuned):
    law = tuninglaw.load(tuned[0])
    found = law(load=12, warm=1)
    assert list(found) == ["stages", "trim", "mode"] and 0 <= found["trim"] <= 1
    assert type(found["stages"]) is int and found["mode"] in ("low", "high")
    c = law.condition_coordinates.normalised({"load": [12.0, 18.0], "warm": 1})
    knobs = law.knob_coordinates.in_units(law(c))
    assert knobs["trim"].tolist() == [law(load=load, warm=1)["trim"] for load in (12, 18)]


def test_the_file_of_a_law_holds_its_provenance(tuned):
    path, summary = tuned
    said = tuninglaw.load(path).about.provenance
    assert said["policy_sha256"] == summary["policy_sha256"] == load_snapshot(path / "law.npz").sha256
    for name in ("training_steps", "env_steps", "objective_evaluations", "eval_evaluations", "failed_evaluations"):
        assert said[name] == summary[name]
    assert said["objective_evaluations"] == 48
    assert (said["check"], said["model"]) == (summary["check"]["words"], summary["model"]["words"])
    config = said["config"]
    assert (config["env"], config["evaluations"], config["seed"], config["model"]) == (TUNED.env, 48, 5, "gp")
    assert "drivers" not in config  # the file has the same bytes whoever collected


def test_before_the_end_the_file_of_a_law_says_as_much_as_is_known(tmp_path, little_effort):
    from ppo import resolve
    from ppo.training.trainer import Trainer

    with Trainer(resolve(TUNED), tmp_path / "run", quiet=True) as trainer:
        next(trainer)
    said = tuninglaw.load(tmp_path / "run").about.provenance
    assert said["training_steps"] == 1 and said["policy_sha256"] == trainer.learner.snapshot().sha256
    assert "check" not in said and said["config"]["evaluations"] == 48
