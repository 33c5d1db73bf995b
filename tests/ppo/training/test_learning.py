"""A run learns laws that follow their conditions, whatever the unit of f, and several choices at once."""

import dataclasses

import numpy as np
import pytest

from actors import Law
from env import OBJECTIVES
from ppo import Config
from ppo.train import train
from tests.problems import Quadratic


def regret(objective, law, c):
    return np.mean(objective(law(c), c) - objective.solve(c)[1])


@pytest.mark.parametrize(("algo", "training_steps"), [("ppo", 300), ("reinforce", 1500)])
@pytest.mark.parametrize("sampler", ["random", "heterogeneous"])
def test_solves_a_quadratic_whose_minimiser_moves_with_c(algo, training_steps, sampler, tmp_path):
    config = Config(
        env="tests.problems:Quadratic", algo=algo, training_steps=training_steps, sampler=sampler, eval_every=0, seed=11
    )
    train(config, tmp_path, quiet=True, pictures=False)
    c = np.linspace(-1, 1, 101)[:, None]
    assert regret(Quadratic(), Law.load(tmp_path / "law.npz"), c) < 1e-3
    best_constant = np.tile(Quadratic().best(c).mean(axis=0), (101, 1))
    assert np.mean(Quadratic()(best_constant, c)) > 0.05  # a constant law would not do


def test_a_law_on_rosenbrock_has_a_tenth_of_a_constants_regret(tmp_path):
    train(Config(training_steps=1000, eval_every=0, sampler="heterogeneous"), tmp_path, quiet=True, pictures=False)
    objective = OBJECTIVES["rosenbrock"]()
    c = np.linspace(-1, 1, 201)[:, None]
    constants = [regret(objective, lambda c, x=x: np.full((len(c), 1), x), c) for x in np.linspace(-1, 1, 401)]
    assert regret(objective, Law.load(tmp_path / "law.npz"), c) < 0.1 * min(constants)


@pytest.mark.parametrize("time_steps", [2, 3])
def test_the_scale_and_the_zero_of_f_do_not_matter(time_steps, tmp_path):
    config = Config(training_steps=300, eval_every=0, time_steps=time_steps, seed=5)
    digests, regrets, c = {}, {}, np.linspace(-1, 1, 101)[:, None]
    for name in ("Quadratic", "ScaledQuadratic", "OffsetQuadratic"):
        env = dataclasses.replace(config, env=f"tests.problems:{name}")
        digests[name] = train(env, tmp_path / name, quiet=True, pictures=False)["policy_sha256"]
        regrets[name] = regret(Quadratic(), Law.load(tmp_path / name / "law.npz"), c)
    assert digests["ScaledQuadratic"] == digests["Quadratic"]
    assert regrets["Quadratic"] < 1e-3
    assert regrets["OffsetQuadratic"] < 1e-3


def test_learns_several_choices_at_once(tmp_path):
    config = Config(
        env="tests.problems:TwoDialsEnv", time_steps=8, episodes=16, training_steps=40, eval_every=40, drivers=0,
        learning_rate=3e-3,
    )  # fmt: skip
    assert train(config, tmp_path, quiet=True, pictures=False)["eval"]["final"] == 16.0  # two dials, eight steps


SHORT = Config(drivers=0, training_steps=12, hidden_sizes=(8,), update_epochs=2, eval_every=0)
CHANGES = {
    "plain": {},
    "ranks throughout": {"rank_fade": 0.0},
    "differences alone": {"rank_fade": 1e300},
    "wider density": {"density_bandwidth": 0.5},
    "floor exponential in the progress": {"std_floor_power": 1.0},
    "rate that keeps its height": {"learning_rate_power": 0.0},
}


def test_each_field_that_was_a_constant_changes_the_law(tmp_path):
    digests = {
        name: train(dataclasses.replace(SHORT, **changes), tmp_path / name, quiet=True)["policy_sha256"]
        for name, changes in CHANGES.items()
    }
    assert len(set(digests.values())) == len(CHANGES)


def test_the_values_of_those_constants_are_the_defaults(tmp_path):
    constants = {"rank_fade": 0.03, "density_bandwidth": 0.2, "std_floor_power": 0.45, "learning_rate_power": 0.6}
    plain, given = (
        train(dataclasses.replace(SHORT, **changes), tmp_path / str(len(changes)), quiet=True)["policy_sha256"]
        for changes in ({}, constants)
    )
    assert given == plain
