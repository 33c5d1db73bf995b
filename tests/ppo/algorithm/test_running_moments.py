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
    moments, copy = RunningMoments(shape), RunningMoments(shape)
    moments.update(np.random.default_rng(0).normal(size=(7, *shape)))
    copy.restore(moments.state())
    assert copy.state().tobytes() == moments.state().tobytes()
    assert np.array_equal(copy.var, moments.var)
