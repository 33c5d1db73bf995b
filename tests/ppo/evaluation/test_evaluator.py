"""A law is scored by its error over 21 conditions, or by the mean of f, and a policy by its first episodes."""

import dataclasses

import numpy as np
import pytest

from actors import Law
from actors.job import Kind
from actors.trajectory import Layout, Trajectory
from env import OBJECTIVES, UsageError
from ppo import Config, resolve
from ppo.evaluation.evaluator import Evaluator, first_episode_returns, make_evaluator
from ppo.train import train
from ppo.training.job import make_job
from tests.ppo.configs import SMALL
from tests.problems import Quadratic


def test_the_error_is_that_of_the_law_over_21_conditions(tmp_path):
    summary = train(SMALL, tmp_path, quiet=True, pictures=False)
    objective, c = OBJECTIVES["rosenbrock"](), np.linspace(-1, 1, 21)[:, None]
    f = objective(Law.load(tmp_path / "law.npz")(c), c)
    expected = np.mean((np.log1p(f) - np.log1p(objective.solve(c)[1])) ** 2)
    assert summary["eval"]["final"] == pytest.approx(expected, rel=1e-12)


def evaluated(values):
    """Returns a trajectory whose last values of f are given."""
    trajectory = Trajectory.empty(Layout(1, 2, 1, True), len(values))
    trajectory.objectives[:, 0], trajectory.objectives[:, 1] = 99, values
    return trajectory


@pytest.mark.parametrize(
    ("metric", "optimum", "column", "expected"),
    [
        ("mse", [1.0, 1.0], "eval/error", (0 + 4) / 2),
        ("msle", [1.0, 1.0], "eval/error", np.log(4 / 2) ** 2 / 2),
        ("mean_objective", None, "eval/objective", 2.0),
    ],
)
def test_scores_of_a_law_by_hand(metric, optimum, column, expected):
    evaluator = Evaluator(metric, None if optimum is None else np.array(optimum))
    assert evaluator.score(evaluated([1.0, 3.0])) == pytest.approx(expected)
    assert evaluator.column == column


def test_a_return_ends_with_the_first_episode():
    trajectory = Trajectory.empty(Layout(4, 2, 1, False), 3)
    trajectory.rewards[:] = [1, 2, 4, 8]
    trajectory.terminations[0, 1] = trajectory.truncations[1, 0] = trajectory.terminations[1, 2] = True
    assert first_episode_returns(trajectory).tolist() == [3, 1, 15]
    assert Evaluator("mean_return").score(trajectory) == pytest.approx(19 / 3)
    assert Evaluator("mean_return").column == "eval/return"


@pytest.mark.parametrize(
    ("changes", "metric", "starts"),
    [
        ({"env": "ackley"}, "mse", (21, 2)),
        ({"env": "rosenbrock", "dims": 5, "knobs": 2}, "msle", (64, 5)),
        ({"env": "tests.problems:UnknownOptimum"}, "mean_objective", (21, 3)),
        ({"env": "CartPole-v1"}, "mean_return", None),
    ],
)
def test_each_problem_has_its_metric_and_its_starts(changes, metric, starts):
    config = resolve(Config(**changes, eval_episodes=7))
    evaluator, found = make_evaluator(config)
    assert evaluator.metric == metric
    assert (found is None) == (starts is None)
    if found is not None:
        assert found.shape == starts
        knobs = config.knobs or 2
        assert not found[:, :knobs].any()  # a law is asked with its knobs at their centre
    job = make_job(config, found)
    assert job.slots(Kind.EVALUATE) == (7 if starts is None else starts[0])
    assert job.length(Kind.EVALUATE) == (500 if starts is None else 1)


class UnknownNumber(Quadratic):
    """Its least f is not a number."""

    def solve(self, c):
        return self.best(c), np.full(len(c), np.nan)


class Column(Quadratic):
    """Its least f is a column."""

    def solve(self, c):
        return self.best(c), np.zeros((len(c), 1))


@pytest.mark.parametrize(("env", "message"), [("UnknownNumber", "f that are not all finite"), ("Column", r"\(21, 1\)")])
def test_a_wrong_optimum_is_refused_before_anything_is_paid_for(env, message, tmp_path):
    config = Config(env=f"tests.ppo.evaluation.test_evaluator:{env}", training_steps=2, drivers=0)
    with pytest.raises(UsageError, match=rf"^--env tests.ppo.evaluation.test_evaluator:{env}: solve.*{message}"):
        train(config, tmp_path / "run", quiet=True)
    with pytest.raises(UsageError, match=rf"^--env tests.ppo.evaluation.test_evaluator:{env}: solve"):
        train(dataclasses.replace(config, training_steps=None, evaluations=40), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("metric", "expected"), [("mse", (4 + 16) / 2), ("mean_objective", 4.0)])
def test_a_condition_at_which_f_failed_is_left_out(metric, expected):
    evaluator = Evaluator(metric, np.array([1.0, 2.0, 1.0]) if metric == "mse" else None)
    assert evaluator.score(evaluated([3.0, np.nan, 5.0])) == expected
    assert np.isnan(evaluator.score(evaluated([np.nan] * 3)))
