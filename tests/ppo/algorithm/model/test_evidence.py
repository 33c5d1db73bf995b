"""Evidence keeps evaluations in their order, as many as it can take, and is saved whole."""

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import Kind, Task
from actors.plan import Plan
from actors.rollout import Collector
from ppo import Config, resolve
from ppo.algorithm.model.evidence import Evidence, evaluated
from ppo.training.job import make_job
from tests.problems import Quadratic


def rows(start, stop):
    """Returns states and values that tell which they are."""
    numbers = np.arange(start, stop, dtype=float)
    return np.stack([numbers, -numbers], axis=1), 10 * numbers


def test_it_starts_empty():
    evidence = Evidence(2, 5)
    assert len(evidence) == 0
    assert evidence.states.shape == (0, 2) and evidence.values.shape == (0,)


def test_evaluations_come_in_their_order_up_to_the_capacity():
    evidence = Evidence(2, 5)
    for start, stop, expected in ((0, 2, 2), (2, 2, 2), (2, 4, 4), (4, 9, 5), (9, 12, 5)):
        evidence.add(*rows(start, stop))
        assert len(evidence) == expected
        assert evidence.states.tolist() == rows(0, expected)[0].tolist()
        assert evidence.values.tolist() == rows(0, expected)[1].tolist()


def test_a_state_is_a_copy_and_its_shape_never_changes():
    evidence, other = Evidence(2, 5), Evidence(2, 5)
    shapes = {name: array.shape for name, array in evidence.state().items()}
    evidence.add(*rows(0, 3))
    state = evidence.state()
    assert {name: array.shape for name, array in state.items()} == shapes
    evidence.add(*rows(3, 5))
    other.restore(state)
    assert other.states.tolist() == rows(0, 3)[0].tolist()
    other.add(*rows(3, 5))
    assert all(np.array_equal(array, evidence.state()[name]) for name, array in other.state().items())
    assert state["count"] == 3


@pytest.mark.parametrize("kind", [Kind.COLLECT, Kind.DESIGN, Kind.PLAN])
def test_what_a_round_evaluated_is_f_where_it_was_evaluated(kind):
    job = make_job(resolve(Config(env="tests.problems:Quadratic", evaluations=64)), None)
    spec = NetworkSpec(3, (4,), "tanh", "gaussian", 2, components=6)
    theta = 0.3 * np.random.default_rng(0).normal(size=spec.size)
    slots = job.slots(kind)
    states = np.random.default_rng(1).uniform(-1, 1, (slots, 3))
    collector = Collector(job)
    collector.update(Snapshot(0, spec, theta, 0.3, plan=Plan(states * [0, 0, 1], states[:, :2])))
    found, values, constraints = evaluated(collector.run(Task(kind, 0, 0, slots)))
    assert found.shape == (slots * job.evaluations(kind), 3)
    assert values.tolist() == Quadratic()(found[:, :2], found[:, 2:]).tolist()
    assert constraints.shape == (len(values), 0)
    assert (np.abs(found) <= 1).all()
    if kind != Kind.COLLECT:
        assert found.tolist() == states.tolist()
