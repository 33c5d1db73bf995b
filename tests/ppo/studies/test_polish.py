"""A study of polishes counts the evaluations until a law's knob is as good as what differential evolution found."""

import numpy as np
import pytest

from ppo.studies import polish
from ppo.studies.polish import MOST, VARIANTS, PolishRun, compared, runs_of, until
from tests.problems import Quadratic


@pytest.mark.parametrize(
    ("errors", "wanted", "number"),
    [([0.5, 0.1, 0.2], 0.1, 2), ([0.5, 0.1, 0.2], 0.6, 1), ([0.5, 0.1], 0.0, MOST), ([0.5, 0.0], 0.0, 2)],
)
def test_evaluations_until_an_error_is_reached(errors, wanted, number):
    assert until(np.array(errors), wanted) == number


def test_what_is_compared_is_of_the_same_conditions(monkeypatch):
    monkeypatch.setattr(polish, "CONDITIONS", np.array([[-0.5], [0.5]]))
    errors = [np.array([1.0, 1e-40]), np.array([1.0, 0.5])]
    evaluations, mse, to_mse, ratio, to_best, ratio_to_best, unreached = compared(
        Quadratic(), errors, np.zeros(2), VARIANTS["to 1e-8"]
    )
    assert evaluations > 100 and 0 < mse < 1e-10
    assert to_mse == to_best == (2 + MOST) / 2
    assert ratio == ratio_to_best == to_mse / evaluations
    assert unreached == 1


def test_a_run_is_a_row(little_effort):
    run = runs_of(1, quick=True)[0]
    row = dict(zip(PolishRun.columns, run.run(), strict=True))
    assert row["run"] == "rosenbrock/40/401"
    assert all(float(row[f"{variant}: ratio"]) < 1 for variant in VARIANTS)
