"""--evaluations N spends at most N, whatever the sampler, and spends them well."""

import dataclasses
import json
import os

import numpy as np
import pytest
from scipy.stats import qmc

from actors import Law
from ppo import Config, resolve
from ppo.studies.budget_problems import Converter
from ppo.train import train
from ppo.training.trainer import Trainer

SAMPLERS = ["random", "lhs", "uncertainty", "heterogeneous", "random:2,lhs:1", "tests.problems:CornerSampler"]
CONVERTER = "ppo.studies.budget_problems:Converter"
COUNTED = Config(
    env="tests.problems:Counted", model="none", hidden_sizes=(8,), update_epochs=1, candidates=8, drivers=0
)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def mean_f(path):
    """Returns the mean of f under a law over conditions that no run has seen."""
    c = 2 * qmc.Sobol(3, rng=12345).random(512) - 1
    return float(Converter()(Law.load(path / "law.npz")(c), c).mean())


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("budget", [7, 60, 61, 300, 1000])
def test_a_budget_is_never_exceeded(budget, sampler, tmp_path):
    keywords = {"path": str(tmp_path / "count")}
    summary = run(
        dataclasses.replace(COUNTED, evaluations=budget, sampler=sampler, env_kwargs=keywords), tmp_path / "run"
    )
    spent = os.path.getsize(tmp_path / "count")
    assert 0.8 * budget <= spent <= budget
    assert summary["objective_evaluations"] == spent
    assert (summary["eval_evaluations"], summary["lost_evaluations"]) == (0, 0)


@pytest.mark.parametrize("changes", [{"time_steps": 1}, {"time_steps": 5}, {"reward": "improvement"}, {"episodes": 7}])
def test_a_slot_may_take_any_number_of_evaluations(changes, tmp_path):
    keywords = {"path": str(tmp_path / "count")}
    config = dataclasses.replace(COUNTED, evaluations=100, env_kwargs=keywords, **changes)
    assert run(config, tmp_path / "run")["objective_evaluations"] == os.path.getsize(tmp_path / "count")
    assert 80 <= os.path.getsize(tmp_path / "count") <= 100


def test_a_check_is_paid_for_apart_and_said_before(tmp_path, capsys):
    config = dataclasses.replace(COUNTED, evaluations=60, check=32, env_kwargs={"path": str(tmp_path / "count")})
    summary = train(config, tmp_path / "run", pictures=False)
    assert os.path.getsize(tmp_path / "count") == 60 + 30
    assert summary["objective_evaluations"] == 60
    assert summary["check"]["evaluations"] == 30
    shown = capsys.readouterr()
    assert "--check: 30 more evaluations of f" in shown.err
    assert "60/60" in shown.err
    assert summary["check"]["words"] in shown.out
    assert "60 evaluations of f, 30 to check it" in shown.out


def test_a_known_optimum_is_compared_with_for_nothing(tmp_path, capsys):
    config = Config(evaluations=60, model="none", hidden_sizes=(8,), update_epochs=1, drivers=0)
    summary = train(config, tmp_path / "run", pictures=False)
    assert summary["objective_evaluations"] == 60
    assert summary["eval_evaluations"] == 0
    assert summary["regret"]["constant_median"] > 0
    assert "that of the best constant knobs" in capsys.readouterr().out


def test_a_run_with_a_budget_that_is_left_early_has_a_law(tmp_path):
    config = dataclasses.replace(COUNTED, evaluations=300, env_kwargs={"path": str(tmp_path / "count")})
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        next(trainer)
    assert Law.load(tmp_path / "run" / "law.npz")([0.3]).shape == (2,)
    run(config, tmp_path / "run", resume=True)
    assert os.path.getsize(tmp_path / "count") == 300


def test_a_finished_run_says_so(tmp_path, capsys):
    config = dataclasses.replace(COUNTED, evaluations=20, env_kwargs={"path": str(tmp_path / "count")})
    run(config, tmp_path / "run")
    train(config, tmp_path / "run", resume=True)
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'run'}: its 5 training steps are done; nothing was run or paid for"
    ]
    assert os.path.getsize(tmp_path / "count") == 20


def test_eighteen_thousand_evaluations_of_a_converter_without_a_model(tmp_path):
    config = Config(env=CONVERTER, evaluations=18_000, model="none", seed=401, drivers=0)
    assert run(config, tmp_path / "run")["objective_evaluations"] == 18_000
    law = mean_f(tmp_path / "run")
    assert law <= 0.575  # the best constant knobs have 0.666
    trained = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (trained["training_steps"], trained["episodes"]) == (300, 30)


@pytest.mark.parametrize("budget", [300, 1000])
def test_a_small_budget_is_spent_better_than_by_longer_runs_so_far(budget, tmp_path):
    config = Config(env=CONVERTER, drivers=0, seed=401, eval_every=0)
    run(dataclasses.replace(config, evaluations=budget, model="none"), tmp_path / "budget")
    for steps in (300, 1500):
        longer = resolve(dataclasses.replace(config, training_steps=steps))
        with Trainer(longer, tmp_path / f"{steps}", quiet=True) as trainer:
            for _ in zip(range(budget // 60 + 1), trainer, strict=False):
                pass
        assert np.isfinite(mean_f(tmp_path / f"{steps}"))
        assert mean_f(tmp_path / "budget") < mean_f(tmp_path / f"{steps}")
