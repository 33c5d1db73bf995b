"""A space comes back from JSON as it was, and flattens what it is shown in the same order."""

import json

import numpy as np
import pytest
from gymnasium import spaces

from env.spaces import space_as_json, space_from_json

NESTED = spaces.Dict(
    z=spaces.Tuple([spaces.Discrete(3, start=-1), spaces.MultiBinary(2)]),
    a=spaces.Dict(y=spaces.Box(-1, np.inf, (2, 2), np.float64), b=spaces.MultiDiscrete([2, 3])),
)


@pytest.mark.parametrize(
    "space", [NESTED, NESTED["a"], NESTED["z"], spaces.MultiBinary([2, 3]), spaces.Discrete(3)], ids=str
)
def test_a_space_comes_back(space):
    back = space_from_json(json.loads(json.dumps(space_as_json(space))))
    assert back == space
    space.seed(0)
    shown = space.sample()
    assert np.array_equal(spaces.flatten(back, shown), spaces.flatten(space, shown))


def test_names_keep_their_order():
    back = space_from_json(space_as_json(NESTED))
    assert [list(back.spaces), list(back["a"].spaces)] == [["z", "a"], ["y", "b"]]


@pytest.mark.parametrize("space", [spaces.Text(3), spaces.Dict({1: spaces.Discrete(2)})], ids=str)
def test_a_space_without_such_a_form_is_refused(space):
    with pytest.raises(TypeError, match="a space"):
        space_as_json(space)


@pytest.mark.parametrize(
    "content", [None, {}, {"kind": "dict", "parts": [["a"]]}, {"kind": "dict", "parts": {"a": {}}}, {"kind": "box"}]
)
def test_what_describes_no_space_is_refused(content):
    with pytest.raises(ValueError, match="no space"):
        space_from_json(content)
