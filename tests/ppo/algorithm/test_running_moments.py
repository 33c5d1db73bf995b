"""Batches of any size give the moments of all rows, and a saved state gives the same moments back."""

import numpy as np
import pytest

from ppo.algorithm.running_moments import RunningMoments


def test_batches_of_any_size_give_the_moments_of_all_rows():
    rows = 1e6 + np.random.default_rng(0).normal(size=(100, 3))
    moments = RunningMoments((3,))
    assert moments.var.tolist() == [1, 1, 1]
    for batch in np.split(rows, [1, 5, 60]):
        moments.update(batch)
    assert moments.count == 100
    assert moments.mean == pytest.approx(rows.mean(axis=0), rel=1e-12)
    assert moments.var == pytest.approx(rows.var(axis=0), rel=1e-6)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_state_round_trip(shape):
    rows = np.random.default_rng(0).normal(size=(2, 7, *shape))
    moments, copy = RunningMoments(shape), RunningMoments(shape)
    moments.update(rows[0])
    state = moments.state()
    kept = {name: array.copy() for name, array in state.items()}
    assert {name: array.shape for name, array in state.items()} == {"count": (), "mean": shape, "m2": shape}
    copy.restore(state)
    assert all(np.array_equal(copy.state()[name], array) for name, array in kept.items())
    assert np.array_equal(copy.var, moments.var)
    moments.update(rows[1])
    assert all(np.array_equal(copy.state()[name], array) for name, array in kept.items())  # nothing is shared
    copy.update(rows[1])
    assert copy.count == 14
    assert all(np.array_equal(copy.state()[name], array) for name, array in moments.state().items())
    assert all(np.array_equal(state[name], array) for name, array in kept.items())
