"""Gymnasium's spaces go to JSON and come back; what describes none is refused."""

import json

import numpy as np
import pytest
from gymnasium import spaces

from env.spaces import choices_of, space_as_json, space_from_json

SPACES = [
    spaces.Box(-1, 1, (3,), np.float64),
    spaces.Box(-np.inf, np.inf, (2, 2), np.float32),
    spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, np.inf]), (2,), np.float64),
    spaces.Box(np.array([-1.0, -8.0, 0.1], np.float32), np.array([1.0, 8.0, 0.3], np.float32), (3,)),
    spaces.Box(0, 255, (4, 2, 3), np.uint8),
    spaces.Box(-5, 7, (), np.int64),
    spaces.Discrete(3),
    spaces.Discrete(3, start=-5),
    spaces.MultiDiscrete([3, 2], start=[-1, 4]),
    spaces.MultiDiscrete([[3, 2], [4, 5]]),
    spaces.MultiBinary([2, 3]),
    spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(-1, 1, (2,))}),
    spaces.Tuple([spaces.Discrete(2), spaces.Tuple([spaces.MultiBinary(4)])]),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_space_comes_back(space):
    text = json.dumps(space_as_json(space), allow_nan=False)
    back = space_from_json(json.loads(text))
    assert back == space and back.dtype == space.dtype
    assert json.dumps(space_as_json(back)) == text


def test_names_keep_their_order():
    nested = spaces.Dict(z=spaces.Discrete(3), a=spaces.Dict(y=spaces.Box(-1, 1, (2,)), b=spaces.Discrete(2)))
    back = space_from_json(json.loads(json.dumps(space_as_json(nested))))
    assert [list(back.spaces), list(back["a"].spaces)] == [["z", "a"], ["y", "b"]]
    nested.seed(0)
    shown = nested.sample()
    assert np.array_equal(spaces.flatten(back, shown), spaces.flatten(nested, shown))


@pytest.mark.parametrize("space", [spaces.Text(3), spaces.Dict({1: spaces.Discrete(2)})], ids=str)
def test_a_space_without_such_a_form_is_refused(space):
    with pytest.raises(TypeError, match="a space"):
        space_as_json(space)


def test_a_space_without_a_form_is_refused():
    with pytest.raises(TypeError, match="has no form in JSON"):
        space_as_json(spaces.Text(5))


@pytest.mark.parametrize(
    "content",
    [
        *(None, 5, [], {}, {"kind": "text"}, {"kind": ["box"]}, {"kind": "discrete", "n": 0, "start": 0}),
        *({"kind": "discrete", "n": n, "start": 0} for n in ("a", None, 1.5)),
        {"kind": "box", "shape": [2], "dtype": "<f8", "low": 0},
        {"kind": "box", "shape": [2], "dtype": "nothing", "low": 0, "high": 1},
        {"kind": "box", "shape": [2], "dtype": "<f8", "low": [0, 0, 0], "high": 1},
        {"kind": "box", "shape": 5, "dtype": "<f8", "low": 0, "high": 1},
        {"kind": "box", "shape": [-1], "dtype": "<f8", "low": 0, "high": 1},
        {"kind": "box", "shape": [2], "dtype": "|u1", "low": 0, "high": 300},
        {"kind": "multi-discrete", "nvec": [0, 2], "dtype": "<i8", "start": [0, 0]},
        {"kind": "multi-binary", "shape": "a"},
        {"kind": "dict", "parts": [["a"]]},
        {"kind": "dict", "parts": {"a": {}}},
        {"kind": "tuple", "parts": [{"kind": "dict", "parts": {"a": 5}}]},
    ],
    ids=str,
)
def test_what_describes_no_space_is_refused(content):
    with pytest.raises(ValueError, match="it describes no space of Gymnasium"):
        space_from_json(content)


def test_choices_of_an_action():
    assert [choices_of(space) for space in SPACES[5:9]] == [(), (3,), (3,), (3, 2)]
