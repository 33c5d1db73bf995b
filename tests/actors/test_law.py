"""A deployed law is the clipped mean action at the centre of the knobs, and needs NumPy alone."""

import subprocess
import sys

import numpy as np
import pytest

from actors import Law, NetworkSpec, Snapshot
from actors.law_file import About, Tried, read_law, save_law
from tests.actors.mixtures import mixture, random_critic


def test_a_law_is_the_mean_action_from_the_centre_clipped(tmp_path):
    spec = NetworkSpec(2, (), "tanh", "gaussian", 1)  # linear: mean = w_x x + w_c c + b
    theta = np.array([9.0, 0.0, 2.0, 0.0, 0.25, 0.0])  # rows: x, c, bias; columns: mean, raw log std
    save_law(tmp_path / "law.npz", Snapshot(0, spec, theta))
    law = Law.load(tmp_path / "law.npz")
    assert law([[0.1], [-0.2], [0.9]])[:, 0] == pytest.approx([0.45, -0.15, 1.0])
    assert law([0.1]).tolist() == [0.45]
    with pytest.raises(ValueError, match=r"\[m, 1\]"):
        law([[0.1, 0.2]])


def test_beside_an_answer_it_says_how_uncertain_f_is():
    """One std of the warped f above its mean, in the unit of f; the warp is log(1 + p / 0.1) of p = (f + 4) / 8."""
    critic, _ = random_critic()
    law, c = Law(mixture(critic=critic)), np.linspace(-1, 1, 7)[:, None]
    states = np.concatenate([law(c), c], axis=1)
    mean, std = critic.mean(states), critic.std(states)
    f, above = (8 * 0.1 * np.expm1(np.maximum(value, 0)) - 4 for value in (mean, mean + std))
    f, above = np.where(mean > 0, f, 8 * 0.1 * mean - 4), np.where(mean + std > 0, above, 8 * 0.1 * (mean + std) - 4)
    assert law.uncertainty(c) == pytest.approx(above - f)
    assert (law.uncertainty(c) > 0).all()
    assert law.uncertainty(c[2]) == pytest.approx(law.uncertainty(c)[2])
    with pytest.raises(ValueError, match="has no critic"):
        Law(mixture()).uncertainty(c)


def test_a_law_needs_numpy_alone(tmp_path):
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    save_law(tmp_path / "law.npz", Snapshot(0, spec, np.zeros(spec.size)))
    code = """if True:
        import importlib.abc, sys

        class OnlyNumPy(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in {"torch", "gymnasium", "scipy", "cloudpickle", "tyro", "psutil", "tqdm"}:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

            def find_distributions(self, context):
                return []

        sys.meta_path.insert(0, OnlyNumPy())
        import importlib.util
        real = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: None if name == "gymnasium" else real(name, package)
        import tuninglaw
        print(tuninglaw.load(sys.argv[1])([[0.5]]), tuninglaw.load(sys.argv[1])(c_0=0.5))
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "law.npz")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[[0.]] {'x_0': 0.0}"]


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "without its entry", "flipped"])
def test_a_damaged_law_is_told_in_one_line(damage, tmp_path):
    path = tmp_path / "law.npz"
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    save_law(path, Snapshot(0, spec, np.zeros(spec.size)))
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    contents = {"cut": whole[: len(whole) // 2], "empty": b"", "text": b"no law", "flipped": bytes(flipped)}
    if damage == "without its entry":
        np.savez(path, other=np.zeros(3))
    else:
        path.write_bytes(contents[damage])
    with pytest.raises(ValueError, match=r"law\.npz is damaged, or no law"):
        Law.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"snapshot": np.zeros(100, np.uint8), "more": np.zeros(1)},
        {"snapshot": np.zeros(100)},
        {"snapshot": np.array(3, np.uint8)},
        {"snapshot": np.array([{}], object)},
        {"snapshot": np.frombuffer(b"TLS2" + bytes(200), np.uint8)},
    ],
    ids=["more", "other numbers", "no row", "objects", "zeros"],
)
def test_a_file_of_other_arrays_is_no_law(arrays, tmp_path):
    path = tmp_path / "law.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"law\.npz is damaged, or no law \(") as error:
        Law.load(path)
    assert len(str(error.value).splitlines()) == 1


SPEC = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
ROW = [[0.5, -1.0, 3.0]]


def test_what_was_tried_is_kept_in_the_file_and_changes_no_digest(tmp_path):
    snapshot = Snapshot(0, SPEC, np.zeros(SPEC.size))
    tried = Tried(np.array([[0.5], [-1]]), np.array([[1.0], [0.25]]), np.array([3.0, np.nan]))
    Law(snapshot, About(tried=tried)).save(tmp_path / "law.npz")
    read, about = read_law(tmp_path / "law.npz")
    assert read.sha256 == snapshot.sha256
    assert about == About()
    found = Law.load(tmp_path / "law.npz").tried
    assert found.x.tolist() == [[0.5], [-1]]
    assert found.c.tolist() == [[1], [0.25]]
    np.testing.assert_array_equal(found.f, [3, np.nan])
    Law(snapshot).save(tmp_path / "without.npz")
    assert Law.load(tmp_path / "without.npz").tried is None


@pytest.mark.parametrize(
    "tried",
    [
        np.array(ROW, np.float32),
        np.array(ROW, np.int64),
        np.array(ROW[0]),
        np.array([[*ROW[0], 0.0]]),
        np.array([[1.5, -1.0, 3.0]]),
        np.array([[0.5, np.nan, 3.0]]),
        np.array([[0.5, -1.0, np.inf]]),
    ],
    ids=["float32", "whole numbers", "no rows", "another column", "a knob outside", "a condition NaN", "f infinite"],
)
def test_what_was_tried_is_checked(tried, tmp_path):
    path = tmp_path / "law.npz"
    message = np.frombuffer(Snapshot(0, SPEC, np.zeros(SPEC.size)).to_bytes(), np.uint8)
    np.savez(path, snapshot=message, tried=np.array(ROW))
    assert Law.load(path).tried.f.tolist() == [3]
    np.savez(path, snapshot=message, tried=tried)
    with pytest.raises(ValueError, match=r"law\.npz is damaged, or no law \(what was tried") as error:
        Law.load(path)
    assert len(str(error.value).splitlines()) == 1


def test_a_policy_of_no_tuning_problem_has_tried_nothing(tmp_path):
    spec = NetworkSpec(2, (8,), "tanh", "categorical", 1, (3,))
    message = np.frombuffer(Snapshot(0, spec, np.zeros(spec.size)).to_bytes(), np.uint8)
    np.savez(tmp_path / "law.npz", snapshot=message, tried=np.array(ROW))
    with pytest.raises(ValueError, match="of no tuning problem"):
        read_law(tmp_path / "law.npz")


def test_a_law_that_was_compressed_is_refused(tmp_path):
    """A small file that is opened to a large one is no file of this program."""
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    message = Snapshot(0, spec, np.zeros(spec.size)).to_bytes()
    np.savez_compressed(tmp_path / "law.npz", snapshot=np.frombuffer(message, np.uint8))
    with pytest.raises(ValueError, match="is compressed"):
        Law.load(tmp_path / "law.npz")
