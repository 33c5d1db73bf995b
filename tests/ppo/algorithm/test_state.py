"""A state under its owner's name is found again under that name alone."""

import numpy as np

from ppo.algorithm.state import part_of, prefixed


def test_what_is_put_under_a_name_is_found_again():
    inner = {"mean": np.arange(3), "count": np.array(2)}
    state = {"parameters": np.zeros(1), **prefixed("adam", inner), **prefixed("adam2", {"mean": np.ones(1)})}
    assert set(state) == {"parameters", "adam.mean", "adam.count", "adam2.mean"}
    assert part_of("adam", state) == inner
    assert part_of("nothing", state) == {}


def test_names_nest():
    state = prefixed("agent", {"parameters": np.zeros(1), **prefixed("adam", {"steps": np.array(3)})})
    assert set(state) == {"agent.parameters", "agent.adam.steps"}
    assert part_of("adam", part_of("agent", state)) == {"steps": 3}
