"""Evaluations made before the run are evidence, and make a law, which is kept where what is new makes a worse one."""

import dataclasses

import numpy as np
import pytest

from actors import Law
from actors.job import Kind
from ppo.algorithm.model import learner as module
from ppo.algorithm.model.settling import Effort, expected_mean
from tests.ppo.algorithm.model.test_learner import learner_and_collector, trained
from tests.problems import Quadratic

C = np.linspace(-1, 1, 101)[:, None]


def reused(components=6):
    """Returns a learner that starts from 50 evaluations, and what runs its rounds."""
    learner, collector = learner_and_collector(50, components=components)
    states = np.random.default_rng(1).uniform(-1, 1, (50, 3))
    learner.imitate(states[:, :2], states[:, 2:], Quadratic()(states[:, :2], states[:, 2:]))
    return learner, collector


@pytest.mark.usefixtures("little_effort")
def test_they_are_evidence_before_the_first_round():
    learner, collector = reused()
    assert learner.surrogate.fitted
    kinds, spent = trained(learner, collector)
    assert kinds[0] == Kind.DESIGN and sum(spent) == 64
    assert len(learner.surrogate.evidence) == 114


@pytest.mark.parametrize("components", [1, 6])
def test_they_make_a_law(components, monkeypatch):
    monkeypatch.setattr(Effort, "last", classmethod(lambda cls, knobs: cls(64, 20)))
    learner, _ = reused(components)
    assert learner.step == 0 and learner.evaluations == 0
    assert Quadratic()(Law(learner.snapshot())(C), C).mean() < 1e-3


@pytest.mark.usefixtures("little_effort")
def test_that_law_is_kept_where_what_is_new_makes_a_worse_one(monkeypatch):
    learner, collector = reused()
    first = learner.policy.snapshot
    other, _ = reused()
    other.restore(learner.state())
    calls = []

    def settled(policy, *_):
        calls.append(policy)
        return dataclasses.replace(policy, theta=np.zeros_like(policy.theta), live=None)

    monkeypatch.setattr(module, "settled", settled)
    for one in (learner, other):
        trained(one, collector)
        assert one.policy.snapshot.theta.tobytes() == first.theta.tobytes()
        assert one.policy.live.tolist() == learner.policy.live.tolist()
    assert len(calls) >= 2


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("components", [1, 6])
def test_by_the_model_the_law_is_never_worse_than_that_one(components):
    learner, collector = reused(components)
    first = learner.policy.snapshot
    trained(learner, collector)
    now, before = (expected_mean(law, learner.surrogate.process, C) for law in (learner.policy.snapshot, first))
    assert now <= before
