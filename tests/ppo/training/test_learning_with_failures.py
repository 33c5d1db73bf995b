"""A law is as good where f fails elsewhere, and ends at the border where the best knobs lie beyond it."""

import numpy as np
import pytest

from actors import Law
from env.objectives import solution
from ppo import Config
from ppo.train import train
from tests.failing import Bordered

CONDITIONS = np.linspace(-1, 1, 201)[:, None]
WAYS = {"without a model": {"evaluations": 3000, "model": "none"}, "with a model": {"evaluations": 200}}


def law_of(limit, path, **changes):
    """Trains on the quadratic function, which fails where the first knob is above a limit; returns the law."""
    keywords = {"how": "nan", "limit": limit}
    config = Config(
        "tests.failing:Bordered", env_kwargs=keywords, on_failure="infeasible", seed=401, drivers=0, **changes
    )
    summary = train(config, path, quiet=True, pictures=False)
    assert (summary["failed_evaluations"] > 0) == (limit < 1)
    return Law.load(path / "law.npz")


def regret(law, limit):
    """Returns regrets where the law does not fail, and the share of conditions at which it does."""
    objective, x = Bordered("nan", limit), law(CONDITIONS)
    f = objective(x, CONDITIONS) - solution(objective, CONDITIONS)[1]
    return f[~np.isnan(f)], float(np.isnan(f).mean())


@pytest.mark.parametrize(
    ("way", "as_good"), [("without a model", 1e-4), pytest.param("with a model", 1e-6, marks=pytest.mark.slow)]
)
def test_failures_far_from_the_best_knobs_cost_next_to_nothing(way, as_good, tmp_path):
    """The best constant knobs lose 0.1; without failures, the laws lose a tenth or less of these limits."""
    found, share = regret(law_of(0.7, tmp_path / "far", **WAYS[way]), 0.7)
    assert share == 0
    assert found.mean() < as_good


@pytest.mark.parametrize(
    ("way", "most_share", "most"),
    [("without a model", 0.1, 0.01), pytest.param("with a model", 0.2, 0.04, marks=pytest.mark.slow)],
)
def test_a_law_ends_at_the_border_and_not_beyond(way, most_share, most, tmp_path):
    """Half of the best knobs lie beyond it; the best constant knobs before it lose 0.057."""
    found, share = regret(law_of(0.0, tmp_path / "run", **WAYS[way]), 0.0)
    assert share <= most_share
    assert found.mean() < most
