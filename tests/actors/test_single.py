"""A law's answer to one query has the bits of the policy's likeliest action in any batch."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from actors.single import single_mode
from tests.actors.mixtures import mixture, random_critic, spec_of

C = np.random.default_rng(0).uniform(-1, 1, (300, 2))
CRITIC = random_critic(40, 4)[0]
KNOBS = {"knobs": 2, "conditions": 2, "hidden": (32, 32, 32)}
LIVE = np.array([True, False, True, False, True, True])
STEPS = {"steps": (0.0, 0.5), "labelled": ()}


def normaliser(dims=4):
    rng = np.random.default_rng(5)
    return {"obs_mean": 0.3 * rng.normal(size=dims), "obs_var": 0.1 + rng.random(dims)}


def policy_of(components=1, activation="tanh", stepped=False, **changes):
    spec = dataclasses.replace(spec_of(components, **KNOBS), activation=activation, **(STEPS if stepped else {}))
    return Policy(mixture(spec=spec, seed=3, **changes))


POLICIES = {
    "one": policy_of(),
    "relu": policy_of(activation="relu"),
    "normaliser": policy_of(**normaliser()),
    "steps": policy_of(stepped=True),
    "gate": policy_of(6),
    "gate, some live": policy_of(6, live=LIVE),
    "gate, normaliser": policy_of(6, **normaliser()),
    "gate, steps": policy_of(6, stepped=True, live=LIVE),
    "critic": policy_of(6, critic=CRITIC),
    "critic, some live": policy_of(6, critic=CRITIC, live=LIVE),
    "critic, one live": policy_of(6, critic=CRITIC, live=np.arange(6) == 2),
    "critic, steps": policy_of(6, critic=CRITIC, stepped=True, live=LIVE),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_one_query_has_the_bits_of_many(policy):
    many = policy.mode(centre_states(C, 2))
    mode = single_mode(policy)
    assert np.stack([mode(row) for row in C.tolist()]).tobytes() == np.ascontiguousarray(many).tobytes()


def test_these_policies_do_not_all_take_the_same_component():
    for name in ("gate", "critic, some live"):
        policy = POLICIES[name]
        many, each = policy.mode(centre_states(C, 2)), policy.proposals(centre_states(C, 2))
        taken = (each == many[:, None]).all(axis=2).argmax(axis=1)
        assert len(set(taken.tolist())) > 1


def test_a_policy_without_hidden_layers():
    spec = NetworkSpec(2, (), "tanh", "gaussian", 1)
    mode = single_mode(Policy(Snapshot(0, spec, np.array([9.0, 0.0, 2.0, 0.0, 0.25, 0.0]))))
    assert mode([0.1]).tolist() == [0.45]


def test_answers_do_not_share_memory():
    mode = single_mode(POLICIES["one"])
    first = mode(C[0])
    kept = first.copy()
    mode(C[1])
    assert first.tolist() == kept.tolist()


def test_valid_knobs_are_those_on_the_steps_within_the_bounds():
    found = POLICIES["steps"].valid(np.array([[0.3, 0.3], [-2.0, -3.0], [1.5, 0.74], [0.0, -0.26]]))
    assert found.tolist() == [[0.3, 0.5], [-1, -1], [1, 0.5], [0, -0.5]]
    assert POLICIES["one"].valid(np.array([[0.3, -7.0]])).tolist() == [[0.3, -1.0]]
