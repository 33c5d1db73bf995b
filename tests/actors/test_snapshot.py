import subprocess
import sys

import numpy as np
import pytest

from actors import Law, NetworkSpec, Snapshot
from actors.law import save_law

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
    parts = [part.ravel() for layer in SPEC.views(flat) for part in layer]
    assert np.concatenate(parts).tolist() == flat.tolist()


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


def test_digest_tells_every_part_apart():
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


def test_a_law_is_the_mean_action_from_the_centre_clipped(tmp_path):
    spec = NetworkSpec(2, (), "tanh", "gaussian", 1)  # linear: mean = w_x x + w_c c + b
    theta = np.array([9.0, 0.0, 2.0, 0.0, 0.25, 0.0])  # rows: x, c, bias; columns: mean, raw log std
    save_law(tmp_path / "law.npz", Snapshot(0, spec, theta))
    law = Law.load(tmp_path / "law.npz")
    assert law([[0.1], [-0.2], [0.9]])[:, 0] == pytest.approx([0.45, -0.15, 1.0])
    assert law([0.1]).tolist() == [0.45]
    with pytest.raises(ValueError, match=r"\[m, 1\]"):
        law([[0.1, 0.2]])


def test_a_law_needs_numpy_alone(tmp_path):
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    save_law(tmp_path / "law.npz", Snapshot(0, spec, np.zeros(spec.size)))
    code = (
        "import sys; from actors import Law; print(Law.load(sys.argv[1])([[0.5]]));"
        "print([name for name in ('torch', 'gymnasium', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "law.npz")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[[0.]]", "[]"]
