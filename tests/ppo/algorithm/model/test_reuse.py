"""Evaluations made before the run are evidence, and make a law, which is kept where what is new makes a worse one."""

import dataclasses

import numpy as np
import pytest

from actors import Law
from actors.job import Kind
from ppo.algorithm.model import learner as module
from ppo.algorithm.model import settling
from ppo.algorithm.model.settling import Effort, law_states
from tests.ppo.algorithm.model.test_learner import collect, doubt, learner_and_collector, strata_of, trained
from tests.problems import Quadratic

C = np.linspace(-1, 1, 101)[:, None]


def reused(components=6, count=50, **changes):
    """Returns a learner that starts from so many evaluations, and what runs its rounds."""
    learner, collector = learner_and_collector(count, components=components, **changes)
    states = np.random.default_rng(1).uniform(-1, 1, (count, 3))
    learner.imitate(states[:, :2], states[:, 2:], Quadratic()(states[:, :2], states[:, 2:]))
    return learner, collector


@pytest.mark.usefixtures("little_effort")
def test_they_are_evidence_before_the_first_round():
    learner, collector = reused()
    assert learner.surrogate.fitted
    kinds, spent = trained(learner, collector)
    assert kinds[0] == Kind.DESIGN and sum(spent) == 64
    assert len(learner.surrogate.evidence) == 114


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("more", [-1, 0])
def test_fewer_than_the_first_round_has_do_not_stand_for_its_design(more):
    slots = len(learner_and_collector()[0].round_snapshot().plan.actions)
    learner, collector = reused(count=slots + more)
    assert learner.surrogate.fitted
    plan = learner.round_snapshot().plan
    points = np.concatenate([plan.actions, plan.starts[:, 2:]], axis=1)
    strata = [strata_of(column) for column in points.T]
    assert (strata == [slots] * 3) == (more < 0)
    learner.learn(collect(learner, collector))
    second = learner.round_snapshot().plan
    assert any(strata_of(column) < len(column) for column in second.actions.T)


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


def expected(learner, snapshot):
    """Returns what the model of the whole range expects of a law."""
    model = learner.surrogate.whole
    return model.unwarped(model.mean(law_states(snapshot, C))).mean()


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("doubted", [(), range(1, 100), (1,)])
@pytest.mark.parametrize("components", [1, 6])
def test_by_the_model_the_law_is_never_worse_than_that_one(components, doubted, monkeypatch):
    """Nor is it where the model is doubted and rounds that the policy sampled come in between."""
    learner, collector = reused(components, evaluations=136)
    first = learner.snapshot()
    doubt(monkeypatch, doubted)
    kinds, _ = trained(learner, collector)
    assert (Kind.COLLECT in kinds) == bool(doubted)
    now, before = (expected(learner, law) for law in (learner.snapshot(), first))
    assert now <= before + 1e-9


@pytest.mark.usefixtures("little_effort")
def test_a_law_that_is_kept_is_kept_with_its_critic_though_the_model_is_doubted(monkeypatch):
    monkeypatch.setattr(settling, "ONE_SUFFICES", -np.inf)
    monkeypatch.setattr(module, "gate_suffices", lambda policy, model, rng: False)
    learner, collector = reused(evaluations=136)
    first = learner.snapshot()
    assert first.critic is not None
    doubt(monkeypatch, range(1, 100))
    monkeypatch.setattr(module.Learner, "learn", spoiled(module.Learner.learn))
    trained(learner, collector)
    kept, other = learner.snapshot(), learner_and_collector(50, evaluations=136)[0]
    assert learner.surrogate.doubted and kept.critic is not None
    assert kept.theta.tobytes() == first.theta.tobytes()
    other.restore(learner.state())
    assert other.snapshot().sha256 == kept.sha256


def spoiled(learn):
    """Returns a ``Learner.learn`` after which the policy gives a corner of the knobs."""

    def corner(self, trajectory):
        scalars = learn(self, trajectory)
        for component in range(self.agent.policy.components):
            self.agent.policy.place(self.agent.theta, component, np.ones(2), 0.1)
        return scalars

    return corner


@pytest.mark.usefixtures("little_effort")
def test_laws_are_compared_by_a_model_that_knows_both(monkeypatch):
    """The process about the new law knows nothing of the old one, which lies beyond its window."""
    learner, _ = reused(1)
    asked = []
    monkeypatch.setattr(type(learner.surrogate), "process_for", lambda self, at: asked.append(at) or self.whole)
    learner._keep_the_better()
    conditions = asked[0][: len(asked[0]) // 2, 2:]
    assert np.array_equal(asked[0], np.concatenate([law_states(learner.snapshot(), conditions)] * 2))
