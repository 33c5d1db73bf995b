"""Constraints come before f: in what a round is learned from, in what the model expects, and in the law."""

import numpy as np
import pytest

from actors import Law
from env.objectives.evaluation import evaluate, timed_evaluation
from ppo import Config
from ppo.algorithm.model.constraints import ConstraintModels
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.limits import Limits
from ppo.algorithm.model.surrogate import Surrogate
from ppo.algorithm.outcomes import merits
from ppo.train import train
from tests.ppo.algorithm.model.processes import policy_of
from tests.problems import limited

POLICY = policy_of([[0.0]])


def evidence_of(n=60, limit=0.2):
    """Returns evaluations of f = x - c, of which x is to be ``limit`` at the most: the model is to end there."""
    states = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    evidence = Evidence(2, n, 1)
    evidence.add(states, -(states[:, 0] - states[:, 1]), states[:, :1] - limit)
    return evidence


def limits_of(evidence, margin=0.0):
    models = ConstraintModels(POLICY.spec, 1)
    models.margin[:] = margin
    models.fit(evidence, np.arange(len(evidence)), 500, True)
    return models, models.avoided(evidence)


def test_whatever_breaks_a_constraint_is_worse_than_what_does_not():
    f = np.array([3.0, -90.0, 5.0, -80.0, np.nan])
    g = np.array([[-1.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.1, 9.0], [np.nan, np.nan]])
    found = merits(f, g)
    assert found[[0, 2]].tolist() == [3.0, 5.0]
    assert 5.0 < found[1] < found[3]
    assert np.isnan(found[4])


def test_where_all_break_it_the_least_broken_is_the_best():
    found = merits(np.array([1.0, 2.0, 3.0]), np.array([[3.0], [2.0], [1.0]]))
    assert found.argsort().tolist() == [2, 1, 0]


def test_limits_lie_where_the_constraint_is_zero():
    _, limits = limits_of(evidence_of())
    assert isinstance(limits, Limits)
    x = np.linspace(-1, 1, 100)
    states = np.column_stack([x, np.full(100, 0.3)])
    assert limits.holds(states).tolist() == (x > 0.2).tolist()
    assert (limits.outside(states, 1.9) <= limits.outside(states)).all()


def test_a_model_expects_more_beyond_a_limit_and_nothing_else_within():
    evidence = evidence_of()
    _, limits = limits_of(evidence)
    states = np.column_stack([[-0.5, 0.1, 0.3, 0.9], np.zeros(4)])
    targets = evidence.values
    raised = limits.raised(np.full(4, -1.0), states, targets)
    assert raised[:2].tolist() == [-1.0, -1.0]
    assert -1.0 < raised[2] < raised[3]


@pytest.mark.parametrize("x", [-0.4, 0.2003, 0.21, 0.5])
def test_slopes_are_those_of_what_is_expected(x):
    evidence = evidence_of()
    _, limits = limits_of(evidence, 1e-3)
    state, step = np.array([[x, 0.1]]), 1e-5

    def mean(at):
        return 0.3 * at[:, 0] ** 2

    def raised(at):
        return limits.raised(mean(at), at, evidence.values)[0]

    found, slope = limits.raised_with_slope(mean(state), 0.6 * state[:, :1], state, evidence.values)
    assert found[0] == raised(state)
    offset = np.array([[step, 0.0]])
    assert slope[0, 0] == pytest.approx(
        (raised(state + offset) - raised(state - offset)) / (2 * step), rel=1e-4, abs=1e-5
    )


def test_a_margin_is_widened_by_what_a_law_breaks_and_no_further_than_is_sound():
    models, _ = limits_of(evidence_of())
    assert not models.widen(np.full((100, 1), -0.5))
    assert models.widen(np.full((100, 1), 0.004)) and models.margin[0] == pytest.approx(0.004)
    assert models.widen(np.full((100, 1), 5.0)) and models.margin[0] == pytest.approx(0.01)


def test_the_state_of_the_models_is_kept():
    evidence = evidence_of()
    models, limits = limits_of(evidence, 0.003)
    again = ConstraintModels(POLICY.spec, 1)
    again.restore(models.state())
    states = np.random.default_rng(3).uniform(-1, 1, (20, 2))
    assert np.array_equal(again.avoided(evidence).beyond(states), limits.beyond(states))
    surrogate = Surrogate(POLICY.spec, 60, 1)
    surrogate.evidence.add(evidence.states, evidence.values, evidence.constraints)
    surrogate.fit(POLICY, 0.3)
    other = Surrogate(POLICY.spec, 60, 1)
    other.restore(surrogate.state())
    assert np.array_equal(other.whole.mean(states), surrogate.whole.mean(states))


@pytest.mark.slow
def test_a_law_ends_at_the_limit_that_binds(little_effort, tmp_path):
    config = Config(env=limited, evaluations=64, drivers=0, check=30)
    summary = train(config, tmp_path / "run", quiet=True, pictures=False)
    law = Law.load(tmp_path / "run" / "law.npz")
    loads = np.linspace(1.05, 2.95, 39)
    found = law(load=loads)
    assert (found["a"] - 2 * loads <= 0).mean() > 0.8
    assert np.median(np.abs(found["a"] - 2 * loads)) < 0.1
    assert (found["b"] == np.rint(1 + loads / 2)).mean() > 0.9
    assert summary["check"]["failed"] <= 2


@pytest.mark.slow
def test_without_a_model_too(tmp_path):
    config = Config(env=limited, training_steps=400, episodes=20, drivers=0, eval_every=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    loads = np.linspace(1.05, 2.95, 39)
    found = Law.load(tmp_path / "run" / "law.npz")(load=loads)
    assert (found["a"] - 2 * loads <= 0).mean() > 0.5
    assert np.median(np.abs(found["a"] - 2 * loads)) < 0.4


def test_evaluations_know_their_constraints():
    objective = limited.objective()
    x, c = np.array([[-0.8, 0.0], [0.8, 0.0]]), np.zeros((2, 1))
    found = timed_evaluation(objective, x, c, range(2))
    assert found.f.tolist() == [(1.0 - 9) ** 2, 0.0]
    assert found.g.tolist() == [[1.0 - 4], [9.0 - 4]]
    assert np.isnan(evaluate(objective, x, c)).tolist() == [False, True]
