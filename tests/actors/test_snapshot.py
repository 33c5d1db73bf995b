"""A snapshot is bytes that come back as they were, tell every difference, and are refused when damaged."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.snapshot import PREFIX
from tests.actors.mixtures import mixture, random_critic, random_plan, spec_of

SPEC = NetworkSpec(3, (5, 4), "tanh", "gaussian", 2)
OLD = pathlib.Path(__file__).parents[1] / "version_0_1"
PARTS = {
    "live": np.array([True, False, True]),
    "critic": random_critic()[0],
    "plan": random_plan(7),
    "obs_mean": np.array([0.1, 0.2, 0.3]),
    "obs_var": np.array([1.0, 2.0, 3.0]),
}
CHOICES = {"nothing": [], "live": ["live"], "critic": ["critic"], "plan": ["plan"], "all": list(PARTS)}


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


def with_parts(names):
    """Returns the snapshot of three components, with some of what else it can have."""
    return mixture(3, **{name: PARTS[name] for name in names})


def same(a, b):
    """Returns whether two arrays or two parts of arrays are equal, or are both missing."""
    if a is None or b is None:
        return a is b
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in a.ARRAYS)


@pytest.mark.parametrize("names", CHOICES.values(), ids=CHOICES)
def test_components_and_what_they_have_beside_come_back(names):
    original = with_parts(names)
    copy = Snapshot.from_bytes(original.to_bytes())
    assert copy.to_bytes() == original.to_bytes()
    assert copy.spec == original.spec
    assert copy.spec.components == 3
    for field in dataclasses.fields(Snapshot)[2:]:
        a, b = getattr(copy, field.name), getattr(original, field.name)
        assert a == b if isinstance(b, NetworkSpec | float) else same(a, b), field.name


def test_the_digest_tells_every_part():
    assert len({with_parts(names).sha256 for names in CHOICES.values()}) == len(CHOICES)
    other = dataclasses.replace(PARTS["critic"], weights=PARTS["critic"].weights + 1e-9)
    assert mixture(3, critic=other).sha256 != with_parts(["critic"]).sha256
    assert mixture(3, live=np.array([True, True, False])).sha256 != with_parts(["live"]).sha256


def test_a_critic_that_was_asked_has_the_same_bytes():
    critic = random_critic()[0]
    before = mixture(3, critic=critic).to_bytes()
    critic.std(np.zeros((2, 3)))  # which keeps what it has computed
    assert mixture(3, critic=critic).to_bytes() == before


def header_of(message):
    """Returns the header of a snapshot's bytes as a dictionary."""
    length = PREFIX.unpack_from(message)[1]
    return json.loads(message[PREFIX.size : PREFIX.size + length])


def test_one_gaussian_has_the_header_that_it_had_before_there_were_components():
    assert set(header_of(snapshot().to_bytes())) == {"spec", "normalised"}
    spec = header_of(snapshot().to_bytes())["spec"]
    assert set(spec) == {"obs_dim", "hidden_sizes", "activation", "head", "action_dim", "choices"}
    several = header_of(with_parts(["live", "plan"]).to_bytes())
    assert several["spec"]["components"] == 3
    assert several["arrays"] == {"live": [3], "plan.actions": [7, 2], "plan.starts": [7, 3]}


def test_the_law_of_version_0_1_has_the_same_bytes_again():
    with np.load(OLD / "law.npz") as arrays:
        message = arrays["snapshot"].tobytes()
    assert Snapshot.from_bytes(message).to_bytes() == message


