"""CMA-ES spends what it is given at each condition, and learns a quadratic."""

import numpy as np
import pytest

from ppo.experiments.rivals.cma_es import cma_es, solve
from tests.ppo.experiments.rivals.learning import learned_share

pytest.importorskip("cma", reason="the extra compare")


def test_it_learns_a_quadratic():
    assert learned_share(cma_es, 450)[0] < 0.1


@pytest.mark.parametrize("start", [None, np.array([0.2, -0.3])])
@pytest.mark.parametrize("evaluations", [1, 4, 5, 13, 90])
def test_a_search_spends_at_most_its_budget(start, evaluations):
    asked = []

    def f(x):
        asked.append(len(x))
        assert np.abs(x).max() <= 1
        return ((x - 0.25) ** 2).sum(axis=1)

    x, value = solve(f, start, evaluations, 2, 1)
    assert x.shape == (2,)
    assert sum(asked) <= evaluations
    assert value == f(x[None])[0]
    if evaluations == 90:
        assert np.abs(x - 0.25).max() < 0.1


def test_a_single_knob_is_searched_too():
    x, _ = solve(lambda x: (x[:, 0] - 0.25) ** 2, None, 60, 1, 1)
    assert x == pytest.approx([0.25], abs=0.05)
