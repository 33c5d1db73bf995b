"""Regret of laws whose error is known, and returns of held-out episodes."""

import json

import numpy as np
import pytest

from actors import Law
from env import Problem, UsageError
from ppo import Config
from ppo.evaluate import evaluate, main
from ppo.evaluation.held_out import RandomActions, held_out_returns
from ppo.evaluation.regret import constant_regret, measure, regret_conditions
from ppo.train import train
from tests.problems import UnknownOptimum, Quadratic


class KnownLaw(Law):
    """The best knobs, displaced."""

    def __init__(self, objective, displaced):
        self.objective, self.displaced = objective, np.array(displaced)

    def __call__(self, conditions):
        return self.objective.best(conditions) + self.displaced


def test_the_regret_of_a_displaced_law_is_the_square_of_its_displacement():
    found = measure(Quadratic(), KnownLaw(Quadratic(), [0.03, -0.04]))
    assert found.conditions[[0, 100, 200], 0] == pytest.approx([-1, 0, 1])
    assert found.regret == pytest.approx(np.full(201, 0.0025))
    summary = found.summary()
    for kind in ("mean", "median", "p95", "worst"):
        assert summary[f"regret_{kind}"] == pytest.approx(0.0025)
        assert summary[f"minimum_{kind}"] == 0.0


def test_percentiles_tell_a_bad_tail():
    found = measure(Quadratic(), KnownLaw(Quadratic(), [0.0, 0.0]))
    found.values[:20] = 5.0  # a tenth of the conditions
    summary = found.summary()
    assert (summary["regret_median"], summary["regret_p95"], summary["regret_worst"]) == (0, 5, 5)
    assert summary["regret_mean"] == pytest.approx(100 / 201)


def test_the_best_constant_knobs_are_the_mean_of_the_best_ones_on_a_quadratic():
    c = regret_conditions(1)
    best = Quadratic().best(c)
    expected = np.median(Quadratic()(np.tile(best.mean(axis=0), (201, 1)), c))
    assert constant_regret(Quadratic()) == pytest.approx(expected, rel=1e-3)


def test_several_conditions_are_a_sobol_set_and_the_unknown_optimum_is_said():
    assert regret_conditions(5).shape == (256, 5)
    assert np.abs(regret_conditions(5)).max() <= 1
    assert measure(UnknownOptimum(), KnownLaw(UnknownOptimum(), [0, 0])) is None


def test_evaluates_a_run_and_writes_what_it_found(tmp_path, capsys):
    run = tmp_path / "run"
    train(Config(env="tests.problems:Quadratic", training_steps=300, eval_every=0), run, quiet=True, pictures=False)
    main([str(run)])
    printed = capsys.readouterr().out
    summary = json.loads((run / "evaluation.json").read_text())
    assert summary["regret_median"] < 0.05 * summary["constant_regret_median"]
    assert f"{summary['regret_worst']:.3g}" in printed
    table = np.genfromtxt(run / "evaluation.csv", delimiter=",", names=True)
    assert table.dtype.names == ("condition_0", "knob_0", "knob_1", "best_knob_0", "best_knob_1", "f", "minimum")
    assert np.median(table["f"] - table["minimum"]) == pytest.approx(summary["regret_median"], rel=1e-6)


def test_what_has_no_known_optimum_says_so(tmp_path):
    config = Config(env="tests.problems:UnknownOptimum", training_steps=1, episodes=4, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    with pytest.raises(UsageError, match="not known"):
        evaluate(tmp_path / "run")


def test_outside_tuning_the_returns_of_held_out_episodes_are_measured(tmp_path, capsys):
    config = Config(env="CartPole-v1", training_steps=1, episodes=4, time_steps=8, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    main([str(tmp_path / "run")])
    summary = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert summary["reward_threshold"] == 475
    assert summary["chance_return_mean"] == pytest.approx(22, abs=6)  # known of CartPole
    assert 8 <= summary["return_worst"] <= summary["return_mean"] <= 500
    assert "return mean" in capsys.readouterr().out


def test_a_returns_first_episode_is_all_that_counts():
    problem = Problem("tests.problems:CountdownEnv", time_steps=20)
    returns = held_out_returns(problem, RandomActions(problem), 50)
    assert set(returns) == {3, 4, 5, 6}  # a reward of 1 a step, and 3 to 6 steps
    assert returns.tolist() == held_out_returns(problem, RandomActions(problem), 50).tolist()
    assert returns[:10].tolist() == held_out_returns(problem, RandomActions(problem), 10).tolist()


def test_a_directory_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a run directory"):
        evaluate(tmp_path)
    (tmp_path / "config.json").write_text(Config().resolved().to_json())
    with pytest.raises(UsageError, match="not finished"):
        evaluate(tmp_path)
