"""A snapshot is bytes that come back as they were, tell every difference, and are refused when damaged."""

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot

SPEC = NetworkSpec(3, (5, 4), "tanh", "gaussian", 2)


def snapshot(**changes):
    rng = np.random.default_rng(0)
    values = {"version": 7, "spec": SPEC, "theta": rng.normal(size=SPEC.size), "std_floor": 1e-3}
    return Snapshot(**(values | {"obs_mean": rng.normal(size=3), "obs_var": rng.random(3)} | changes))


def test_layers_and_size():
    assert SPEC.layers == [(3, 5), (5, 4), (4, 4)]
    assert SPEC.size == 3 * 5 + 5 + 5 * 4 + 4 + 4 * 4 + 4


def test_views_cover_the_vector_in_order():
    flat = np.arange(SPEC.size)
    arrays = [array.ravel() for layer in SPEC.views(flat) for array in layer]
    assert np.concatenate(arrays).tolist() == flat.tolist()


@pytest.mark.parametrize("changes", [{}, {"obs_mean": None, "obs_var": None}])
def test_bytes_round_trip(changes):
    original = snapshot(**changes)
    copy = Snapshot.from_bytes(original.to_bytes())
    assert copy.to_bytes() == original.to_bytes()
    assert (copy.version, copy.spec, copy.std_floor) == (7, SPEC, 1e-3)
    assert copy.theta.tolist() == original.theta.tolist()
    if original.obs_mean is not None:
        assert copy.obs_var.tolist() == original.obs_var.tolist()
    else:
        assert copy.obs_mean is None


def test_the_digest_depends_on_every_attribute():
    digests = {
        snapshot().sha256,
        snapshot(version=8).sha256,
        snapshot(std_floor=2e-3).sha256,
        snapshot(obs_mean=np.zeros(3)).sha256,
        snapshot(theta=np.zeros(SPEC.size)).sha256,
        snapshot(obs_mean=None, obs_var=None).sha256,
    }
    assert len(digests) == 6
    assert snapshot().sha256 == snapshot().sha256


@pytest.mark.parametrize(
    ("damage", "message"),
    [(lambda b: b[:10], "cut short"), (lambda b: b"XXXX" + b[4:], "not a snapshot"), (lambda b: b[:-8], "values")],
)
def test_damaged_bytes_are_refused(damage, message):
    with pytest.raises(ValueError, match=message):
        Snapshot.from_bytes(damage(snapshot().to_bytes()))
