"""Regret is that of laws whose error is known, over conditions that are always the same."""

import numpy as np
import pytest

from actors import Law, NetworkSpec, Snapshot
from ppo import Config, resolve
from ppo.evaluation.regret import constant_regret, known_regret, measure_regret, regret_conditions, regret_words
from tests.failing import Bordered
from tests.problems import Quadratic, UnknownOptimum


class KnownLaw(Law):
    """The best knobs, displaced."""

    def __init__(self, objective, displaced):
        self.objective, self.displaced = objective, np.array(displaced)

    def __call__(self, conditions):
        return self.objective.best(conditions) + self.displaced


def test_a_displaced_law_has_the_square_of_its_displacement():
    found = measure_regret(Quadratic(), KnownLaw(Quadratic(), [0.03, -0.04]))
    assert found.conditions[[0, 100, 200], 0] == pytest.approx([-1, 0, 1])
    assert found.regret == pytest.approx(np.full(201, 0.0025))
    summary = found.summary()
    for kind in ("mean", "median", "p95", "worst"):
        assert summary[f"regret_{kind}"] == pytest.approx(0.0025)
        assert summary[f"minimum_{kind}"] == 0.0


def test_percentiles_tell_a_bad_tail():
    found = measure_regret(Quadratic(), KnownLaw(Quadratic(), [0.0, 0.0]))
    found.values[:20] = 5.0  # a tenth of the conditions
    summary = found.summary()
    assert (summary["regret_median"], summary["regret_p95"], summary["regret_worst"]) == (0, 5, 5)
    assert summary["regret_mean"] == pytest.approx(100 / 201)


def test_the_best_constant_is_the_mean_of_the_best_knobs():
    c = regret_conditions(1)
    best = Quadratic().best(c)
    expected = np.median(Quadratic()(np.tile(best.mean(axis=0), (201, 1)), c))
    found = measure_regret(Quadratic(), KnownLaw(Quadratic(), [0.0, 0.0]))
    assert constant_regret(Quadratic(), found) == pytest.approx(expected, rel=1e-3)


def test_several_conditions_are_a_sobol_set():
    assert regret_conditions(5).shape == (256, 5)
    assert np.abs(regret_conditions(5)).max() <= 1
    assert np.array_equal(regret_conditions(5), regret_conditions(5))


def test_of_an_unknown_optimum_there_is_no_regret():
    assert measure_regret(UnknownOptimum(), KnownLaw(UnknownOptimum(), [0, 0])) is None


def linear_snapshot(weight, bias):
    """Returns the snapshot of a law for Quadratic: ``bias + weight c``."""
    spec = NetworkSpec(3, (), "tanh", "gaussian", 2)
    theta = np.zeros(spec.size)
    spec.views(theta)[0][0][2, :2], spec.views(theta)[0][1][:2] = weight, bias
    return Snapshot(0, spec, theta)


def test_a_run_with_a_budget_is_told_the_regret_beside_that_of_constants():
    config = resolve(Config(env="tests.problems:Quadratic", evaluations=300))
    found = known_regret(config, linear_snapshot([0.5, 0.0], [0.0, 0.3]))["regret"]
    assert found["median"] == pytest.approx(0.16 * 0.5**4)  # the second knob is off by 0.4 c^2, the first by nothing
    best = Quadratic().best(regret_conditions(1))
    constant = np.median(((best - best.mean(axis=0)) ** 2).sum(axis=1))
    assert found["constant_median"] == pytest.approx(constant, rel=1e-3)
    assert list(found) == ["median", "constant_median"]


@pytest.mark.parametrize("config", [Config("tests.problems:Quadratic"), Config("tests.problems:UnknownOptimum")])
def test_without_a_budget_there_is_none_to_tell(config):
    assert known_regret(resolve(config), linear_snapshot(0, 0)) == {}


def test_of_an_unknown_optimum_there_is_none_to_tell():
    config = resolve(Config("tests.problems:UnknownOptimum", evaluations=300))
    assert known_regret(config, linear_snapshot(0, 0)) == {}


@pytest.mark.parametrize(
    ("law", "constant", "words"),
    [
        (0.05, 0.2, "median regret 0.05, 0.25 times that of the best constant knobs, 0.2"),
        (3.0, 0.001, "median regret 3, 3e+03 times that of the best constant knobs, 0.001"),
        (1e-4, 0.0, "median regret 0.0001; that of the best constant knobs is 0: no law is better than they"),
        (1e-4, -1e-9, "median regret 0.0001; that of the best constant knobs is -1e-09: no law is better than they"),
        (0.03, 1.1e-17, "median regret 0.03; that of the best constant knobs is 1.1e-17: no law is better than they"),
        (0.0, 0.0, "median regret 0; that of the best constant knobs is 0: no law is better than they"),
    ],
)
def test_regrets_in_words(law, constant, words):
    assert regret_words(law, constant) == words


def test_where_f_fails_there_is_no_regret_and_constants_keep_away():
    """f fails above a first knob of 0.25, where the best one is 0.5 c; the law has it 0.1 too large, as far as that."""
    objective = Bordered(how="nan", limit=0.25)
    law = KnownLaw(objective, [0.1, 0.0])
    with pytest.raises(ValueError, match="the probe lost"):
        measure_regret(Bordered(how="raise", limit=0.25), law)
    found = measure_regret(objective, law, keep_failures=True)
    fails = found.knobs[:, 0] > 0.25
    assert found.failed == fails.sum() > 0
    assert np.isnan(found.values[fails]).all()
    assert found.summary()["regret_median"] == pytest.approx(0.01)
    assert 0 < constant_regret(objective, found, keep_failures=True) < 1
