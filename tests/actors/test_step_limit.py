"""Knobs lie within the bounds about a start law, on values that they can have; laws keep their bounds in files."""

import json
import re

import numpy as np
import pytest

from actors import Law
from actors.law_file import About, read_law
from actors.snapshot import NetworkSpec, Snapshot
from actors.step_limit import StepLimit
from env.tuning import TuningVectorEnv
from tests.actors.mixtures import mixture
from tests.problems import Quadratic

C = np.linspace(-1, 1, 33)[:, None]
FIRST, SECOND = mixture(seed=1), mixture(seed=2)


def constant(knobs, steps=(), conditions=1):
    """Returns a law that gives the same knobs everywhere."""
    spec = NetworkSpec(len(knobs) + conditions, (), "tanh", "gaussian", len(knobs), steps=steps)
    theta = np.zeros(spec.size)
    spec.views(theta)[-1][1][: len(knobs)] = knobs
    return Snapshot(0, spec, theta)


def test_bounds_are_a_share_of_the_range_on_both_sides():
    start = constant([0.3, -0.95])
    low, high = StepLimit.about(start, None, 0.1, start.spec).bounds(C)
    np.testing.assert_allclose(low, np.tile([0.1, -1.0], (33, 1)), atol=1e-15)
    np.testing.assert_allclose(high, np.tile([0.5, -0.75], (33, 1)), atol=1e-15)


def test_without_a_law_they_are_about_the_middle():
    spec = constant([0.3, 0.0]).spec
    limit = StepLimit.about(None, None, 0.25, spec)
    assert limit.start is None and limit.within is None
    assert [bound.tolist() for bound in limit.bounds(C[:1])] == [[[-0.5, -0.5]], [[0.5, 0.5]]]


@pytest.mark.parametrize(
    ("reach", "values"), [(0.1, [0.0]), (0.125, [-0.25, 0.25]), (0.3, [-0.5, 0.5]), (1.0, [-1, 1])]
)
def test_bounds_lie_on_values_that_a_knob_can_have(reach, values):
    start = constant([0.05, 0.05], steps=(0.25, 0.0))
    limit = StepLimit.about(start, None, reach, start.spec)
    low, high = limit.bounds(C)
    assert [low[0, 0], high[0, 0]] == [min(values), max(values)]
    assert (high[:, 1] - low[:, 1]).max() > 0  # the other knob can have all


def test_a_start_law_with_bounds_of_its_own_is_taken_within_them():
    inner = StepLimit.about(constant([0.0, 0.0]), None, 0.05, FIRST.spec)
    outer = StepLimit.about(FIRST, inner, 0.05, FIRST.spec)
    expected = np.clip(Law(FIRST)(C), -0.1, 0.1)
    assert np.abs(Law(FIRST)(C)).max() > 0.1
    np.testing.assert_allclose(outer.start_knobs(C), expected, atol=1e-15)
    np.testing.assert_allclose(outer.bounds(C)[0], expected - 0.1, atol=1e-15)
    assert outer.within.reaches == (0.05,) and outer.within.start is inner.start


def test_a_law_gives_knobs_within_its_bounds_however_it_is_asked():
    law = Law(SECOND, About(limit=StepLimit.about(FIRST, None, 0.02, FIRST.spec)))
    free, start = Law(SECOND)(C), Law(FIRST)(C)
    expected = np.clip(free, np.maximum(start - 0.04, -1), np.minimum(start + 0.04, 1))
    assert np.abs(free - expected).max() > 0.1
    np.testing.assert_allclose(law(C), expected, atol=1e-15)
    for row, knobs in zip(C, law(C), strict=True):
        assert list(law(c_0=float(row[0])).values()) == knobs.tolist()
    asked = []
    law.polish(lambda **given: asked.append(given) or 0.0, 1, c_0=0.5)
    assert asked[0] == law(c_0=0.5) | {"c_0": 0.5}


def saved(path, **changes):
    inner = StepLimit.about(None, None, 0.5, FIRST.spec)
    Law(SECOND, About(limit=StepLimit.about(FIRST, inner, 0.02, FIRST.spec))).save(path)
    with np.load(path) as file:
        arrays = dict(file) | {
            name: np.frombuffer(part, np.uint8) for name, part in changes.items() if part is not None
        }
    np.savez(path, **{name: array for name, array in arrays.items() if changes.get(name, b"") is not None})
    return path


def test_a_file_holds_the_bounds(tmp_path):
    path = saved(tmp_path / "law.npz")
    law, (_, about) = Law.load(path), read_law(path)
    assert about.limit.reaches == (0.5, 0.02) and about.limit.starts[0] is None
    assert law(C).tobytes() == Law(SECOND, about)(C).tobytes() != Law(SECOND)(C).tobytes()
    law.save(tmp_path / "again.npz")
    assert Law.load(tmp_path / "again.npz")(C).tobytes() == law(C).tobytes()


def about(**more):
    return json.dumps({"format": 1, "problem": {}, "provenance": {}} | more).encode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start_1": None}, "its start laws are not those of its step limits"),
        ({"about": about()}, "its start laws are not those of its step limits"),
        ({"about": about(step_limits=3)}, "its start laws are not those of its step limits"),
        ({"about": about(step_limits=[0.1, 2.0])}, "a step limit that is no share of a range"),
        ({"about": about(step_limits=[0.1, "x"])}, "a step limit that is no share of a range"),
        ({"start_1": b""}, "a start law without the bytes of a snapshot"),
        ({"start_1": constant([0.0]).to_bytes()}, "a start law of other knobs or conditions"),
        ({"start_1": b"nonsense"}, "snapshot"),
    ],
)
def test_damaged_bounds_are_told(changes, words, tmp_path):
    path = saved(tmp_path / "law.npz", **changes)
    with pytest.raises(ValueError, match=re.escape(str(path)) + ".*" + words):
        Law.load(path)


def test_no_knobs_beyond_the_bounds_are_evaluated():
    asked = []

    class Recorded(Quadratic):
        def __call__(self, x, c):
            asked.append(x.copy())
            return super().__call__(x, c)

    start = constant([0.5, -0.5])
    bounds = StepLimit.about(start, None, 0.1, start.spec).bounds
    env = TuningVectorEnv(Recorded(), 4, 2, bounds=bounds)
    env.reset(seed=0)
    states = [env.step(np.full((4, 2), value))[0] for value in (-1.0, 1.0)]
    assert len(asked) == 3 * 4
    assert np.abs(np.concatenate(asked) - [0.5, -0.5]).max() <= 0.2 + 1e-15
    np.testing.assert_allclose(states[0][:, :2], np.tile([0.3, -0.7], (4, 1)), atol=1e-15)
    np.testing.assert_allclose(states[1][:, :2], np.tile([0.7, -0.3], (4, 1)), atol=1e-15)