@pytest.mark.parametrize("names", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("damage", [lambda b: b[:-8], lambda b: b[:-3], lambda b: b + bytes(8)])
def test_too_few_and_too_many_values_are_refused(damage, names):
    message = with_parts(names).to_bytes()
    with pytest.raises(ValueError, match=r"values|buffer size"):
        Snapshot.from_bytes(damage(message))


@pytest.mark.parametrize("change", [(b'"live": [3]', b'"live": [2]'), (b"[7, 3]", b"[8, 3]"), (b": 3,", b": 4,")])
def test_a_header_with_other_shapes_is_refused(change):
    message = with_parts(PARTS).to_bytes()
    assert message.count(change[0]) > 0
    with pytest.raises(ValueError, match="values where its header says"):
        Snapshot.from_bytes(message.replace(*change, 1))


def test_layers_of_several_components():
    """Three means and three raw log stds of two knobs, and three logits."""
    assert spec_of(3).layers == [(3, 8), (8, 15)]
    assert spec_of(1).layers == [(3, 8), (8, 4)]


def test_outputs_of_a_component_by_hand():
    own = spec_of(3).own_outputs(np.array([0, 2, 1, 2]))
    assert own.tolist() == [[0, 1, 6, 7], [4, 5, 10, 11], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert spec_of(1).own_outputs(np.array([0])).tolist() == [[0, 1, 2, 3]]


def test_a_component_is_placed_and_nothing_else_changes():
    original = mixture(3)
    flat = original.theta.copy()
    weight, bias = original.spec.views(flat)[-1]
    before, highest = bias.copy(), bias[12:].max()
    original.spec.place(flat, 1, np.array([0.4, -0.6]), 0.02)
    assert bias[[2, 3]].tolist() == [0.4, -0.6]
    assert bias[[8, 9]] == pytest.approx(np.log([0.02, 0.02]))
    assert bias[13] == highest
    changed = [2, 3, 8, 9, 13]
    assert (weight[:, changed] == 0).all()
    others = [output for output in range(15) if output not in changed]
    old_weight, _ = original.spec.views(original.theta)[-1]
    assert np.array_equal(weight[:, others], old_weight[:, others])
    assert np.array_equal(bias[others], before[others])
    assert np.array_equal(flat[:32], original.theta[:32])  # the hidden layer


def with_header(change, message=None):
    """Returns a snapshot's bytes with another header, which ``change`` makes of the old one."""
    message = message or with_parts(PARTS).to_bytes()
    magic, length, version, std_floor = PREFIX.unpack_from(message)
    changed = change(header_of(message))
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    return PREFIX.pack(magic, len(text), version, std_floor) + text + message[PREFIX.size + length :]


def spec_with(**changes):
    return lambda header: header | {"spec": header["spec"] | changes}


def arrays_with(**changes):
    return lambda header: header | {"arrays": header["arrays"] | changes}


HEADERS = {
    "a list": lambda header: [header],
    "a number": lambda header: 3,
    "deep": lambda header: b"[" * 100_000,
    "no UTF-8": lambda header: b"\xff\xfe",
    "no spec": lambda header: {"normalised": True},
    "a spec of text": lambda header: header | {"spec": "linear"},
    "more in the spec": spec_with(depth=3),
    "less in the spec": lambda header: header | {"spec": {"obs_dim": 3}},
    "huge": spec_with(hidden_sizes=[10**9, 10**9]),
    "absurd": spec_with(hidden_sizes=[10**4000]),
    "negative": spec_with(hidden_sizes=[-8, -8]),
    "nothing": spec_with(obs_dim=0),
    "a fraction": spec_with(hidden_sizes=[8.0]),
    "true": spec_with(action_dim=True),
    "widths of text": spec_with(hidden_sizes="88"),
    "an unknown activation": spec_with(activation="sine"),
    "an activation of lists": spec_with(activation=[["tanh"]]),
    "an unknown head": spec_with(head="beta"),
    "the head of a value network": spec_with(head="value"),
    "choices of a Gaussian": spec_with(choices=[3, 3]),
    "no choices": spec_with(head="categorical"),
    "steps of text": spec_with(steps="11"),
    "fewer steps than knobs": spec_with(steps=[1.0]),
    "a step that is too large": spec_with(steps=[0.0, 2.5]),
    "a negative step": spec_with(steps=[-0.5, 1.0]),
    "a step that is no number": spec_with(steps=[float("nan"), 1.0]),
    "a step of true": spec_with(steps=[True, 1.0]),
    "labels without steps": spec_with(labelled=[0]),
    "labels of text": spec_with(steps=[1.0, 0.0], labelled="0"),
    "a label of a knob that can have all values": spec_with(steps=[1.0, 0.0], labelled=[1]),
    "a label of a knob that is not there": spec_with(steps=[1.0, 0.0], labelled=[2]),
    "a label of a fraction": spec_with(steps=[1.0, 0.0], labelled=[0.0]),
    "normalised by a word": lambda header: header | {"normalised": "yes"},
    "arrays in a list": lambda header: header | {"arrays": [3]},
    "a shape of text": arrays_with(live="3"),
    "a negative shape": arrays_with(live=[-3]),
    "a huge shape": arrays_with(live=[2**60, 2**60]),
    "an unknown array": arrays_with(more=[0]),
    "live in a table": arrays_with(live=[3, 1]),
    "a critic of other states": arrays_with(**{"critic.states": [3, 9]}),
    "a plan in one row": arrays_with(**{"plan.starts": [21]}),
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_any_other_header_is_refused(change):
    with pytest.raises(ValueError, match=r"\w") as error:
        Snapshot.from_bytes(with_header(change))
    assert len(str(error.value).splitlines()) == 1


def test_the_header_as_it_was_is_accepted():
    message = with_parts(PARTS).to_bytes()
    copy = Snapshot.from_bytes(with_header(lambda header: header))
    assert copy.to_bytes() == message


@pytest.mark.parametrize("given", [{"steps": (0.5, 0.0)}, {"steps": (1.0, 0.25), "labelled": (0,)}], ids=str)
def test_steps_and_labels_come_back(given):
    original = mixture(spec=dataclasses.replace(spec_of(3), **given))
    copy = Snapshot.from_bytes(original.to_bytes())
    assert copy.spec == original.spec and copy.to_bytes() == original.to_bytes()
    assert set(header_of(original.to_bytes())["spec"]) >= set(given)
    assert original.sha256 != mixture(spec=spec_of(3)).sha256


def critic_with(place, value):
    scalars = PARTS["critic"].scalars.copy()
    scalars[place] = value
    return dataclasses.replace(PARTS["critic"], scalars=scalars)


VALUES = {
    "a parameter": {"theta": np.full(SPEC.size, np.nan)},
    "a std floor": {"std_floor": np.inf},
    "a std floor below 0": {"std_floor": -1e-3},
    "no std floor": {"std_floor": np.nan},
    "a mean": {"obs_mean": np.array([0, np.inf, 0])},
    "a variance below 0": {"obs_var": np.array([1, 1, -1e-9])},
}


@pytest.mark.parametrize("changes", VALUES.values(), ids=VALUES)
def test_values_that_no_policy_has_are_refused(changes):
    with pytest.raises(ValueError, match=r"not finite|below 0"):
        Snapshot.from_bytes(snapshot(**changes).to_bytes())


@pytest.mark.parametrize(
    "changes",
    [
        {"live": np.zeros(3, bool)},
        {"critic": critic_with(7, 3)},
        {"critic": critic_with(7, 0.5)},
        {"critic": critic_with(3, 0)},
        {"critic": critic_with(2, -1)},
        {"critic": dataclasses.replace(PARTS["critic"], lengths=np.zeros(3))},
    ],
    ids=["none live", "no such kernel", "half a kernel", "no warp", "negative noise", "no length"],
)
def test_parts_that_no_policy_has_are_refused(changes):
    with pytest.raises(ValueError, match=r"none of them|a critic with"):
        Snapshot.from_bytes(mixture(3, **changes).to_bytes())
