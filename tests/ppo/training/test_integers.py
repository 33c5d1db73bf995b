"""A knob that is an integer is rounded where learning sees it: the law finds the right one, and rounding would not."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import tuninglaw
from actors.job import Kind
from ppo import Config, resolve
from ppo.algorithm.learner import Learner
from ppo.data.archive import NAME, read_archive
from ppo.train import train
from ppo.training.trainer import Trainer
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.training.test_archiving import facts, law_of, without
from tests.ppo.training.test_resume import killed_at
from tests.problems import ridge

WITH_MODEL = Config(env="tests.problems:ridge", evaluations=120, hidden_sizes=(8, 8), drivers=0)
WITHOUT = dataclasses.replace(WITH_MODEL, evaluations=600, model="none")
LOADS = np.linspace(-1, 1, 9).tolist()
ON_STEPS = {-1.0, -0.5, 0.0, 0.5, 1.0}


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def brute_force(load):
    """Returns the best knobs of a fine grid."""
    return min(itertools.product(range(5), np.linspace(0, 1, 401).tolist()), key=lambda knobs: ridge(*knobs, load))


@pytest.fixture(scope="module")
def with_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("integers") / "run"
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        return path, run(WITH_MODEL, path)


@pytest.fixture(scope="module")
def without_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("integers") / "run"
    return path, run(WITHOUT, path)


def test_rounding_the_continuous_optimum_gives_a_wrong_knob():
    for load in LOADS:
        free = minimize(lambda z, load=load: ridge(*z, load), [2.0, 0.5], bounds=[(0, 4), (0, 1)]).x
        assert round(free[0]) == 2 != brute_force(load)[0]
        assert ridge(round(free[0]), free[1], load) > 3 * ridge(*brute_force(load), load)


@pytest.mark.parametrize(("kind", "margin"), [("with_model", 0.005), ("without_model", 0.05)])
def test_the_law_finds_the_right_integer(kind, margin, request):
    law = tuninglaw.load(request.getfixturevalue(kind)[0])
    for load in LOADS:
        stages, trim = brute_force(load)
        found = law(load=load)
        assert found["stages"] == stages
        assert ridge(**found, load=load) < ridge(stages, trim, load) + margin


def test_the_model_says_what_knobs_that_there_are_can_gain(with_model):
    """With one stage and a trim of 0.7 the mean of f is 0.18 + 0.1 / 3; between the integers it would be 0."""
    said = with_model[1]["model"]
    assert said["constant"] == pytest.approx(0.18 + 0.1 / 3, abs=0.002)
    assert said["law"] == pytest.approx(0.18, abs=0.002) and said["left"] < 0.01


def test_learning_sees_what_was_drawn_and_where_it_led(tmp_path, monkeypatch):
    """The log-probability is that of the action before it is rounded; the state after it is rounded."""
    drawn, reached, ratios, original = [], [], [], Learner.learn

    def learn(self, trajectory):
        drawn.append(trajectory.actions[..., 0].copy())
        reached.append(trajectory.final_obs[..., 0].copy())
        scalars = original(self, trajectory)
        ratios.append(scalars["losses/initial_logratio"])
        return scalars

    monkeypatch.setattr(Learner, "learn", learn)
    run(dataclasses.replace(WITHOUT, evaluations=120), tmp_path / "run")
    assert len(ratios) == len(drawn) > 3 and max(ratios) < 1e-10
    actions, states = np.stack(drawn), np.stack(reached)
    assert len(np.unique(actions)) == actions.size
    assert len(set(states.reshape(-1).tolist())) > 2 and set(states.reshape(-1).tolist()) <= ON_STEPS
    assert np.abs(states - np.clip(actions, -1, 1)).max() <= 0.25 + 1e-12


@pytest.mark.parametrize("kind", ["with_model", "without_model"])
def test_the_archive_holds_rounded_knobs(kind, request):
    rows = read_archive(request.getfixturevalue(kind)[0] / NAME, "").rows
    stages = 2 * (rows["x"][:, 0] + 1)
    assert set(rows["x"][:, 0].tolist()) == ON_STEPS
    trim, load = (rows["x"][:, 1] + 1) / 2, rows["c"][:, 0]
    assert [
        ridge(*knobs) for knobs in zip(stages.tolist(), trim.tolist(), load.tolist(), strict=True)
    ] == pytest.approx(rows["f"].tolist())


def test_a_killed_run_goes_on_from_its_archive_to_the_same_bits(tmp_path, bits):
    config = dataclasses.replace(WITHOUT, evaluations=240, checkpoint_every=2, eval_every=3)
    summary = run(config, tmp_path / "whole")
    for name, gone in (("checkpoint", []), ("archive", ["checkpoint.npz", "law.npz", "metrics.csv"])):
        killed_at(3, config, tmp_path / name)
        without(tmp_path / name, *gone)
        resumed = run(config, tmp_path / name, resume=True)
        assert bits(tmp_path / name, resumed) == bits(tmp_path / "whole", summary)
        assert facts(tmp_path / name) == facts(tmp_path / "whole") and law_of(tmp_path / name) == law_of(
            tmp_path / "whole"
        )


def test_a_run_with_a_model_replays_rounded_knobs(with_model, tmp_path, little_effort):
    path, summary = with_model
    (tmp_path / "run").mkdir()
    for name in ("config.json", NAME):
        (tmp_path / "run" / name).write_bytes((path / name).read_bytes())
    resumed = run(WITH_MODEL, tmp_path / "run", resume=True)
    assert resumed["policy_sha256"] == summary["policy_sha256"]


def test_an_integer_that_is_a_condition_takes_its_values_alone(tmp_path, little_effort):
    config = Config(env="tests.problems:converter", evaluations=32, hidden_sizes=(4,), drivers=0, model="gp")
    run(config, tmp_path / "run")
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    assert set(rows["c"][:, 1].tolist()) == {-1.0, 0.0, 1.0}


def test_starts_of_rounds_and_of_scores_are_rounded(tmp_path):
    with Trainer(resolve(WITHOUT), tmp_path / "run", quiet=True) as trainer:
        for kind in (Kind.COLLECT, Kind.EVALUATE):
            trajectory = trainer.rounds.run(kind, 0, trainer.learner.snapshot())
            assert set(trajectory.obs[..., 0].reshape(-1).tolist()) <= ON_STEPS
